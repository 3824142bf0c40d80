import CStepper
import Foundation
import ReefEngine
import ReefSystem

/// A process that never opens a store, and whose children play one duet again and again.
///
/// `--duet DUET FOLDER SEED SCHEDULES [SCHEDULE]`; says what came of it in lines of words.
struct Rehearsal {
  private let duet: Duet
  private let folder: String
  private let seed: UInt64
  private let base: String
  private let board: DuetBoard
  private let step: StepBoard
  private var serial = 0
  private var failures = 0
  /// Stores of a commit that a predecessor dies in.
  private var commitStores: UInt64 = 0

  private struct Outcome {
    var problem: String?
    /// Whether it may be the machine's fault, which had other things to do.
    var isTimely = false
    var points = [0, 0]
    var blocked = 0
    var stalled = 0
  }

  static func run(_ words: [String]) throws {
    guard words.count >= 4, let index = Int(words[0]), Duet.all.indices.contains(index), let seed = UInt64(words[2]),
      let most = Int(words[3])
    else { throw TortureError("not for people") }
    var rehearsal = try Rehearsal(Duet.all[index], words[1], seed &+ UInt64(index))
    try rehearsal.prepare()
    if words.count == 5, let only = Int(words[4]) {
      _ = rehearsal.tell(Schedule(number: only))
      return
    }
    var points: [Int] = []
    for player in 0..<2 {
      // One after the other, either first: how many points each has.
      let outcome = rehearsal.tell(Schedule(player == 0 ? .oneFirst : .oneSecond, Schedule.everything))
      if outcome.problem != nil { return }
      points.append(outcome.points[player])
    }
    Nursery.say("points \(points[0]) \(points[1])")
    // What fails again and again may also be slow each time.
    for schedule in Schedule.choose(points, most, rehearsal.seed, cut: rehearsal.duet.cut)
    where rehearsal.failures < 3 {
      _ = rehearsal.tell(schedule)
    }
  }

  private init(_ duet: Duet, _ folder: String, _ seed: UInt64) throws {
    self.duet = duet
    self.folder = folder
    self.seed = seed
    base = folder + "/base.reef"
    board = try DuetBoard()
    step = try StepBoard()
  }

  private mutating func prepare() throws {
    let problem = Forked.end(
      Forked.start(step) {
        let engine = try StepStore.open(base)
        try StepStore.fill(engine)
        engine.close()
      })
    if let problem { throw TortureError("no store to begin with: \(problem) \(step.problem)") }
    guard duet.predecessor == .inCommit else { return }
    let path = folder + "/count.reef"
    try FileManager.default.copyItem(atPath: base, toPath: path)
    let count = Forked.end(
      Forked.start(step) {
        stepper_watch()
        let engine = try StepStore.open(path)
        stepper_arm(.max)
        try Rehearsal.commit(engine)
        step[.stores] = stepper_disarm()
        stepper_exit(0)
      })
    if let count { throw TortureError("a commit to count its stores: \(count) \(step.problem)") }
    commitStores = step[.stores]
  }

  private static func commit(_ engine: Engine) throws {
    let transaction = try engine.write(.after(.seconds(10)))
    try StepStore.set(transaction, try Player.value(transaction.readView) + 1)
    _ = try transaction.commit()
  }

  private mutating func tell(_ schedule: Schedule) -> Outcome {
    var outcome = play(schedule)
    if outcome.problem != nil, outcome.isTimely { outcome = play(schedule) }
    Nursery.say("schedule \(outcome.blocked) \(outcome.stalled)")
    guard let problem = outcome.problem else { return outcome }
    failures += 1
    Nursery.say("failure \(schedule.number) \(problem.replacing("\n", with: " "))")
    return outcome
  }

  /// One performance: both players, whoever died before them and whoever looks on, and what they leave.
  private mutating func play(_ schedule: Schedule) -> Outcome {
    serial += 1
    let place = folder + "/\(serial)"
    defer { try? FileManager.default.removeItem(atPath: place) }
    let path = place + "/store.reef"
    board.clear()
    step.clear()
    var outcome = Outcome()
    do {
      try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
      if duet.hasStore { try FileManager.default.copyItem(atPath: base, toPath: path) }
    } catch {
      outcome.problem = "\(error)"
      return outcome
    }
    let name = "torture-\(getpid())-\(serial)"
    defer { if duet.isInMemory { for file in Rehearsal.memory(name) { unlink("/dev/shm/\(file)") } } }
    let location = duet.isInMemory ? Session.Location.memory(name) : .file(path)
    if duet.predecessor == .before { predecessor(path, schedule) }
    let witness = duet.hasWitness ? Witness(path, step) : nil
    var conductor = Conductor(board, players(location, path, schedule))
    if conductor.assemble() {
      let began = Board.now
      outcome.problem = conductor.conduct(schedule.segments(seed))
      if outcome.problem == nil, Board.now - began > 1_000_000_000 + UInt64(conductor.stalled) * 500_000_000 {
        outcome.problem = "it took \((Board.now - began) / 1_000_000) ms"
        outcome.isTimely = true
      }
    }
    outcome.points = [Int(conductor.points(0)), Int(conductor.points(1))]
    (outcome.blocked, outcome.stalled) = (conductor.blocked, conductor.stalled)
    if outcome.problem == nil, !conductor.someoneIsGone { finish(&conductor) }
    // Whoever is still there after one has failed never ends by itself.
    if outcome.problem != nil || conductor.someoneIsGone {
      for process in conductor.processes { kill(process, SIGKILL) }
    }
    let ends = [conductor.end(0), conductor.end(1)]
    let witnessed = witness?.end()
    if outcome.problem == nil, !step.problem.isEmpty { outcome.problem = step.problem }
    if outcome.problem == nil, let end = ends[0] ?? ends[1] { outcome.problem = "a player: \(end)" }
    if outcome.problem == nil, let witnessed { outcome.problem = "the witness: \(witnessed) \(step.problem)" }
    if outcome.problem == nil, board[.unwoken] > 0 {
      outcome.problem = "it slept on, though there was a newer version"
      outcome.isTimely = true
    }
    if outcome.problem == nil { examine(path, name, &outcome) }
    return outcome
  }

  /// Both prepare, the second one after whoever dies.
  private func players(_ location: Session.Location, _ path: String, _ schedule: Schedule) -> [Int32] {
    var processes: [Int32] = []
    for (number, act) in [duet.first, duet.second].enumerated() {
      let stage = number == 0 ? DuetBoard.Word.firstStage : .secondStage
      let player = Player(location: location, isFull: duet.isFull, revokes: duet.revokes, number: number, board: board)
      processes.append(
        Forked.start(step) {
          turns_watch()
          let played = try act.prepare(player)
          board[stage] = 1
          turns_begin(board.turns, Int32(number), duet.places)
          try played.body()
          turns_end()
          while board[stage] < 2 { usleep(30) }
          try played.after()
          board[stage] = 3
          while board[stage] < 4 { usleep(30) }
          stepper_exit(0)
        })
      // One that fails already is met by the conductor.
      let began = Board.now
      while board[stage] == 0, step.problem.isEmpty, Board.now - began < 12_000_000_000 { usleep(30) }
      if number == 0, duet.predecessor != .before { predecessor(path, schedule) }
    }
    return processes
  }

  private func finish(_ conductor: inout Conductor) {
    let stages = [DuetBoard.Word.firstStage, .secondStage]
    for (player, stage) in stages.enumerated() {
      board[stage] = 2
      if !conductor.meet(player, { board[stage] == 3 }) { return }
    }
    for stage in stages { board[stage] = 4 }
  }

  private func predecessor(_ path: String, _ schedule: Schedule) {
    if duet.predecessor == .none { return }
    // Another store of the commit each time.
    let at = 1 + UInt64(schedule.number) &* 0x9E37_79B9_7F4A_7C15 % max(1, commitStores)
    let process = Forked.start(step) {
      if duet.predecessor == .inCommit { stepper_watch() }
      let engine = try StepStore.open(path)
      if duet.predecessor == .withPins {
        let pins = [try engine.claimSlot(), try engine.claimSlot(), try engine.claimSlot()]
        for slot in pins { _ = try engine.pinNewest(slot) }
      } else {
        if duet.predecessor == .inCommit { stepper_arm(at) }
        try Rehearsal.commit(engine)
      }
      stepper_die()
    }
    if let how = Forked.end(process), how != "signal 9" { step.problem = "the one before: \(how)" }
  }

  /// Files of a store in memory.
  private static func memory(_ name: String) -> [String] {
    let all = (try? FileManager.default.contentsOfDirectory(atPath: "/dev/shm")) ?? []
    return all.filter { $0.contains(name + ".") }
  }

  /// What is left is what there should be, to somebody new.
  private func examine(_ path: String, _ name: String, _ outcome: inout Outcome) {
    if duet.isInMemory {
      // The last one has left, and taken everything along.
      if let file = Rehearsal.memory(name).first { outcome.problem = "\(file) is left" }
      return
    }
    let began = duet.hasStore ? UInt64(1) : 0
    let known = board.expected(max(board[.acknowledged], board[.baseVersion])).map { UInt64($0) }
    step[.base] = began
    step[.acknowledged] = known ?? (began + board[.commits] + (duet.predecessor == .before ? 1 : 0))
    if duet.predecessor == .inCommit { step[.tried] = step[.acknowledged] + 1 }
    let act = SteppedAct(name: duet.name, hasSurvivor: false) { _ in }
    let examiner = Examiner(act: act, path: path, board: step)
    if let how = Forked.end(Forked.start(step) { try examiner.runFresh(times: 1) }) {
      outcome.problem = "afterwards: \(how) \(step.problem)"
    }
  }
}

/// Has the store open all the while, holds a version, and looks at the end whether it stayed.
private struct Witness {
  private let process: Int32
  private let step: StepBoard

  init(_ path: String, _ step: StepBoard) {
    self.step = step
    process = Forked.start(step) {
      let engine = try StepStore.open(path)
      let pin = try engine.pin()
      let digest = try Player.digest(pin.view)
      step[.survivor] = 1
      while step[.survivor] != 2 { usleep(50) }
      try Player.demand(try Player.digest(pin.view) == digest, "a version that is held has changed")
      _ = pin.version
    }
    while step[.survivor] == 0, step.problem.isEmpty { usleep(50) }
  }

  func end() -> String? {
    step[.survivor] = 2
    return Forked.end(process)
  }
}

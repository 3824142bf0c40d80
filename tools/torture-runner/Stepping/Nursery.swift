import CStepper
import Foundation
import ReefEngine
import ReefSystem

/// A process that never opens a store, and whose children do: each of them begins as it is, without a program to load.
///
/// `--nursery ACT FOLDER SEED DEATHS [STORE]`; says what came of it in lines of words.
struct Nursery {
  private let act: SteppedAct
  private let folder: String
  private let board: StepBoard
  private let base: String
  private var serial = 0
  private var failures = 0
  /// Stores of a commit that a predecessor dies in.
  private var commitStores: UInt64 = 0

  private init(_ act: SteppedAct, _ folder: String) throws {
    self.act = act
    self.folder = folder
    board = try StepBoard()
    base = folder + "/base.reef"
  }

  /// What the parent reads.
  static func say(_ words: String) { FileHandle.standardOutput.write(Data((words + "\n").utf8)) }

  static func run(_ words: [String]) throws {
    guard words.count >= 4, let index = Int(words[0]), SteppedAct.all.indices.contains(index),
      let seed = UInt64(words[2]), let most = Int(words[3])
    else { throw TortureError("not for people") }
    var nursery = try Nursery(SteppedAct.all[index], words[1])
    try nursery.prepare()
    let count = try nursery.count()
    say("stores \(count)")
    var chosen = Nursery.choose(count, most, seed &+ UInt64(index))
    if words.count == 5, let only = UInt64(words[4]) { chosen = [only] }
    // What fails again and again may also be slow each time.
    for store in chosen where nursery.failures < 5 { nursery.tell(store) }
  }

  /// Every store, or as many as are wanted with even steps in between, from a place that the seed says.
  private static func choose(_ count: UInt64, _ most: Int, _ seed: UInt64) -> [UInt64] {
    if most == 0 || count <= UInt64(most) { return count == 0 ? [] : Array(1...count) }
    let step = Double(count) / Double(most)
    var random = Mix(seed, 7)
    let offset = Double(random.below(1000)) / 1000
    return (0..<most).map { min(count, 1 + UInt64((Double($0) + offset) * step)) }
  }

  // MARK: Children

  private func child(_ body: () throws -> Void) -> Int32 { Forked.start(board, body) }
  private func end(_ process: Int32) -> String? { Forked.end(process) }

  /// The one that has the store open all the while, and which may end before its time.
  private struct Survivor {
    let process: Int32
    let board: StepBoard
    private(set) var status: Int32?

    init(_ process: Int32, _ board: StepBoard) {
      self.process = process
      self.board = board
    }

    /// Returns once it has left `stage` behind, or the world.
    mutating func leave(_ stage: UInt64) {
      while board[.survivor] == stage, status == nil {
        var found: Int32 = 0
        if waitpid(process, &found, WNOHANG) == process { status = found } else { usleep(50) }
      }
    }

    mutating func end() -> String? {
      var found: Int32 = 0
      while status == nil {
        if waitpid(process, &found, 0) == process { status = found }
      }
      return Forked.describe(status ?? 0)
    }
  }

  private func prepare() throws {
    let problem = end(
      child {
        let engine = try StepStore.open(base)
        try StepStore.fill(engine)
        engine.close()
      })
    if let problem { throw TortureError("no store to begin with: \(problem) \(board.problem)") }
  }

  private mutating func count() throws -> UInt64 {
    if act.predecessor == .inCommit, let plain = SteppedAct.all.first(where: { $0.name == "commit" }) {
      var other = try Nursery(plain, folder + "/commit")
      try FileManager.default.createDirectory(atPath: other.folder, withIntermediateDirectories: true)
      try other.prepare()
      commitStores = try other.count()
    }
    let (problem, reached) = death(before: .max)
    if let problem { throw TortureError("\(act.name), without a death: \(problem)") }
    if reached { throw TortureError("\(act.name) died of nothing") }
    return board[.stores]
  }

  private mutating func tell(_ store: UInt64) {
    var (problem, reached) = death(before: store)
    // The machine may have been busy.
    if problem == nil, board[.slowest] > 1_000_000_000 {
      (problem, reached) = death(before: store)
      if problem == nil, board[.slowest] > 1_000_000_000 {
        problem = "somebody waited \(board[.slowest] / 1_000_000) ms"
      }
    }
    Nursery.say(reached ? "death" : "alive")
    Nursery.say("slowest \(board[.slowest])")
    if problem != nil { failures += 1 }
    if let problem { Nursery.say("failure \(store) \(problem.replacing("\n", with: " "))") }
  }

  /// The whole of one death. `reached`: the process did die.
  private mutating func death(before store: UInt64) -> (problem: String?, reached: Bool) {
    serial += 1
    let place = folder + "/\(serial)"
    defer { try? FileManager.default.removeItem(atPath: place) }
    let path = place + "/store.reef"
    board.clear()
    do {
      try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
      if act.hasStore {
        try FileManager.default.copyItem(atPath: base, toPath: path)
        board[.base] = 1
        board[.acknowledged] = 1
      }
    } catch { return ("\(error)", false) }
    let examiner = Examiner(act: act, path: path, board: board)
    var problems: [String] = []
    func ended(_ process: Int32, _ who: String) {
      if let how = end(process) { problems.append("\(who): \(how) \(board.problem)") }
    }

    var survivor = act.hasSurvivor ? Survivor(child { try examiner.runSurvivor() }, board) : nil
    survivor?.leave(0)

    if act.predecessor != .none { predecessor(path, store, &problems) }
    let victim = child {
      stepper_watch()
      let stage = SteppedAct.Stage(path: path, isFull: act.isFull, board: board) { stepper_arm(store) }
      try act.run(stage)
      board[.stores] = stepper_disarm()
      // The act alone was to be seen.
      stepper_exit(0)
    }
    let how = end(victim)
    let reached = how == "signal 9"
    if let how, !reached { problems.append("the one that was to die: \(how) \(board.problem)") }

    if survivor != nil {
      // Who comes first differs.
      if store % 2 == 0 { ended(child { try examiner.runFresh() }, "fresh") }
      board[.survivor] = 2
      survivor?.leave(2)
      if store % 2 != 0 { ended(child { try examiner.runFresh() }, "fresh") }
      board[.survivor] = 4
      if let how = survivor?.end() { problems.append("survivor: \(how) \(board.problem)") }
    } else {
      ended(child { try examiner.runFresh() }, "fresh")
    }
    return (problems.isEmpty ? nil : problems.joined(separator: "; "), reached)
  }

  private func predecessor(_ path: String, _ store: UInt64, _ problems: inout [String]) {
    // Another store of the commit each time; where nothing is to die the middle.
    let at = store == .max ? commitStores / 2 : 1 + store &* 0x9E37_79B9 % max(1, commitStores)
    let process = child {
      if act.predecessor == .inCommit { stepper_watch() }
      let stage = SteppedAct.Stage(path: path, isFull: act.isFull, board: board) { stepper_arm(at) }
      try act.runPredecessor(stage)
      stepper_die()
    }
    if let how = end(process), how != "signal 9" { problems.append("the one before: \(how) \(board.problem)") }
  }
}

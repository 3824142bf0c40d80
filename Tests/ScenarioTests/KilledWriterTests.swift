import Foundation
import ReefEngine
import ReefSystem
import Testing

/// A writer is killed at every named step of a commit, and at random, while four other processes have the store open.
/// The next writer goes on within a second, and the data is that of the last acknowledged commit or of one more.
@Suite(.serialized) struct KilledWriterTests {
  /// Rounds for each named step, and at random.
  static let rounds = Int(ProcessInfo.processInfo.environment["REEF_ROUNDS"] ?? "") ?? 200

  /// Steps between any two effects of a commit, a roll-back, a repair and a checkpoint.
  static let steps = [
    "commit.begun", "commit.built", "commit.pending", "commit.head", "commit.ring", "commit.tip", "commit.touched",
    "commit.journal", "commit.published", "commit.released",
  ]
  static let durableSteps = [
    "append.noted", "append.copied", "append.written", "append.confirmed",
    "checkpoint.attempt", "checkpoint.synced", "checkpoint.slot", "checkpoint.named", "checkpoint.confirmed",
    "commit.pending", "commit.head", "commit.journal", "commit.released",
  ]
  static let repairSteps = ["repair.space", "repair.tip", "repair.published"]

  struct Arena {
    let place: Place
    let engine: Engine
    let holders: [Worker]
    var last: Int64 = 0

    init(_ kind: Place.Kind, _ durability: Durability, redo: RedoShape = RedoShape(), holders count: Int = 4) throws {
      place = try Place(kind)
      engine = try place.engine(durability, redo: redo)
      try engine.set(Dictionary(uniqueKeysWithValues: (0..<10).map { (Int64($0), 0) }))
      holders = try (0..<count).map { [place] _ in try place.worker("hold") }
      for holder in holders { #expect(holder.reply()?.hasPrefix("holding") == true) }
    }

    /// Runs a worker to its death, then writes. Returns whether it died as planned.
    mutating func round(_ durability: String, _ environment: [String: String], _ context: String) throws -> Bool {
      let worker = try place.worker("commit", "1000000", durability, environment: environment)
      let lines = worker.rest()
      var acknowledged = last
      for line in lines { if let number = Int64(line) { acknowledged = number } }
      #expect(lines.allSatisfy { !$0.hasPrefix("error") }, "\(context): \(lines.last ?? "")")
      let died = worker.wasKilled
      // Readers see a whole version at once.
      let seen = Set(try engine.counters().values)
      #expect(seen.count == 1, "\(context): a mixture \(seen)")
      let start = Date()
      let transaction = try engine.write(.after(.seconds(10)))
      let taken = Date().timeIntervalSince(start)
      #expect(taken < 1, "\(context): the next writer waited \(taken) s")
      let found = Set(try Engine.counters(transaction.readView).values)
      #expect(
        found.count == 1 && (found.contains(acknowledged) || found.contains(acknowledged + 1)),
        "\(context): \(found) after \(acknowledged)")
      last = (found.first ?? 0) + 1
      for row in 0..<10 { _ = try transaction.update(table: 0, key: Int64(row), column: 1, bits: UInt64(last)) }
      try transaction.commit()
      #expect(Set(try engine.counters().values) == [last], "\(context)")
      return died
    }

    func end() throws {
      for holder in holders {
        #expect(holder.ask("look")?.hasPrefix("value") == true)
        holder.finish()
      }
      try Invariants.check(engine, "at the end")
      engine.close()
    }
  }

  @Test func atEveryStep() throws {
    var arena = try Arena(.tmpfs, .memory)
    let budget = Budget(seconds: 120)
    for step in Self.steps {
      for round in 0..<Self.rounds where budget.allows(round) {
        let died = try arena.round("memory", ["REEF_KILL": "\(step):\(1 + round % 7)"], "\(step) round \(round)")
        #expect(died, "\(step) was not passed")
      }
      try Invariants.check(arena.engine, step)
    }
    try arena.end()
  }

  @Test func atEveryStepDurably() throws {
    var arena = try Arena(.disk, .full)
    let budget = Budget(seconds: 60)
    for step in Self.durableSteps {
      for round in 0..<max(1, Self.rounds / 5) where budget.allows(round) {
        // A small ring: a checkpoint is due each few commits, also where each takes the disk its time.
        let died = try arena.round(
          "full", ["REEF_KILL": "\(step):\(1 + round % 4)", "REEF_RING": "65536b"], "\(step) round \(round)")
        #expect(died, "\(step) was not passed")
      }
      try Invariants.check(arena.engine, step)
    }
    try arena.end()
  }

  /// The one that repairs is killed as well.
  @Test func whileRepairing() throws {
    var arena = try Arena(.tmpfs, .memory)
    let budget = Budget(seconds: 60)
    for step in Self.repairSteps {
      for round in 0..<max(1, Self.rounds / 10) where budget.allows(round) {
        let first = try arena.place.worker(
          "commit", "1000000", "memory", environment: ["REEF_KILL": "\(Self.steps[round % Self.steps.count]):2"])
        let lines = first.rest()
        for line in lines { if let number = Int64(line) { arena.last = number } }
        if !["commit.journal", "commit.published", "commit.released"].contains(Self.steps[round % Self.steps.count]) {
          // Its successor dies in the middle of putting things right.
          let second = try arena.place.worker("commit", "1", "memory", environment: ["REEF_KILL": "\(step):1"])
          let said = second.rest()
          #expect(second.wasKilled, "\(step): \(said)")
        }
        _ = try arena.round("memory", ["REEF_KILL": "commit.built:1"], "\(step) round \(round)")
      }
    }
    try arena.end()
  }

  @Test func atRandom() throws {
    let seed = Mix.seed("killed at random")
    var generator = Mix(state: seed)
    var arena = try Arena(.tmpfs, .memory)
    let budget = Budget(seconds: 60)
    for round in 0..<Self.rounds where budget.allows(round) {
      let place = arena.place
      let delay = UInt32(20_000 + generator.next() % 30_000)
      let worker = try place.worker("commit", "100000000", "memory")
      usleep(delay)
      kill(worker.id, SIGKILL)
      let lines = worker.rest()
      for line in lines { if let number = Int64(line) { arena.last = number } }
      #expect(worker.wasKilled)
      // It may have died between a commit and its word; the next one starts from what is there.
      let look = try arena.engine.write(.after(.seconds(10)))
      let found = try Engine.counters(look.readView).values.max() ?? 0
      look.rollback()
      #expect(
        found == arena.last || found == arena.last + 1, "seed \(seed) round \(round): \(found) after \(arena.last)")
      arena.last = found
      _ = try arena.round("memory", ["REEF_KILL": "*:\(1 + generator.next() % 60)"], "seed \(seed) round \(round)")
    }
    try arena.end()
  }
}

struct Mix {
  var state: UInt64

  /// A seed, said aloud; `REEF_SEED` replays one.
  static func seed(_ what: String) -> UInt64 {
    let given = ProcessInfo.processInfo.environment["REEF_SEED"].flatMap { UInt64($0) }
    let seed = given ?? UInt64.random(in: 0..<1_000_000_000)
    print("\(what): seed \(seed)")
    return seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}

import Foundation
import ReefSystem
import Testing

@testable import ReefEngine

/// A process is killed at the steps of the redo ring that a commit passes only now and then: at the ring's end, and where
/// the ring is made or moved. Small rings, so that these steps are surely passed.
@Suite(.serialized) struct KilledRingTests {
  static let rounds = max(1, KilledWriterTests.rounds / 40)
  static let ring = 65536

  static var shape: RedoShape {
    var shape = RedoShape()
    (shape.first, shape.larger, shape.alignment) = (ring, ring * 2, DataLayout.extentSize)
    shape.after = 0
    shape.inBackground = false
    return shape
  }

  /// A record that the ring's end divides: the second of its two writes is missing.
  @Test func betweenTheTwoWritesAtTheEnd() throws {
    var arena = try KilledWriterTests.Arena(.disk, .full, redo: Self.shape)
    if arena.engine.session.data.isTmpfs { return }
    let budget = Budget(seconds: 30)
    for round in 0..<Self.rounds * 8 where budget.allows(round) {
      let died = try arena.round(
        "full", ["REEF_KILL": "append.wrapped:\(1 + round % 3)", "REEF_RING": "\(Self.ring)"], "round \(round)")
      #expect(died, "append.wrapped was not passed")
    }
    let head = RedoRing(lock: arena.engine.session.lock).state.head
    #expect(head > UInt64(Self.ring), "the ring was passed round again and again: \(head)")
    try arena.end()
  }

  /// Each in a new store: a session makes its ring once, and moves to the larger one once. Whoever comes next finishes,
  /// and goes on with a ring.
  @Test(arguments: ["ring.reserved:1", "ring.zeroed:1", "ring.reserved:2", "ring.zeroed:2", "ring.left:1"])
  func whileTheRingIsMade(step: String) throws {
    let budget = Budget(seconds: 10)
    for round in 0..<Self.rounds where budget.allows(round) {
      // The test's own process leaves the ring to the one that dies.
      var arena = try KilledWriterTests.Arena(.disk, .memory, redo: Self.shape, holders: 1)
      if arena.engine.session.data.isTmpfs { return }
      let died = try arena.round(
        "full", ["REEF_KILL": step, "REEF_RING": "\(Self.ring)"], "\(step) round \(round)")
      #expect(died, "\(step) was not passed")
      try Invariants.check(arena.engine, step)
      let worker = try arena.place.worker("commit", "60", "full", environment: ["REEF_RING": "\(Self.ring)"])
      let lines = worker.rest()
      #expect(lines.last == "closed", "\(step): \(lines.last ?? "nothing")")
      let lock = arena.engine.session.lock
      #expect(lock.word(LockLayout.Redo.length) == UInt64(2 * Self.ring), "\(step): the larger ring is in use")
      #expect(lock.word(LockLayout.Redo.oldLength) == 0, "\(step): the old ring was given up")
      #expect(lock.word(LockLayout.Redo.appends) > 10, "\(step)")
      try arena.end()
    }
  }
}

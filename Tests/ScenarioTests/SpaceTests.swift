import Foundation
import ReefSystem
import Testing

@testable import ReefEngine

@Suite(.serialized) struct SpaceTests {
  /// Everybody dies in the middle of things: the next session starts at once, and a pass beside normal work finds what
  /// leaked.
  @Test(arguments: [Place.Kind.tmpfs, .disk]) func markPass(kind: Place.Kind) throws {
    let place = try Place(kind)
    let setup = try place.engine()
    try setup.set(Dictionary(uniqueKeysWithValues: (0..<10).map { (Int64($0), 0) }))
    setup.close()
    for round in 0..<5 {
      let worker = try place.worker(
        "commit", "1000000", "memory", environment: ["REEF_KILL": "commit.built:\(200 + round)"])
      _ = worker.rest()
      #expect(worker.wasKilled)
    }
    let engine = try place.engine()
    #expect(Set(try engine.counters().values).count == 1)
    let end = Date().addingTimeInterval(20)
    while engine.session.lock.word(LockLayout.Control.needsMark) | engine.session.lock.word(LockLayout.Control.marking)
      != 0,
      Date() < end
    {
      try engine.set([0: Int64.random(in: 0...1_000_000)])
    }
    try Invariants.check(engine, "after the mark pass", allowLeaks: false)
    engine.close()
  }

  /// The pass begins while a commit waits for the disk: what that replaced waits already, and is in the tree that is walked.
  @Test func markPassBehindACommitThatWaits() throws {
    let place = try Place(.disk)
    let engine = try place.engine(.full, redo: KilledRingTests.shape)
    if engine.session.data.isTmpfs { return }
    try engine.set(Dictionary(uniqueKeysWithValues: (0..<600).map { (Int64($0), Int64($0)) }))
    for value in 0..<4 { try engine.set([1: Int64(value)]) }
    let writer = try place.worker(
      "commit", "1", "full", environment: ["REEF_STOP": "append.copied:1", "REEF_RING": "\(KilledRingTests.ring)"])
    #expect(writer.reply() == "ready")
    for _ in 0..<5000 where writer.state != "T" { usleep(1000) }
    let lock = engine.session.lock
    #expect(lock.word(LockLayout.Control.tip) > engine.newestVersion, "its commit is not visible yet")
    lock.set(LockLayout.Control.needsMark, 1)
    engine.maintenance.owe()
    let end = Date().addingTimeInterval(20)
    while lock.word(LockLayout.Control.needsMark) | lock.word(LockLayout.Control.marking) != 0, Date() < end {
      usleep(1000)
    }
    #expect(lock.word(LockLayout.Control.needsMark) | lock.word(LockLayout.Control.marking) == 0, "the pass ended")
    writer.goOn()
    #expect(writer.rest().last == "closed")
    try Invariants.check(engine, "after the pass")
    engine.close()
  }

  /// A file that became big shrinks again: while it is open by holes, and when the last one leaves by its length.
  @Test func shrinks() throws {
    let place = try Place(.tmpfs)
    let engine = try place.engine()
    try engine.set([0: 1])
    let small = place.occupied
    let grower = try place.worker("grow", "0", "6000")
    #expect(grower.reply(within: 60) == "grown")
    grower.finish()
    let big = place.occupied
    #expect(big > 20 << 20)
    for start in stride(from: 0, to: 6000, by: 500) {
      let transaction = try engine.write(.after(.seconds(10)))
      for key in start..<(start + 500) { try transaction.delete(table: 1, key: Int64(key)) }
      try transaction.commit()
    }
    for value in 0..<4000 { try engine.set([0: Int64(value)]) }
    let after = place.occupied
    #expect(after < big / 2, "\(big) bytes became \(after)")
    try Invariants.check(engine, "after shrinking", allowLeaks: false)
    // Holes are used again.
    let again = try place.worker("grow", "10000", "3000")
    #expect(again.reply(within: 60) == "grown")
    again.finish()
    let transaction = try engine.write(.after(.seconds(10)))
    for key in 10_000..<13_000 { try transaction.delete(table: 1, key: Int64(key)) }
    try transaction.commit()
    engine.close()
    #expect(place.occupied <= max(2 * small, 4 << 20), "closed: \(place.occupied), it began with \(small)")
    let reopened = try place.engine()
    #expect(try reopened.counters()[0] == 3999)
    reopened.close()
  }

  /// A relaxed commit is on disk within its bound, without anybody asking.
  @Test func relaxedBound() throws {
    let place = try Place(.disk)
    let engine = try place.engine(.relaxed(within: .milliseconds(100)))
    try engine.set([0: 1])
    let version = engine.newestVersion
    let lock = engine.session.lock
    let end = Date().addingTimeInterval(5)
    while lock.word(LockLayout.Control.confirmed) < version, Date() < end { usleep(5000) }
    #expect(lock.word(LockLayout.Control.confirmed) >= version)
    engine.close()
  }

  /// A failed sync condemns the session: nobody is told of success, writes are refused, what was confirmed stays.
  @Test func failedSync() throws {
    let place = try Place(.disk)
    let engine = try place.engine(.full)
    try engine.set([0: 1])
    let worker = try place.worker("commit", "3", "full", environment: ["REEF_FAULT": "fsync:1+:EIO"])
    let lines = worker.rest()
    #expect(lines.contains { $0.hasPrefix("error poisoned") }, "\(lines)")
    do throws(StoreError) {
      let transaction = try engine.write(.after(.seconds(5)))
      transaction.rollback()
      Issue.record("a poisoned session took a write")
    } catch {
      guard case .poisoned = error else { throw error }
    }
    engine.close()
    let again = try place.engine(.full)
    #expect(try again.counters()[0] != nil)
    try again.set([0: 7])
    again.close()
  }
}

import Foundation
import ReefEngine
import ReefSystem
import Testing

@Suite(.serialized) struct ReaderTests {
  /// A reader is killed while it holds a version: what it held comes back within one pass, and 10,000 commits do not make
  /// the file grow. Nobody restarts.
  @Test func killedWhilePinned() throws {
    let place = try Place(.tmpfs)
    let engine = try place.engine()
    try engine.set(Dictionary(uniqueKeysWithValues: (0..<20_000).map { (Int64($0), Int64($0)) }))
    let other = try place.worker("hold")
    #expect(other.reply()?.hasPrefix("holding") == true)
    let victim = try place.worker("hold")
    #expect(victim.reply()?.hasPrefix("holding") == true)
    var random = Mix(state: 7)
    func commits(_ count: Int) throws {
      for _ in 0..<count {
        let transaction = try engine.write(.after(.seconds(10)))
        _ = try transaction.update(table: 0, key: Int64(random.next() % 20_000), column: 1, bits: random.next() >> 1)
        try transaction.commit()
      }
    }
    other.finish()
    let live = place.occupied
    try commits(3000)
    let held = engine.session.lock.word(LockLayout.Control.waitingCount)
    #expect(held > 100, "the reader holds what it sees: \(held)")
    victim.die()
    try commits(400)
    let left = engine.session.lock.word(LockLayout.Control.waitingCount)
    #expect(left == 0, "one pass after its death nothing is held for it: \(left)")
    let after = place.occupied
    try commits(10_000)
    #expect(place.occupied == after, "steady commits grew the file from \(after) to \(place.occupied)")
    #expect(place.occupied < 2 * live, "\(live) bytes of live data take \(place.occupied)")
    try Invariants.check(engine, "after the commits", allowLeaks: false)
    engine.close()
  }

  /// One old pin keeps what it can see and nothing more.
  @Test func oldPinCostsWhatItSees() throws {
    let place = try Place(.tmpfs)
    let engine = try place.engine()
    try engine.set(Dictionary(uniqueKeysWithValues: (0..<20_000).map { (Int64($0), Int64($0)) }))
    let live = place.occupied
    let holder = try place.worker("hold")
    #expect(holder.reply()?.hasPrefix("holding") == true)
    var random = Mix(state: 11)
    for _ in 0..<20_000 {
      let transaction = try engine.write(.after(.seconds(10)))
      _ = try transaction.update(table: 0, key: Int64(random.next() % 20_000), column: 1, bits: random.next() >> 1)
      try transaction.commit()
    }
    #expect(place.occupied <= 3 * live, "\(live) bytes became \(place.occupied) behind one pin")
    #expect(holder.ask("look") == "value 0")
    holder.finish()
    engine.close()
  }

  /// What a child of `fork` does with what its parent opened is an error or its own; the parent's pin stays.
  @Test func openBeforeFork() throws {
    let place = try Place(.tmpfs)
    let engine = try place.engine()
    try engine.set([0: 5])
    let worker = try place.worker("fork")
    let child = try #require(worker.reply())
    #expect(child == "child usedAfterFork usedAfterFork own")
    #expect(worker.reply() == "parent 5 2")
    #expect(try engine.counters()[0] == 6)
    engine.close()
  }

  /// Two processes grow the store from 1 MB to 256 MB under four pinned readers.
  @Test func growthUnderPins() throws {
    let place = try Place(.tmpfs)
    let first = try place.worker("grow", "0", "100")
    #expect(first.reply() == "grown")
    first.finish()
    #expect(place.occupied < 3 << 20)
    let readers = try (0..<4).map { _ in try place.worker("verifyPinned") }
    for reader in readers { #expect(reader.reply() == "holding 100") }
    // Each row has a text of some 4.4 kB, in a block of 5 kB.
    let growers = [try place.worker("grow", "1000", "26000"), try place.worker("grow", "1000000", "26000")]
    for grower in growers {
      #expect(grower.reply(within: 120) == "grown")
      grower.finish()
    }
    #expect(place.occupied >= 256 << 20, "grew to \(place.occupied)")
    for reader in readers {
      #expect(reader.ask("verify") == "intact 100")
      reader.finish()
    }
    let engine = try place.engine()
    let transaction = try engine.write(.after(.seconds(5)))
    #expect(try transaction.readView.table(1).count == 52_100)
    transaction.rollback()
    engine.close()
  }
}

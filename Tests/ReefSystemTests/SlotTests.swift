import Foundation
import ReefEngine
import ReefSystem
import Testing

/// Reader slots: what is pinned is seen, what the dead held is freed, what is full says so.
@Suite struct SlotTests {
  @Test func slotsOfTheDeadAreFreed() throws {
    let store = try TestStore()
    let writer = try store.peer("writer")
    #expect(writer.reply() == "built")
    let reader = try store.peer("reader")
    #expect(reader.reply() == "joined")
    #expect(writer.ask("publish 7") == "published 7")
    #expect(reader.ask("pin") == "pinned 7")
    #expect(writer.ask("publish 3") == "published 10")
    #expect(writer.ask("pins") == "pins 7")
    #expect(writer.ask("freeDead") == "freed 0")
    reader.stop()
    #expect(writer.ask("freeDead") == "freed 0")
    reader.die()
    #expect(writer.ask("freeDead") == "freed 1")
    #expect(writer.ask("pins") == "pins ")
  }

  /// A cleaner dies between taking a dead peer's slot and clearing it: the pin stays, and the next cleaner frees it.
  @Test func cleanerDies() throws {
    let store = try TestStore()
    let writer = try store.peer("writer")
    #expect(writer.reply() == "built")
    #expect(writer.ask("publish 2") == "published 2")
    let reader = try store.peer("reader")
    #expect(reader.reply() == "joined")
    #expect(reader.ask("pin") == "pinned 2")
    reader.die()
    let cleaner = try store.peer("cleaner", environment: ["REEF_KILL": "slot.taken"])
    #expect(cleaner.reply() == "joined")
    cleaner.send("freeDead")
    cleaner.process.waitUntilExit()
    #expect(writer.ask("pins") == "pins 2")
    #expect(writer.ask("freeDead") == "freed 1")
    #expect(writer.ask("pins") == "pins ")
  }

  @Test func fullTableNamesTheHolders() throws {
    let store = try TestStore()
    let greedy = try store.peer("greedy")
    let modest = try store.peer("modest")
    #expect(greedy.reply() != nil && modest.reply() != nil)
    #expect(greedy.ask("claim \(LockLayout.maximumSlots)") == "claimed \(LockLayout.maximumSlots - 1)")
    #expect(modest.ask("pin") == "error slotsFull greedy")
    greedy.die()
    #expect(modest.ask("pin") == "pinned 0")
  }

  /// Somebody else frees the slots of the dead just before this one would: they are free all the same.
  @Test func freedByAnother() throws {
    let store = try TestStore()
    let greedy = try store.peer("greedy")
    let cleaner = try store.peer("cleaner")
    let late = try store.peer("late", environment: ["REEF_STOP": "slot.none:1"])
    for peer in [greedy, cleaner, late] { #expect(peer.reply() != nil) }
    #expect(greedy.ask("claim \(LockLayout.maximumSlots)") != nil)
    greedy.die()
    late.send("pin")
    #expect(eventually { Peer.state(late.id) == "T" })
    #expect(cleaner.ask("freeDead")?.hasPrefix("freed ") == true)
    late.goOn()
    #expect(late.reply() == "pinned 0")
  }

  @Test func pinsAndFollows() throws {
    let store = try TestStore()
    let session = try Session.open(.init(location: .memory(store.name))) { _ throws(StoreError) in }
    defer { session.leave() }
    let writer = try store.peer("writer")
    #expect(writer.reply() == "joined")
    #expect(writer.ask("publish 5") == "published 5")
    let follower = try session.claimSlot()
    #expect(session.pinFollowing(follower) == (5, 15, 25))
    #expect(writer.ask("publish 5") == "published 10")
    let old = try session.claimSlot()
    #expect(session.slots.pin(version: 8, in: old)! == (8, 24, 40))
    #expect(session.slots.pin(version: 4, in: old) == nil)
    session.slots.follow(from: 9, in: follower)
    let other = try session.claimSlot()
    #expect(session.slots.pin(version: 7, in: other) == nil)
    #expect(session.slots.pin(version: 8, in: other) != nil)
    let info = try #require(try session.peers().first { $0.isSelf })
    #expect(info.held.map(\.version) == [8, 8, 9])
    #expect(info.held.map(\.holdsLater) == [false, false, true])
    #expect(info.held.allSatisfy { $0.since != nil })
    for slot in [follower, old, other] {
      session.unpin(slot)
      session.returnSlot(slot)
    }
    #expect(try session.peers().first { $0.isSelf }?.held.isEmpty == true)
  }

  /// A pin that nobody reads by any more lingers; it counts as held by nobody, serves again for the same version, and is
  /// taken away for a newer one. One that is in use, or holds later versions too, never is.
  @Test func pinsLinger() throws {
    let store = try TestStore()
    let session = try Session.open(.init(location: .memory(store.name))) { _ throws(StoreError) in }
    defer { session.leave() }
    let writer = try store.peer("writer")
    #expect(writer.reply() == "joined")
    #expect(writer.ask("publish 5") == "published 5")
    let slot = try session.claimSlot()
    let busy = try session.claimSlot()
    let follower = try session.claimSlot()
    // Until it has proved worth it, a pin goes when it is let go of.
    _ = session.pinNewest(slot)
    session.unpin(slot)
    #expect(session.slots.pinWord(slot) == 0)
    session.slots.register()
    let patience = ContinuousClock.now + .seconds(20)
    while !session.slots.mayLinger, ContinuousClock.now < patience { usleep(1_000) }
    try #require(session.slots.mayLinger)

    _ = session.pinNewest(busy)
    _ = session.pinFollowing(follower)
    #expect(session.pinNewest(slot) == (5, 15, 25))
    session.unpin(slot)
    session.unpin(follower)
    #expect(session.slots.pinWord(slot) == 5 << 1)
    #expect(session.slots.pinWord(follower) == 0)
    #expect(try session.peers().first { $0.isSelf }?.held.map(\.version) == [5])
    #expect(!session.slots.takeLingering(), "it has the newest version pinned")
    #expect(session.pinNewest(slot) == (5, 15, 25))
    #expect(writer.ask("publish 1") == "published 6")
    #expect(!session.slots.takeLingering(), "all are in use")
    session.unpin(slot)
    #expect(session.slots.takeLingering())
    #expect(session.slots.pinWord(slot) == 0)
    #expect(session.slots.pinWord(busy) == 5 << 1)
    #expect(session.pinNewest(slot) == (6, 18, 30))
    session.unpin(slot)
    #expect(writer.ask("publish 1") == "published 7")
    #expect(session.pinNewest(slot) == (7, 21, 35))
    for slot in [slot, busy, follower] {
      session.unpin(slot)
      session.returnSlot(slot)
    }
  }

  /// Threads come, take a snapshot and go: no slot is lost with them, and one thread's slot serves the next.
  @Test func endedThreadsGiveSlotsBack() throws {
    let store = try TestStore()
    let session = try Session.open(.init(location: .memory(store.name))) { _ throws(StoreError) in }
    defer { session.leave() }
    for _ in 0..<50 {
      let threads = try (0..<4).map { _ in
        try SystemThread(name: "reader") {
          guard let slot = try? session.claimSlot() else { return }
          _ = session.pinNewest(slot)
          session.unpin(slot)
          session.returnSlot(slot)
        }
      }
      for thread in threads { thread.join() }
    }
    #expect(session.lock.word(LockLayout.Control.slotsInUse) <= 4)
  }

  /// Readers pin while a writer publishes and reclaims: nothing that a reader holds is ever declared free, and the root
  /// always belongs to the version.
  @Test func pinsAgainstReclaiming() throws {
    let store = try TestStore()
    let writer = try store.peer("writer")
    let readers = try (0..<2).map { try store.peer("r\($0)") }
    for peer in readers + [writer] { #expect(peer.reply() != nil) }
    #expect(writer.ask("publish") == "published 1")
    for reader in readers { reader.send("read 300000") }
    #expect(writer.ask("reclaim 300000", within: 60) == "reclaimed 300001")
    for reader in readers { #expect(reader.reply() == "read 0") }
  }
}

import Foundation
import ReefEngine
import ReefSystem
import Testing

/// The writer word, with real processes that die, stop and compete.
@Suite(.serialized) struct WriterTests {
  /// The owner is killed while another sleeps in the queue, and while nobody does.
  @Test func deadOwnerIsReplaced() throws {
    let store = try TestStore()
    let survivor = try store.peer("survivor")
    #expect(survivor.reply() == "built")
    for round in 0..<6 {
      let owner = try store.peer("owner")
      #expect(owner.reply() == "joined")
      #expect(owner.ask("acquire 1000") == "acquired")
      if round % 2 == 0 {
        survivor.send("acquire 5000")
        usleep(20_000)
        owner.die()
      } else {
        owner.die()
        survivor.send("acquire 5000")
      }
      let start = Date()
      #expect(survivor.reply() == "tookOver")
      #expect(Date().timeIntervalSince(start) < 0.5)
      #expect(survivor.ask("release") == "released")
    }
  }

  /// A newcomer has entered the dead owner's place among the peers: the owner is dead all the same.
  @Test func deadOwnerWhosePlaceIsTaken() throws {
    let store = try TestStore()
    let survivor = try store.peer("survivor")
    #expect(survivor.reply() == "built")
    let owner = try store.peer("owner")
    #expect(owner.reply() == "joined")
    #expect(survivor.ask("publish") == "published 1")
    #expect(owner.ask("pin") == "pinned 1")
    #expect(owner.ask("checkpoint try") == "acquired")
    #expect(owner.ask("acquire 1000") == "acquired")
    owner.die()
    let newcomer = try store.peer("newcomer")
    #expect(newcomer.reply() == "joined")
    #expect(newcomer.ask("pin") == "pinned 1")
    #expect(survivor.ask("acquire 2000") == "tookOver")
    #expect(survivor.ask("release") == "released")
    #expect(survivor.ask("checkpoint try") == "tookOver")
    #expect(survivor.ask("freeDead") == "freed 1")
    #expect(survivor.ask("pins") == "pins 1")
    #expect(newcomer.ask("acquire 2000") == "acquired")
  }

  /// A stopped owner is waited for, named, and never robbed.
  @Test func stoppedOwnerIsNamed() throws {
    let store = try TestStore()
    let owner = try store.peer("sleeper")
    let waiter = try store.peer("waiter")
    #expect(owner.reply() != nil && waiter.reply() != nil)
    #expect(owner.ask("acquire 1000") == "acquired")
    owner.stop()
    #expect(waiter.ask("acquire 300") == "error busy sleeper")
    #expect(waiter.ask("acquire 0") == "error busy sleeper")
    waiter.send("acquire 5000")
    usleep(50_000)
    owner.goOn()
    #expect(owner.ask("release") == "released")
    #expect(waiter.reply() == "acquired")
    #expect(waiter.ask("release") == "released")
    #expect(owner.ask("acquire 1000") == "acquired")
  }

  /// A waiter that is stopped, or killed, in the queue delays the others by a bound, not for good.
  @Test(arguments: [true, false]) func lostWaiterDoesNotBlock(killed: Bool) throws {
    let store = try TestStore()
    let names = ["owner", "lost", "next"]
    let peers = try names.map { try store.peer($0) }
    for peer in peers { #expect(peer.reply() != nil) }
    #expect(peers[0].ask("acquire 1000") == "acquired")
    peers[1].send("acquire 60000")
    usleep(50_000)
    if killed { peers[1].die() } else { peers[1].stop() }
    peers[2].send("hammer 300 1")
    usleep(20_000)
    #expect(peers[0].ask("release") == "released")
    let start = Date()
    let reply = peers[2].reply()
    #expect(Date().timeIntervalSince(start) < 1.5)
    let count = Int(reply?.split(separator: " ")[1] ?? "0") ?? 0
    #expect(count > 100, "\(reply ?? "nothing")")
    if !killed {
      peers[1].goOn()
      #expect(peers[1].reply() == "acquired")
    }
  }

  /// Four processes, one with three threads, fight for the word: never two inside, no count lost, nobody starved.
  @Test func competitionIsExclusiveAndFair() throws {
    let store = try TestStore()
    let peers = try (0..<4).map { try store.peer("w\($0)") }
    for peer in peers { #expect(peer.reply() != nil) }
    for (index, peer) in peers.enumerated() { peer.send("hammer 1500 \(index == 0 ? 3 : 1)") }
    let results = peers.map { peer in
      (peer.reply() ?? "").split(separator: " ").dropFirst().compactMap { Int($0) }
    }
    #expect(results.allSatisfy { $0.count == 4 && $0[1] == 0 && $0[3] == 0 }, "\(results)")
    let counts = results.map(\.[0])
    #expect(Double(counts.min() ?? 0) > 0.2 * Double(counts.max() ?? 0), "\(counts)")
    #expect(results.allSatisfy { $0[2] < 500_000 }, "longest wait, µs: \(results.map(\.[2]))")
    #expect(counts.reduce(0, +) == Int(try counter(store)))
  }

  /// As before, with processes killed at any moment; those that go on lose at most the counts of the killed.
  @Test func competitionWithDeaths() throws {
    let store = try TestStore()
    let peers = try (0..<3).map { try store.peer("w\($0)") }
    for peer in peers { #expect(peer.reply() != nil) }
    for peer in peers { peer.send("hammer 2000 2") }
    for round in 0..<12 {
      let victim = try store.peer("victim")
      #expect(victim.reply() == "joined")
      victim.send("hammer 5000 2")
      usleep(UInt32.random(in: 20_000...120_000))
      victim.die()
      if round > 20 { break }
    }
    let results = peers.map { peer in
      (peer.reply() ?? "").split(separator: " ").dropFirst().compactMap { Int($0) }
    }
    #expect(results.allSatisfy { $0.count == 4 && $0[1] == 0 }, "\(results)")
    #expect(results.map(\.[0]).reduce(0, +) <= Int(try counter(store)))
  }

  private func counter(_ store: TestStore) throws -> UInt64 {
    let session = try Session.open(.init(location: .memory(store.name))) { _ throws(StoreError) in }
    defer { session.leave() }
    return session.lock.word(LockLayout.Waiting.pool)
  }

  /// The threads of one process take turns, whatever their number; a time limit is kept.
  @Test func threadsOfOneProcess() throws {
    let store = try TestStore()
    let session = try Session.open(.init(location: .memory(store.name))) { _ throws(StoreError) in }
    defer { session.leave() }
    _ = try session.acquireWriter(deadline: .never)
    #expect(throws: StoreError.self) { try session.acquireWriter(deadline: .after(.milliseconds(20))) }
    let threads = try (0..<4).map { _ in
      try SystemThread(name: "waiter") {
        guard (try? session.acquireWriter(deadline: .never)) == false else { return }
        session.lock.set(LockLayout.Waiting.pool, session.lock.word(LockLayout.Waiting.pool) + 1)
        session.releaseWriter()
      }
    }
    usleep(30_000)
    session.releaseWriter()
    for thread in threads { thread.join() }
    #expect(session.lock.word(LockLayout.Waiting.pool) == 4)
    #expect(session.writer.tryAcquire())
    session.releaseWriter()
  }

  /// The store is closed while one thread writes and others wait: the writer ends first, the waiters get `closed`, and no
  /// other process is let in before.
  @Test func closedWhileWriting() throws {
    let store = try TestStore()
    let other = try store.peer("other")
    #expect(other.reply() == "built")
    let session = try Session.open(.init(location: .memory(store.name))) { _ throws(StoreError) in }
    _ = try session.acquireWriter(deadline: .never)
    let waiters = try (0..<3).map { _ in
      try SystemThread(name: "waiter") {
        #expect(throws: StoreError.closed) { try session.acquireWriter(deadline: .never) }
      }
    }
    usleep(20_000)
    let closer = try SystemThread(name: "closer") { session.leave() }
    #expect(other.ask("acquire 200")?.hasPrefix("error busy") == true)
    session.releaseWriter()
    for thread in waiters + [closer] { thread.join() }
    #expect(other.ask("acquire 1000") == "acquired")
    #expect(other.ask("peers") == "peers other")
    #expect(throws: StoreError.closed) { try session.acquireWriter(deadline: .never) }
  }

  /// Two first processes of two PID namespaces, both with process id 1, share a store; one is killed.
  @Test(.enabled(if: canUnshare, "needs the right to make a PID namespace (unshare)"))
  func processIdOneTwice() throws {
    let store = try TestStore()
    let wrapper = ["/usr/bin/unshare", "-fp", "--kill-child=KILL"]
    let one = try store.peer("one", wrapper: wrapper)
    let two = try store.peer("two", wrapper: wrapper)
    #expect(one.reply() != nil && two.reply() != nil)
    #expect(one.ask("peers") == "peers one,two")
    #expect(two.ask("pin") == "pinned 0")
    #expect(two.ask("acquire 1000") == "acquired")
    #expect(one.ask("acquire 100") == "error busy two")
    one.send("acquire 5000")
    two.die()
    #expect(one.reply() == "tookOver")
    #expect(one.ask("freeDead") == "freed 1")
    #expect(one.ask("peers") == "peers one")
  }

  static let canUnshare: Bool = {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
    process.arguments = ["-fp", "true"]
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()

  /// The checkpoint word: one at a time, waited for, taken over from the dead.
  @Test func checkpointWord() throws {
    let store = try TestStore()
    let one = try store.peer("one")
    let two = try store.peer("two")
    #expect(one.reply() != nil && two.reply() != nil)
    #expect(one.ask("checkpoint try") == "acquired")
    #expect(two.ask("checkpoint try") == "busy")
    #expect(one.ask("checkpoint try") == "busy")
    #expect(two.ask("checkpoint acquire 50") == "busy")
    two.send("checkpoint acquire 5000")
    usleep(30_000)
    #expect(one.ask("checkpoint release") == "released")
    #expect(two.reply() == "acquired")
    one.send("checkpoint acquire 5000")
    usleep(30_000)
    two.die()
    #expect(one.reply() == "tookOver")
    #expect(one.ask("checkpoint release") == "released")
    #expect(one.ask("checkpoint try") == "acquired")
  }
}

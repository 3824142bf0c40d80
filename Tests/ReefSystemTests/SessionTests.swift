import Foundation
import ReefEngine
import ReefSystem
import Testing

/// Opening and leaving: who builds, who joins, what is left behind.
@Suite struct SessionTests {
  @Test func firstBuildsSecondJoins() throws {
    for inMemory in [true, false] {
      let store = try TestStore(inMemory: inMemory)
      let first = try store.peer("first")
      #expect(first.reply() == "built")
      let second = try store.peer("second")
      #expect(second.reply() == "joined")
      #expect(first.ask("peers") == "peers first,second")
      #expect(second.ask("publish 3") == "published 3")
      #expect(first.ask("newest") == "newest 3")
      #expect(first.ask("leave") == "left")
      #expect(second.ask("peers") == "peers second")
      #expect(second.ask("leave") == "left")
      #expect(store.left.isEmpty == inMemory)
    }
  }

  @Test func sameFileInOneProcessIsOneSession() throws {
    let store = try TestStore(inMemory: false)
    let link = store.folder + "/link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: store.folder)
    var built = 0
    func open(_ path: String) throws -> Session {
      try Session.open(.init(location: .file(path))) { building throws(StoreError) in
        built += 1
        try writeMark(building)
      }
    }
    let one = try open(store.path)
    let two = try open(link + "/jobs.reef")
    #expect(one === two)
    #expect(built == 1)
    one.leave()
    try two.checkUsable()
    two.leave()
    #expect(throws: StoreError.closed) { try one.checkUsable() }
    let three = try open(store.path)
    #expect(three !== one)
    three.leave()
  }

  @Test func lastOneOutIsAlone() throws {
    let store = try TestStore(inMemory: false)
    let session = try Session.open(.init(location: .file(store.path))) { building throws(StoreError) in
      try writeMark(building)
    }
    let other = try store.peer("other")
    #expect(other.reply() == "joined")
    var ran = 0
    session.leave { _ in ran += 1 }
    #expect(ran == 0)
    let again = try Session.open(.init(location: .file(store.path))) { _ throws(StoreError) in }
    #expect(other.ask("leave") == "left")
    again.leave { _ in ran += 1 }
    #expect(ran == 1)
  }

  /// All peers of a store in memory are killed: the files stay, and the next opener starts afresh.
  @Test func leftoverInMemoryIsCleared() throws {
    let store = try TestStore()
    let peers = try (0..<3).map { try store.peer("p\($0)") }
    for peer in peers { #expect(peer.reply() != nil) }
    #expect(peers[0].ask("publish 5") == "published 5")
    for peer in peers { peer.die() }
    #expect(store.left.count == 3)
    let next = try store.peer("next")
    #expect(next.reply() == "built")
    #expect(next.ask("newest") == "newest 0")
    #expect(next.ask("leave") == "left")
    #expect(store.left.isEmpty)
  }

  @Test func exitWithoutLeavingLeavesNothing() throws {
    let store = try TestStore()
    let peer = try store.peer("quitter")
    #expect(peer.reply() == "built")
    peer.send("exit")
    peer.process.waitUntilExit()
    #expect(store.left.isEmpty)
  }

  /// Killed at every named step of opening and leaving: the next one opens, and it is a whole session.
  @Test(arguments: [
    "open.reset", "open.header", "open.built", "open.ready", "join.claimed", "join.raised", "leave.released",
    "leave.dataRemoved",
  ])
  func killedWhileOpeningOrLeaving(step: String) throws {
    for inMemory in [true, false] where inMemory || step != "leave.dataRemoved" {
      let store = try TestStore(inMemory: inMemory)
      let victim = try store.peer("victim", environment: ["REEF_KILL": step])
      if victim.reply() != nil { victim.send("leave") }
      victim.process.waitUntilExit()
      #expect(victim.process.terminationReason == .uncaughtSignal)
      let next = try store.peer("next")
      let reply = next.reply()
      #expect(reply == "built" || reply == "rebuilt" && !inMemory)
      #expect(next.ask("publish") == "published 1")
      #expect(next.ask("peers") == "peers next")
      #expect(next.ask("leave") == "left")
      #expect(store.left.isEmpty == inMemory)
    }
  }

  /// Six processes open and leave a store in memory as fast as they can, some killed: each time they meet the same store.
  @Test func openingAndLeavingAtOnce() throws {
    let store = try TestStore()
    for round in 0..<6 {
      let peers = try (0..<6).map { try store.peer("p\($0)") }
      var built = 0
      for peer in peers {
        let reply = peer.reply()
        #expect(reply == "built" || reply == "joined")
        if reply == "built" { built += 1 }
      }
      #expect(built == 1)
      #expect(peers[round].ask("peers") == "peers p0,p1,p2,p3,p4,p5")
      if round % 2 == 1 { peers[round].die() }
      for peer in peers { peer.send("leave") }
      for (index, peer) in peers.enumerated() where !(round % 2 == 1 && index == round) {
        #expect(peer.reply() == "left")
      }
      #expect(store.left.isEmpty)
    }
  }

  @Test func fullPeerTableIsAnError() throws {
    let store = try TestStore()
    let session = try Session.open(.init(location: .memory(store.name))) { _ throws(StoreError) in }
    defer { session.leave() }
    var others: [PeerTable] = []
    for _ in 1..<LockLayout.maximumPeers { others.append(try anotherPeer(of: session)) }
    #expect(throws: StoreError.peersFull(limit: LockLayout.maximumPeers)) { try anotherPeer(of: session) }
    others.removeLast()
    // Another test may be starting a process: until that executes its program it has this one's descriptors, and its locks.
    var joined: PeerTable?
    for _ in 0..<2000 where joined == nil {
      joined = try? anotherPeer(of: session)
      if joined == nil { usleep(1000) }
    }
    #expect(joined != nil)
  }

  private func anotherPeer(of session: Session) throws -> PeerTable {
    let locks = try SessionLocks(name: session.path + ".lock", in: -100, mode: 0o600)
    let table = PeerTable(lock: session.lock, locks: locks)
    _ = try table.join(name: "other")
    return table
  }
}

func writeMark(_ building: Building) throws(StoreError) {
  try storing(building.path) { () throws(SystemError) in
    try building.data.allocate(offset: 0, length: 4096)
    var magic = DataLayout.magic
    try withUnsafeBytes(of: &magic) { bytes throws(SystemError) in try building.data.write(bytes, at: 0) }
  }
}

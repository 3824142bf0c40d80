import Foundation
import ReefEngine
import Testing

/// `fork` with a store open: the child's copy is of no use, and harms nobody.
@Suite struct ForkTests {
  @Test func childIsRefusedAndHarmless() throws {
    let store = try TestStore()
    let peer = try store.peer("parent")
    #expect(peer.reply() == "built")
    #expect(peer.ask("publish 2") == "published 2")
    #expect(peer.ask("fork") == "usedAfterFork kept")
    #expect(peer.ask("publish") == "published 3")
    #expect(peer.ask("peers") == "peers parent")
  }

  @Test func childOpensAnew() throws {
    for inMemory in [true, false] {
      let store = try TestStore(inMemory: inMemory)
      let peer = try store.peer("parent")
      #expect(peer.reply() == "built")
      #expect(peer.ask("publish 2") == "published 2")
      #expect(peer.ask("fork \(store.spec)") == "usedAfterFork ownPeer pinned 2 kept")
      #expect(peer.ask("fork \(store.spec)") == "usedAfterFork ownPeer pinned 2 kept")
      #expect(peer.ask("publish") == "published 3")
      #expect(peer.ask("leave") == "left")
      #expect(store.left.isEmpty == inMemory)
    }
  }

  /// The parent is killed while its child lives on: the child must not keep the parent's locks.
  @Test func deadParentIsDead() throws {
    let store = try TestStore()
    let other = try store.peer("other")
    #expect(other.reply() == "built")
    let parent = try store.peer("parent")
    #expect(parent.reply() == "joined")
    #expect(other.ask("publish") == "published 1")
    #expect(parent.ask("acquire 1000") == "acquired")
    #expect(parent.ask("fork stay") == "usedAfterFork kept")
    // (Waiting for its end would wait for its child, too.)
    kill(parent.id, SIGKILL)
    #expect(other.ask("acquire 2000") == "tookOver")
    #expect(other.ask("peers") == "peers other")
    parent.close()
  }
}

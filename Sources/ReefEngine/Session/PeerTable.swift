import ReefSystem
import Synchronization

/// One incarnation of a peer entry: its place and which of its successive owners.
package struct PeerIdentity: Sendable, Hashable {
  /// 0 ..< `LockLayout.maximumPeers`
  package let index: Int
  /// Rises with each owner of the entry; 31 bits.
  package let generation: UInt32

  package init(index: Int, generation: UInt32) {
    self.index = index
    self.generation = generation
  }
}

/// Who has the store open. An entry is its owner's as long as the kernel holds the entry's life byte for it.
///
/// Invariants: whoever holds a life byte raised the generation first; a generation rises only under the claim byte, with
/// the life byte seen free.
package struct PeerTable: Sendable {
  let lock: LockMemory
  let locks: SessionLocks
  package static let lastGeneration: UInt32 = 0x7fff_ffff

  package init(lock: LockMemory, locks: SessionLocks) {
    self.lock = lock
    self.locks = locks
  }

  static func entry(_ index: Int) -> Int { LockLayout.Peer.table + index * LockLayout.Peer.size }

  /// Takes an entry for this process.
  package func join(name: String) throws(StoreError) -> PeerIdentity {
    for index in 0..<LockLayout.maximumPeers {
      let entered = try storing("") { () throws(SystemError) in try enter(index) }
      guard let entered else { continue }
      describe(entered, name: name)
      return entered
    }
    throw .peersFull(limit: LockLayout.maximumPeers)
  }

  private func enter(_ index: Int) throws(SystemError) -> PeerIdentity? {
    let entry = PeerTable.entry(index)
    // Looked at before it is claimed: a claim on an entry that cannot be had keeps others from it just when it gets free,
    // and in a large crowd three calls an entry are three times as slow as one.
    if locks.lives(index) == true { return nil }
    guard try locks.takeClaim(index) else { return nil }
    defer { locks.releaseClaim(index) }
    guard locks.lives(index) == false else { return nil }
    let generation = lock.word32(entry + LockLayout.Peer.generation)
    guard generation < PeerTable.lastGeneration else { return nil }
    FaultPoint.step("join.claimed")
    // Generation first: whoever asks the kernel between the two sees a free byte, or a generation that has moved on.
    lock.storeRelease32(entry + LockLayout.Peer.generation, generation + 1)
    FaultPoint.step("join.raised")
    guard try locks.takeLife(index) else { return nil }
    return PeerIdentity(index: index, generation: generation + 1)
  }

  private func describe(_ peer: PeerIdentity, name: String) {
    let entry = PeerTable.entry(peer.index)
    let clear = ~(UInt64(1) << UInt64(peer.index % 64))
    lock.fetchAnd(LockLayout.Control.listeners + peer.index / 64 * 8, clear)
    lock.fetchAnd(LockLayout.Control.waitMap + peer.index / 64 * 8, clear)
    lock.set32(entry + LockLayout.Peer.skip, 0)
    lock.set(entry + LockLayout.Peer.process, UInt64(UInt32(bitPattern: HostIdentity.process)))
    lock.set(entry + LockLayout.Peer.joined, Clock.realtime)
    lock.set(entry + LockLayout.Peer.writerSince, 0)
    let size = LockLayout.Peer.nameSize
    let field = UnsafeMutableRawBufferPointer(start: lock.base + entry + LockLayout.Peer.name, count: size)
    var length = 0
    for byte in (name.isEmpty ? HostIdentity.programName : name).utf8 where length < size - 1 {
      field[length] = byte
      length += 1
    }
    for index in length..<size { field[index] = 0 }
  }

  func generation(_ index: Int) -> UInt32 { lock.loadAcquire32(PeerTable.entry(index) + LockLayout.Peer.generation) }

  /// Whether that owner of the entry is gone. The kernel is asked first, the generation read second: the other order
  /// would miss an owner that died while a newcomer was entering.
  func isDead(_ peer: PeerIdentity, me: PeerIdentity) -> Bool {
    guard peer.index != me.index else { return peer.generation != me.generation }
    guard peer.index < LockLayout.maximumPeers else { return true }
    if Mutant.lives(.everyoneIsDead) { return true }
    if Mutant.lives(.nobodyIsDead) { return false }
    guard let lives = locks.lives(peer.index) else { return false }
    return !lives || generation(peer.index) != peer.generation
  }

  /// Whether anybody owns the entry now.
  package func isTaken(_ index: Int, me: PeerIdentity) -> Bool { index == me.index || locks.lives(index) == true }

  func name(_ index: Int) -> String {
    let start = lock.base + PeerTable.entry(index) + LockLayout.Peer.name
    let field = UnsafeRawBufferPointer(start: start, count: LockLayout.Peer.nameSize)
    return String(decoding: field.prefix { $0 != 0 }, as: UTF8.self)
  }
  func process(_ index: Int) -> Int32 {
    Int32(truncatingIfNeeded: lock.word(PeerTable.entry(index) + LockLayout.Peer.process))
  }
  func joined(_ index: Int) -> Double {
    Double(lock.word(PeerTable.entry(index) + LockLayout.Peer.joined)) / 1e9
  }
}

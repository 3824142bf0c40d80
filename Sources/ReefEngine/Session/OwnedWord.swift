import ReefSystem
import Synchronization

/// A lock between processes for rare, long work (checkpoint, append): the same rule about dead owners as the writer word,
/// no queue. Its low half is a futex: bit 0 says that somebody sleeps, then index + 1, then the generation.
package final class OwnedWord: @unchecked Sendable {
  package enum Outcome: Sendable { case acquired, tookOver }

  private let word: UnsafeMutablePointer<Atomic<UInt64>>
  private let peers: PeerTable
  private let me: PeerIdentity
  private let own: UInt64

  init(lock: LockMemory, offset: Int, peers: PeerTable, me: PeerIdentity) {
    word = lock.atomic(offset)
    self.peers = peers
    self.me = me
    own = UInt64(me.generation) << 17 | UInt64(me.index + 1) << 1
  }

  private static func owner(_ word: UInt64) -> PeerIdentity {
    PeerIdentity(index: Int(word >> 1 & 0xffff) - 1, generation: UInt32(truncatingIfNeeded: word >> 17 & 0x7fff_ffff))
  }

  package var isMine: Bool { word.pointee.load(ordering: .relaxed) & ~1 == own }
  package var isFree: Bool { word.pointee.load(ordering: .relaxed) == 0 }

  /// Takes the word if it is free or its owner is dead; nil: somebody alive has it.
  package func tryAcquire() -> Outcome? {
    let (exchanged, old) = word.pointee.compareExchange(expected: 0, desired: own, ordering: .sequentiallyConsistent)
    if exchanged { return .acquired }
    return takeOver(old)
  }

  private func takeOver(_ old: UInt64) -> Outcome? {
    guard old != 0, peers.isDead(OwnedWord.owner(old), me: me) else { return nil }
    // Sleepers are kept: the bit goes along.
    let mine = own | old & 1
    return word.pointee.compareExchange(expected: old, desired: mine, ordering: .sequentiallyConsistent).exchanged
      ? .tookOver : nil
  }

  /// Takes the word, waiting up to `deadline`; nil: not in time, or `isDone` says that there is no need any more.
  package func acquire(_ deadline: Deadline, unless isDone: () -> Bool = { false }) -> Outcome? {
    var bound = WriterWord.bound
    while true {
      if isDone() { return nil }
      let old = word.pointee.load(ordering: .sequentiallyConsistent)
      if old == 0 {
        if word.pointee.compareExchange(expected: 0, desired: own | 1, ordering: .sequentiallyConsistent).exchanged {
          // Others may sleep since before: the release after this wakes them.
          return .acquired
        }
        continue
      }
      if old & 1 == 0,
        !word.pointee.compareExchange(expected: old, desired: old | 1, ordering: .sequentiallyConsistent).exchanged
      {
        continue
      }
      let until = min(Deadline.after(nanoseconds: bound), deadline)
      let asleep = UInt32(truncatingIfNeeded: old | 1)
      if Futex.wait(UnsafeMutableRawPointer(word), while: asleep, until: until) == .timedOut {
        if let outcome = takeOver(word.pointee.load(ordering: .sequentiallyConsistent)) { return outcome }
        if deadline.isPast { return nil }
        bound = min(bound * 2, WriterWord.longestBound)
      }
    }
  }

  package func release() {
    if word.pointee.exchange(0, ordering: .sequentiallyConsistent) & 1 != 0 {
      Futex.wake(UnsafeMutableRawPointer(word), count: .max)
    }
  }
}

import ReefSystem
import Synchronization

/// The writer word: who may write, among all threads of all processes.
///
/// `FREE` (0), `OWN(peer)`, or `OFFER(peer)`. Only OWN excludes, and only a dead OWN is ever replaced; an offer is a turn
/// kept for a waiter, and lapses when it is not taken. Nobody sleeps on the word itself: each peer has a `park` futex, and
/// at most one thread of each process stands in the queue between processes, after the process's own fair queue.
///
/// Uncontended: one compare-and-swap, one exchange, no system call.
package final class WriterWord: @unchecked Sendable {
  /// How often others may overtake the oldest waiter before the word is kept for it.
  static let overtakings: UInt64 = 128
  static let bound: UInt64 = 2_000_000
  static let longestBound: UInt64 = 32_000_000
  private let spins = HostIdentity.allowedProcessors > 1 ? 200 : 0

  @usableFromInline let word: UnsafeMutablePointer<Atomic<UInt64>>
  @usableFromInline let waitMap: UnsafeMutablePointer<Atomic<UInt64>>
  /// Overtakings of the oldest waiter so far; touched by the owner only.
  @usableFromInline let passes: UnsafeMutablePointer<Atomic<UInt64>>
  @usableFromInline let own: UInt64
  private let offer: UInt64
  private let lock: LockMemory
  private let peers: PeerTable
  private let me: PeerIdentity
  private let threads = ThreadQueue()
  private let closing = Atomic<Bool>(false)
  /// Whether this process has just had a turn of many small commits, and should let others have one.
  @usableFromInline let turn = WriterTurn()
  /// The dead owner's word that was replaced last; touched by the owner only.
  private var replaced: UInt64 = 0

  init(lock: LockMemory, peers: PeerTable, me: PeerIdentity) {
    self.lock = lock
    self.peers = peers
    self.me = me
    word = lock.atomic(LockLayout.Control.writerWord)
    waitMap = lock.atomic(LockLayout.Control.waitMap)
    passes = lock.atomic(LockLayout.Control.passes)
    own = OwnerWord.encode(.own, me)
    offer = OwnerWord.encode(.offer, me)
  }

  /// Takes the word if it is free.
  @inlinable @inline(__always)
  package func tryAcquire() -> Bool {
    if Mutant.lives(.writerBarges) {
      word.pointee.store(own, ordering: .relaxed)
      return true
    }
    return word.pointee.compareExchange(expected: 0, desired: own, ordering: .acquiring).exchanged
  }

  /// Takes the word, waiting up to `deadline`. True: from a dead owner, whose work the caller must repair first.
  @inlinable @inline(__always)
  package func acquire(_ deadline: Deadline) throws(StoreError) -> Bool {
    if tryAcquire() { return false }
    return try acquireSlowly(deadline)
  }

  /// Gives the word back.
  @inlinable @inline(__always)
  package func release() {
    assert(word.pointee.load(ordering: .relaxed) == own, "released by somebody who does not own it")
    turn.count()
    if !someoneWaits {
      _ = word.pointee.exchange(0, ordering: .sequentiallyConsistent)
      // Looked at again: a waiter that came in between saw the word still owned.
      if !someoneWaits { return }
      wakeOldest()
    } else {
      releaseSlowly()
    }
  }

  @inlinable @inline(__always)
  var someoneWaits: Bool {
    waitMap[0].load(ordering: .sequentiallyConsistent) | waitMap[1].load(ordering: .sequentiallyConsistent)
      | waitMap[2].load(ordering: .sequentiallyConsistent) | waitMap[3].load(ordering: .sequentiallyConsistent) != 0
  }

  /// From now on nobody of this process waits for the word.
  func close() { closing.store(true, ordering: .sequentiallyConsistent) }
  /// Whether threads of this process stand in the queue.
  var isContended: Bool { threads.isTaken }

  /// Gives back what was taken just now by mistake, unless somebody else has it already. What was taken from a dead owner
  /// is that owner's again: the next one repairs.
  func undo(_ tookOver: Bool) {
    let before = tookOver ? replaced : 0
    _ = word.pointee.compareExchange(expected: own, desired: before, ordering: .sequentiallyConsistent)
  }

  /// Whether this process owns the word.
  package var isMine: Bool { word.pointee.load(ordering: .relaxed) == own }
  /// The peer that owns the word, dead or alive.
  package var owner: PeerIdentity? { OwnerWord.owner(word.pointee.load(ordering: .relaxed)) }

  // Acquiring

  @usableFromInline
  func acquireSlowly(_ deadline: Deadline) throws(StoreError) -> Bool {
    turn.rest(owner?.index, deadline)
    for _ in 0..<spins {
      Futex.pause()
      if word.pointee.load(ordering: .relaxed) == 0, tryAcquire() { return false }
    }
    guard threads.enter(deadline) else { throw .busy(holder: holder()) }
    defer { threads.leave() }
    if closing.load(ordering: .sequentiallyConsistent) { throw .closed }
    switch queue(deadline) {
    case .got: return false
    case .tookOver: return true
    case .gaveUp: throw closing.load(ordering: .relaxed) ? .closed : .busy(holder: holder())
    }
  }

  private func holder() -> PeerInfo? {
    guard let owner else { return nil }
    return PeerInfo(
      index: owner.index, name: peers.name(owner.index), process: peers.process(owner.index),
      joined: peers.joined(owner.index), isSelf: owner.index == me.index, isWriting: true, held: [])
  }

  private enum Outcome { case got, tookOver, gaveUp }

  private func queue(_ deadline: Deadline) -> Outcome {
    let entry = PeerTable.entry(me.index)
    let mapWord = waitMap + me.index / 64
    let bit = UInt64(1) << UInt64(me.index % 64)
    lock.set(entry + LockLayout.Peer.ticket, lock.fetchAdd(LockLayout.Control.nextTicket, 1) &+ 1)
    defer { mapWord.pointee.bitwiseAnd(~bit, ordering: .sequentiallyConsistent) }
    var seen: UInt64 = 0
    var bound = WriterWord.bound
    while true {
      // Stored before the word is looked at, or a wake-up in between would be wiped out.
      _ = lock.exchangeSeqCst32(entry + LockLayout.Peer.park, 0)
      lock.set(entry + LockLayout.Peer.skip, 0)
      if mapWord.pointee.load(ordering: .relaxed) & bit == 0 {
        mapWord.pointee.bitwiseOr(bit, ordering: .sequentiallyConsistent)
      }
      let before = word.pointee.load(ordering: .sequentiallyConsistent)
      if before == 0 || before == offer {
        if replace(before) { return .got }
        continue
      }
      FaultPoint.step("writer.queued")
      let until = Deadline.after(nanoseconds: bound)
      let outcome = Futex.wait(lock.base + entry + LockLayout.Peer.park, while: 0, until: min(until, deadline))
      if closing.load(ordering: .relaxed) { return withdraw(mapWord, bit) }
      guard outcome == .timedOut else {
        bound = WriterWord.bound
        continue
      }
      let now = word.pointee.load(ordering: .sequentiallyConsistent)
      if let owner = OwnerWord.owner(now), now != offer {
        let lapsed = OwnerWord.isOffer(now) && now == before && now == seen
        if lapsed || peers.isDead(owner, me: me), replace(now) {
          replaced = now
          if !OwnerWord.isOffer(now) { return .tookOver }
          skip(owner)
          return .got
        }
      }
      seen = before
      if deadline.isPast { return withdraw(mapWord, bit) }
      bound = now == before ? min(bound * 2, WriterWord.longestBound) : WriterWord.bound
    }
  }

  private func replace(_ old: UInt64) -> Bool {
    word.pointee.compareExchange(expected: old, desired: own, ordering: .sequentiallyConsistent).exchanged
  }

  /// A waiter that did not take its turn, or died, gets no further offers until it looks again.
  private func skip(_ peer: PeerIdentity) {
    let entry = PeerTable.entry(peer.index)
    lock.set(entry + LockLayout.Peer.skip, lock.word(entry + LockLayout.Peer.ticket))
  }

  /// Leaves the queue, unless its turn has just come. A wake-up that was meant for it goes to the next.
  private func withdraw(_ mapWord: UnsafeMutablePointer<Atomic<UInt64>>, _ bit: UInt64) -> Outcome {
    mapWord.pointee.bitwiseAnd(~bit, ordering: .sequentiallyConsistent)
    let now = word.pointee.load(ordering: .sequentiallyConsistent)
    if now == offer || now == 0, replace(now) {
      if !closing.load(ordering: .relaxed) { return .got }
      undo(false)
    }
    if word.pointee.load(ordering: .sequentiallyConsistent) == 0 { wakeOldest() }
    return .gaveUp
  }

  // Releasing

  @usableFromInline
  func releaseSlowly() {
    let oldest = oldestWaiter()
    let overtaken = passes.pointee.load(ordering: .relaxed)
    if let oldest, overtaken >= WriterWord.overtakings {
      passes.pointee.store(0, ordering: .relaxed)
      let generation = peers.generation(oldest)
      let offered = OwnerWord.encode(.offer, PeerIdentity(index: oldest, generation: generation))
      word.pointee.store(offered, ordering: .sequentiallyConsistent)
      FaultPoint.step("writer.offered")
      wake(oldest)
    } else {
      passes.pointee.store(oldest == nil ? 0 : overtaken &+ 1, ordering: .relaxed)
      _ = word.pointee.exchange(0, ordering: .sequentiallyConsistent)
      FaultPoint.step("writer.freed")
      wakeOldest()
    }
  }

  @usableFromInline
  func wakeOldest() { if let oldest = oldestWaiter() { wake(oldest) } }

  private func oldestWaiter() -> Int? {
    var oldest: Int?
    var lowest = UInt64.max
    for part in 0..<4 {
      var bits = waitMap[part].load(ordering: .sequentiallyConsistent)
      while bits != 0 {
        let index = part * 64 + bits.trailingZeroBitCount
        bits &= bits &- 1
        let entry = PeerTable.entry(index)
        let ticket = lock.word(entry + LockLayout.Peer.ticket)
        if ticket < lowest, lock.word(entry + LockLayout.Peer.skip) != ticket {
          oldest = index
          lowest = ticket
        }
      }
    }
    return oldest
  }

  private func wake(_ peer: Int) {
    let park = PeerTable.entry(peer) + LockLayout.Peer.park
    if lock.exchangeSeqCst32(park, 1) == 0 { Futex.wake(lock.base + park, count: 1) }
  }
}

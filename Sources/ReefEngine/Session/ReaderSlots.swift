import ReefSystem
import Synchronization

/// Where readers publish which version they hold: one line of shared memory a slot, owned by a peer.
///
/// Pinning takes no lock, no system call, and writes no line that another process writes. The slots this process owns but
/// does not use wait in a cache of the calling thread, then in a bitmap of the process.
package final class ReaderSlots: @unchecked Sendable {
  @usableFromInline let lock: LockMemory
  @usableFromInline let table: Int
  @usableFromInline let ring: Int
  @usableFromInline let visible: UnsafeMutablePointer<Atomic<UInt64>>
  @usableFromInline let inUse: UnsafeMutablePointer<Atomic<UInt64>>
  @usableFromInline let spare: UnsafeMutablePointer<Atomic<UInt64>>
  @usableFromInline let token: UInt64
  /// 1 once this process may leave pins where they are, and how often it did not.
  @usableFromInline let lingers: UnsafeMutablePointer<Atomic<UInt64>>
  @usableFromInline let strict: UnsafeMutablePointer<Atomic<UInt64>>
  let peers: PeerTable
  let me: PeerIdentity
  let own: UInt64
  private static let spareWords = LockLayout.maximumSlots / 64

  init(lock: LockMemory, peers: PeerTable, me: PeerIdentity) {
    self.lock = lock
    self.peers = peers
    self.me = me
    table = LockLayout.ReaderSlot.table
    ring = LockLayout.RingEntry.table
    visible = lock.atomic(LockLayout.Control.visible)
    inUse = lock.atomic(LockLayout.Control.slotsInUse)
    own = UInt64(me.generation) << 16 | UInt64(me.index + 1)
    spare = .allocate(capacity: ReaderSlots.spareWords)
    for index in 0..<ReaderSlots.spareWords { (spare + index).initialize(to: Atomic(0)) }
    lingers = .allocate(capacity: 1)
    lingers.initialize(to: Atomic(0))
    strict = .allocate(capacity: 1)
    strict.initialize(to: Atomic(0))
    token = SlotCache.makeToken()
  }

  deinit {
    SlotCache.retire(token)
    spare.deinitialize(count: ReaderSlots.spareWords)
    spare.deallocate()
    lingers.deallocate()
    strict.deallocate()
  }

  static func ownerOf(_ word: UInt64) -> PeerIdentity {
    PeerIdentity(index: Int(word & 0xffff) - 1, generation: UInt32(truncatingIfNeeded: word >> 16 & 0x7fff_ffff))
  }

  // Claiming

  /// A slot of this process that nothing is pinned in.
  @inlinable @inline(__always)
  package func claim() throws(StoreError) -> Int {
    let kept = SlotCache.take(token)
    return kept >= 0 ? kept : try claimSlowly()
  }

  /// Gives a slot back, unpinned.
  @inlinable @inline(__always)
  package func giveBack(_ slot: Int) {
    if token != 0, SlotCache.keep(token, UnsafeMutableRawPointer(spare).assumingMemoryBound(to: UInt64.self), slot) {
      return
    }
    spare[slot / 64].bitwiseOr(1 << UInt64(slot % 64), ordering: .releasing)
  }

  @usableFromInline
  func claimSlowly() throws(StoreError) -> Int {
    if let slot = takeSpare() ?? takeFree() { return slot }
    FaultPoint.step("slot.none")
    freeDead()
    // Whoever freed them: another process may have been at it in between, and nothing was left for this one.
    if let slot = takeSpare() ?? takeFree() { return slot }
    throw .slotsFull(holders: PeerListing(slots: self).holders())
  }

  private func takeSpare() -> Int? {
    for index in 0..<ReaderSlots.spareWords {
      var bits = spare[index].load(ordering: .relaxed)
      while bits != 0 {
        let bit = bits & (0 &- bits)
        if spare[index].bitwiseAnd(~bit, ordering: .acquiringAndReleasing).oldValue & bit != 0 {
          return index * 64 + bit.trailingZeroBitCount
        }
        bits &= ~bit
      }
    }
    return nil
  }

  private func takeFree() -> Int? {
    for slot in 0..<LockLayout.maximumSlots {
      let owner = address(slot) + LockLayout.ReaderSlot.owner
      guard lock.word(owner) == 0 else { continue }
      if Mutant.lives(.slotTakenUnseen) {
        lock.set(owner, own)
      } else if !lock.compareExchange(owner, 0, own) {
        continue
      }
      // Raised before anything is pinned here: a scan that misses the slot also published after the pin's check.
      lock.raise(LockLayout.Control.slotsInUse, to: UInt64(slot + 1))
      return slot
    }
    return nil
  }

  @inlinable @inline(__always)
  func address(_ slot: Int) -> Int { table &+ slot &* 64 }

  // Pinning

  /// Pins the newest version in `slot`; says where its root is.
  @inlinable @inline(__always)
  package func pinNewest(_ slot: Int, following: Bool = false) -> (version: UInt64, root: UInt64, extents: UInt64) {
    let place = address(slot)
    let follows: UInt64 = following ? 1 : 0
    lock.set(place &+ 40, 0)
    // Left here by the last one: see `ReaderSlots+Lingering`.
    AsymmetricFence.light()
    let lingering = lock.loadAcquire(place &+ 8)
    if lingering != 0, lingering == visible.pointee.load(ordering: .acquiring) & ~1 | follows {
      return (lingering >> 1, lock.word(place &+ 16), lock.word(place &+ 24))
    }
    while true {
      let word = visible.pointee.load(ordering: .acquiring)
      let version = word >> 1
      let entry = ring &+ Int(version & 2047) &* 32
      let root = lock.word(entry &+ 8)
      let extents = lock.word(entry &+ 16)
      lock.storeSeqCst(place &+ 8, version << 1 | follows)
      LockMemory.fenceAfterExchange()
      // One look validates both: the pin was there before the version could be reclaimed, and the ring had not wrapped.
      if visible.pointee.load(ordering: .sequentiallyConsistent) >> 1 == version || Mutant.lives(.pinUnconfirmed) {
        lock.set(place &+ 16, root)
        lock.set(place &+ 24, extents)
        return (version, root, extents)
      }
    }
  }

  /// Pins `version`, which must be held by somebody all the while. Under the writer word only: a scan of the slots must
  /// not run in between. Nil: nobody holds it any more, or its ring entry is gone.
  package func pin(version: UInt64, in slot: Int) -> (version: UInt64, root: UInt64, extents: UInt64)? {
    let newest = visible.pointee.load(ordering: .sequentiallyConsistent) >> 1
    guard version <= newest, version == newest || isHeld(version) else { return nil }
    let entry = ring + Int(version % UInt64(LockLayout.ringSize)) * LockLayout.RingEntry.size
    guard lock.word(entry + LockLayout.RingEntry.version) == version else { return nil }
    let root = lock.word(entry + LockLayout.RingEntry.root)
    let extents = lock.word(entry + LockLayout.RingEntry.extents)
    let place = address(slot)
    lock.set(place + LockLayout.ReaderSlot.idle, 0)
    lock.storeSeqCst(place + LockLayout.ReaderSlot.pin, version << 1)
    lock.set(place + LockLayout.ReaderSlot.root, root)
    lock.set(place + LockLayout.ReaderSlot.extents, extents)
    return (version, root, extents)
  }

  /// Lets a following slot hold `version` and later only. Only forward.
  package func follow(from version: UInt64, in slot: Int) {
    lock.storeRelease(address(slot) + LockLayout.ReaderSlot.pin, version << 1 | 1)
  }

  // Scanning: under the writer word, after the fence of publishing

  /// Every pin there is, with its slot: which version, and whether it holds every later one too.
  @inlinable @inline(__always)
  package func forEachPin(_ body: (_ slot: Int, _ version: UInt64, _ following: Bool) -> Void) {
    let count = min(Int(truncatingIfNeeded: inUse.pointee.load(ordering: .sequentiallyConsistent)), 1024)
    var place = table &+ 8
    for slot in 0..<count {
      let pin = lock.loadSeqCst(place)
      if pin != 0 { body(slot, pin >> 1, pin & 1 != 0) }
      place &+= 64
    }
  }

  private func isHeld(_ version: UInt64) -> Bool {
    var held = false
    forEachPin { _, pinned, following in held = held || pinned == version || (following && pinned < version) }
    return held
  }

  // The dead

  /// Frees the slots of peers that are gone. Returns how many. Each step of it may be the last of this process: the next
  /// cleaner finds an owner that is dead again.
  @discardableResult
  package func freeDead() -> Int {
    if Mutant.lives(.deadSlotsStay) { return 0 }
    var verdicts: [UInt64: Bool] = [own: false]
    var freed = 0
    let count = min(Int(truncatingIfNeeded: inUse.pointee.load(ordering: .sequentiallyConsistent)), 1024)
    for slot in 0..<count {
      let place = address(slot)
      let owner = lock.loadAcquire(place + LockLayout.ReaderSlot.owner)
      guard owner != 0 else { continue }
      let dead = verdicts[owner] ?? peers.isDead(ReaderSlots.ownerOf(owner), me: me)
      verdicts[owner] = dead
      guard dead, lock.compareExchange(place + LockLayout.ReaderSlot.owner, owner, own) else { continue }
      FaultPoint.step("slot.taken")
      if Mutant.lives(.deadSlotOwnerFirst) { lock.storeRelease(place + LockLayout.ReaderSlot.owner, 0) }
      lock.set(place + LockLayout.ReaderSlot.revocation, 0)
      lock.set(place + LockLayout.ReaderSlot.pin, 0)
      lock.storeRelease(place + LockLayout.ReaderSlot.owner, 0)
      freed += 1
    }
    return freed
  }

  /// Gives all slots of this process back to everyone: when it leaves, with nothing pinned any more.
  func abandonOwn() {
    SlotCache.retire(token)
    for slot in 0..<LockLayout.maximumSlots {
      let place = address(slot)
      guard lock.word(place + LockLayout.ReaderSlot.owner) == own else { continue }
      lock.set(place + LockLayout.ReaderSlot.revocation, 0)
      lock.set(place + LockLayout.ReaderSlot.pin, 0)
      lock.storeRelease(place + LockLayout.ReaderSlot.owner, 0)
    }
  }

  /// Takes the owner word of `slot`, for lists.
  func owner(_ slot: Int) -> UInt64 { lock.loadAcquire(address(slot) + LockLayout.ReaderSlot.owner) }
  func isIdle(_ slot: Int) -> Bool { lock.word(address(slot) + LockLayout.ReaderSlot.idle) != 0 }
  package func pinWord(_ slot: Int) -> UInt64 { lock.loadAcquire(address(slot) + LockLayout.ReaderSlot.pin) }
}

import ReefSystem

/// Replaced blocks wait here until nobody can see them.
///
/// One pool of entries in shared memory, each {made, replaced, ref, next}. Fresh ones form a queue in the order of
/// `replaced`; those that a pin holds lie in the bin of that pin's slot. Entries are whole before their ref is stored,
/// so the pool alone suffices to rebuild all lists after a death (`Space+Repair`).
extension Space {
  @inline(__always) func waiting(_ index: Int) -> UnsafeMutableRawPointer {
    lock + (LockLayout.Waiting.pool &+ index &* LockLayout.Waiting.size)
  }

  /// Appends a replaced block to the fresh queue.
  @inline(__always)
  mutating func wait(_ ref: UInt32, made: UInt64) {
    var link = UInt32(truncatingIfNeeded: control(LockLayout.Control.poolFree))
    if link == 0 {
      guard let more = morePool() else { return leak() }
      link = more
    }
    let entry = waiting(Int(link &- 1))
    setControl(
      LockLayout.Control.poolFree, UInt64(entry.load(fromByteOffset: LockLayout.Waiting.next, as: UInt32.self)))
    entry.storeBytes(of: made, toByteOffset: LockLayout.Waiting.made, as: UInt64.self)
    entry.storeBytes(of: version, toByteOffset: LockLayout.Waiting.replaced, as: UInt64.self)
    entry.storeBytes(of: 0, toByteOffset: LockLayout.Waiting.next, as: UInt32.self)
    Space.barrier()
    entry.storeBytes(of: ref, toByteOffset: LockLayout.Waiting.ref, as: UInt32.self)
    let tail = Int(control(LockLayout.Control.freshTail))
    if tail == 0 {
      setControl(LockLayout.Control.freshHead, UInt64(link))
    } else {
      waiting(tail &- 1).storeBytes(of: link, toByteOffset: LockLayout.Waiting.next, as: UInt32.self)
    }
    setControl(LockLayout.Control.freshTail, UInt64(link))
    setControl(LockLayout.Control.freshCount, control(LockLayout.Control.freshCount) &+ 1)
  }

  /// An entry that was never used; grows the pool. Nil where the lock file cannot grow.
  @inline(never)
  private mutating func morePool() -> UInt32? {
    let count = Int(control(LockLayout.Control.poolCount))
    if count >= Int(control(LockLayout.Control.poolCapacity)) {
      let size =
        LockLayout.Waiting.pool + Int(control(LockLayout.Control.poolCapacity)) * LockLayout.Waiting.size
        + LockLayout.Waiting.growth
      guard count < LockLayout.maximumWaiting, growLock(size) else { return nil }
      setControl(
        LockLayout.Control.poolCapacity, UInt64((size - LockLayout.Waiting.pool) / LockLayout.Waiting.size))
    }
    let entry = waiting(count)
    entry.storeBytes(of: 0, toByteOffset: LockLayout.Waiting.ref, as: UInt32.self)
    entry.storeBytes(of: 0, toByteOffset: LockLayout.Waiting.next, as: UInt32.self)
    setControl(LockLayout.Control.poolCount, UInt64(count + 1))
    return UInt32(count + 1)
  }

  /// The block stays set for good: the mark pass will find it. Never a failed commit.
  @inline(never)
  private func leak() {
    // Counted first: the mark pass looks whether anybody may still see a leaked block.
    setControl(LockLayout.Statistics.leaked, control(LockLayout.Statistics.leaked) &+ 1)
    Space.barrier()
    setControl(LockLayout.Control.needsMark, 1)
  }

  @inline(__always)
  func giveBack(_ link: UInt32, _ entry: UnsafeMutableRawPointer) {
    entry.storeBytes(of: 0, toByteOffset: LockLayout.Waiting.ref, as: UInt32.self)
    entry.storeBytes(
      of: UInt32(truncatingIfNeeded: control(LockLayout.Control.poolFree)),
      toByteOffset: LockLayout.Waiting.next, as: UInt32.self)
    setControl(LockLayout.Control.poolFree, UInt64(link))
  }
}

import ReefSystem

/// The newest version built, visible or not, as whoever brings it to the disk needs it.
struct Newest {
  var version: UInt64
  var root: UInt64
  var extents: UInt64
  var fingerprint: UInt64
  var time: UInt64

  /// Reads it; under the writer word. `repairOwed`: a writer that died half-way through these words may have mixed two
  /// versions in them, but the head slot is whole.
  init(_ session: Session, repairOwed: Bool) throws(StoreError) {
    typealias Control = LockLayout.Control
    let lock = session.lock
    if repairOwed {
      guard let head = RootSlot.newestHead(session.data.base, session: lock.word(LockLayout.Header.session)) else {
        throw .damaged(path: session.path, what: "neither head slot holds")
      }
      (version, root, extents, fingerprint, time) =
        (head.version, head.root, head.extents, head.fingerprint, head.time)
    } else {
      (version, root, extents) =
        (lock.word(Control.tip), lock.word(Control.tipRoot), lock.word(Control.tipExtents))
      (fingerprint, time) = (lock.word(Control.fingerprint), lock.word(Control.tipTime))
    }
  }
}

extension Session {
  /// The checkpoint and the append word may take the writer word for a moment, never the other way round. `body` hears
  /// whether a dead writer's work is still to be repaired, which is the next writer's business.
  @inline(__always)
  func underWriter(
    _ body: (_ lock: LockMemory, _ repairOwed: Bool) throws(StoreError) -> Void
  ) throws(StoreError) {
    let tookOver = try acquireWriter(deadline: .never)
    defer { releaseWriter() }
    if tookOver { lock.set(LockLayout.Control.reclaiming, 1) }
    try body(lock, lock.word(LockLayout.Control.reclaiming) | lock.word(LockLayout.Control.jver) != 0)
  }

  /// Makes visible what waits for the disk no longer; under the writer word. Returns the version, and whether a wake-up
  /// is owed; 0: nothing moved.
  @inline(__always)
  func publishConfirmed() -> (version: UInt64, wake: Bool) {
    typealias Control = LockLayout.Control
    let confirmed = lock.word(Control.confirmed)
    let target = lock.word(Control.pendingFull) <= confirmed ? lock.word(Control.tip) : confirmed
    guard target > lock.word(Control.visible) >> 1 else { return (0, false) }
    return (target, publish(target))
  }

  /// A failed sync condemns the session: the kernel may have dropped the pages, and the page cache proves nothing.
  func poison() -> StoreError {
    typealias Control = LockLayout.Control
    if lock.word(Control.poisoned) == 0 { lock.storeRelease(Control.poisoned, lock.word(Control.confirmed) << 1 | 1) }
    wakeAfterRepair()
    return .poisoned(path: path)
  }
}

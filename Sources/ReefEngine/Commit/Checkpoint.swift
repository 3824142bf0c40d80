import ReefSystem

/// Getting versions onto the disk: sync the file, name the version in a durable slot, sync again. One process at a time
/// leads, under the checkpoint word; what it carries is everybody's (group commit).
///
/// The invariant: every version that a durable slot may name is held like a pin: `synced`, the newest that is sure, and
/// `attempt`, the one being written. A leader that dies is followed by one that finishes the same attempt.
package final class Checkpoint: Sendable {
  private let session: Session
  private let data: MappedFile
  private let lock: LockMemory

  init(session: Session) {
    self.session = session
    data = session.data
    lock = session.lock
  }

  private typealias Control = LockLayout.Control

  /// Returns once `version` is on disk. Throws `poisoned` where a sync failed, and `busy` past the deadline.
  func confirm(_ version: UInt64, _ deadline: Deadline = .never) throws(StoreError) {
    while lock.loadAcquire(Control.confirmed) < version {
      try checkPoisoned(version)
      guard let outcome = session.checkpointWord.acquire(deadline) else {
        try session.checkUsable()
        throw .busy(holder: nil)
      }
      do throws(StoreError) {
        if lock.loadAcquire(Control.confirmed) < version { try lead(tookOver: outcome == .tookOver) }
      } catch {
        session.checkpointWord.release()
        throw error
      }
      session.checkpointWord.release()
    }
    // Visible follows under the writer word; a leader that died in between is stood in for.
    if lock.loadAcquire(Control.visible) >> 1 < version { try advance() }
  }

  private func checkPoisoned(_ version: UInt64) throws(StoreError) {
    if lock.loadAcquire(Control.poisoned) != 0 { throw .poisoned(path: session.path) }
  }

  /// One checkpoint of the newest version. The caller holds the checkpoint word.
  private func lead(tookOver: Bool) throws(StoreError) {
    // Asked under the checkpoint word: another thread's sync may have failed while this one waited for it, and a second
    // sync through the same descriptor would succeed without writing what the first one lost.
    if lock.loadAcquire(Control.poisoned) != 0 { throw .poisoned(path: session.path) }
    if lock.word(Control.syncing) != 0 {
      // Whoever synced died in it. If that sync failed, this process learns of it only through a descriptor that is
      // older; otherwise nothing proves what is on disk.
      let joined = lock.word(LockLayout.Peer.table + session.peer * LockLayout.Peer.size + LockLayout.Peer.joined)
      if joined > lock.word(Control.syncingSince) { throw poison() }
      lock.set(Control.syncing, 0)
    }
    if lock.word(Control.attempt) != 0 { try finishAttempt() }
    try beginAttempt()
    try finishAttempt()
  }

  private func beginAttempt() throws(StoreError) {
    try underWriter { lock, repairOwed throws(StoreError) in
      var version = lock.word(Control.tip)
      var (root, extents) = (lock.word(Control.tipRoot), lock.word(Control.tipExtents))
      var (fingerprint, time) = (lock.word(Control.fingerprint), lock.word(Control.tipTime))
      // A writer that died half-way through these words may have mixed two versions in them. The head slot is whole.
      if repairOwed {
        guard let head = RootSlot.newestHead(data.base, session: lock.word(LockLayout.Header.session)) else {
          throw .damaged(path: session.path, what: "neither head slot holds")
        }
        (version, root, extents, fingerprint, time) =
          (head.version, head.root, head.extents, head.fingerprint, head.time)
      }
      lock.set(Control.attemptRoot, root)
      lock.set(Control.attemptExtents, extents)
      lock.set(Control.attemptFingerprint, fingerprint)
      lock.set(Control.attemptTime, time)
      lock.set(Control.oldestUnsynced, 0)
      lock.storeRelease(Control.attempt, version)
    }
    FaultPoint.step("checkpoint.attempt")
  }

  private func finishAttempt() throws(StoreError) {
    let version = lock.word(Control.attempt)
    if version > lock.word(Control.synced) || data.isTmpfs {
      try sync()
      FaultPoint.step("checkpoint.synced")
      try storing(session.path) { () throws(SystemError) in try data.makeWritable() }
      target(version).write(to: data.base + place())
      FaultPoint.step("checkpoint.slot")
      try sync()
      FaultPoint.step("checkpoint.named")
    }
    try underWriter { lock, _ throws(StoreError) in
      if !data.isTmpfs { lock.set(Control.synced, version) }
      if lock.word(Control.confirmed) < version { lock.storeRelease(Control.confirmed, version) }
      lock.storeRelease(Control.attempt, 0)
      lock.set(LockLayout.Statistics.checkpoints, lock.word(LockLayout.Statistics.checkpoints) &+ 1)
    }
    FaultPoint.step("checkpoint.confirmed")
    try advance()
  }

  /// What the durable slot will say.
  private func target(_ version: UInt64) -> RootSlot {
    var slot = RootSlot()
    slot.version = version
    slot.root = lock.word(Control.attemptRoot)
    slot.extents = lock.word(Control.attemptExtents)
    slot.session = lock.word(LockLayout.Header.session)
    slot.epoch = lock.word(LockLayout.Header.epoch)
    slot.boot = (HostIdentity.boot.high, HostIdentity.boot.low)
    slot.fingerprint = lock.word(Control.attemptFingerprint)
    slot.flags = lock.word(Control.needsMark) | lock.word(Control.marking) != 0 ? DataLayout.SlotFlag.unswept : 0
    slot.generation = lock.word(Control.listGeneration)
    slot.time = lock.word(Control.attemptTime)
    return slot
  }

  /// The durable slot that does not hold the newest synced version.
  private func place() -> Int {
    let first = RootSlot(at: data.base + DataLayout.durableSlotOffset.0)
    return first?.version == lock.word(Control.synced)
      ? DataLayout.durableSlotOffset.1 : DataLayout.durableSlotOffset.0
  }

  /// A sync whose failure condemns the session: the kernel may have dropped the pages, and the page cache proves nothing.
  private func sync() throws(StoreError) {
    if data.isTmpfs { return }
    lock.set(Control.syncingSince, Clock.realtime)
    lock.storeRelease(Control.syncing, 1)
    do throws(SystemError) { try data.sync() } catch { throw poison() }
    lock.storeRelease(Control.syncing, 0)
  }

  private func poison() -> StoreError {
    if lock.word(Control.poisoned) == 0 { lock.storeRelease(Control.poisoned, lock.word(Control.confirmed) << 1 | 1) }
    session.wakeAfterRepair()
    return .poisoned(path: session.path)
  }

  /// Lets versions be seen that wait for the disk no longer.
  func advance() throws(StoreError) {
    var wake = false
    var version: UInt64 = 0
    try underWriter { lock, _ throws(StoreError) in
      let confirmed = lock.word(Control.confirmed)
      let target = lock.word(Control.pendingFull) <= confirmed ? lock.word(Control.tip) : confirmed
      if target > lock.word(Control.visible) >> 1 {
        version = target
        wake = session.publish(target)
      }
    }
    if version != 0 { session.afterPublish(version, wake: wake) }
  }

  /// The checkpoint word may take the writer word for a moment, never the other way round. `body` hears whether a dead
  /// writer's work is still to be repaired, which is the next writer's business.
  private func underWriter(
    _ body: (_ lock: LockMemory, _ repairOwed: Bool) throws(StoreError) -> Void
  ) throws(StoreError) {
    let tookOver = try session.acquireWriter(deadline: .never)
    defer { session.releaseWriter() }
    if tookOver { lock.set(Control.reclaiming, 1) }
    try body(lock, lock.word(Control.reclaiming) | lock.word(Control.jver) != 0)
  }
}

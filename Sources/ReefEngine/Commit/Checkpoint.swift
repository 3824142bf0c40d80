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
    try underWriter { lock throws(StoreError) in
      let tip = lock.word(Control.tip)
      lock.set(Control.attemptRoot, lock.word(Control.tipRoot))
      lock.set(Control.attemptExtents, lock.word(Control.tipExtents))
      lock.set(Control.oldestUnsynced, 0)
      lock.storeRelease(Control.attempt, tip)
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
    try underWriter { lock throws(StoreError) in
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
    slot.fingerprint = lock.word(Control.fingerprint)
    slot.flags = lock.word(Control.needsMark) | lock.word(Control.marking) != 0 ? DataLayout.SlotFlag.unswept : 0
    slot.generation = lock.word(Control.listGeneration)
    slot.time = lock.word(Control.tipTime)
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
    try underWriter { lock throws(StoreError) in
      let confirmed = lock.word(Control.confirmed)
      let target = lock.word(Control.pendingFull) <= confirmed ? lock.word(Control.tip) : confirmed
      if target > lock.word(Control.visible) >> 1 {
        version = target
        wake = session.publish(target)
      }
    }
    if version != 0 { session.afterPublish(version, wake: wake) }
  }

  /// The checkpoint word may take the writer word for a moment, never the other way round.
  private func underWriter(_ body: (LockMemory) throws(StoreError) -> Void) throws(StoreError) {
    let tookOver = try session.acquireWriter(deadline: .never)
    defer { session.releaseWriter() }
    // What a dead writer left is the next writer's to repair: nothing here depends on it.
    if tookOver { lock.set(Control.reclaiming, 1) }
    try body(lock)
  }
}

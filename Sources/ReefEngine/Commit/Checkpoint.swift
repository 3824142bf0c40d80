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
  private let ring: RedoRing
  private let shape: RedoShape

  init(session: Session, shape: RedoShape) {
    self.session = session
    self.shape = shape
    ring = RedoRing(lock: session.lock)
    data = session.data
    lock = session.lock
  }

  private typealias Control = LockLayout.Control
  private typealias Redo = LockLayout.Redo

  /// Returns once `version` is on disk. Throws `poisoned` where a sync failed, and `busy` past the deadline.
  package func confirm(_ version: UInt64, _ deadline: Deadline = .never) throws(StoreError) {
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

  /// A checkpoint beside the appends, unless one is under way already.
  package func run() throws(StoreError) {
    guard ring.isHalfFull, let outcome = session.checkpointWord.tryAcquire() else { return }
    defer { session.checkpointWord.release() }
    try lead(tookOver: outcome == .tookOver)
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
      // Whoever synced died in it, and may have been told of lost pages that nobody is told of again.
      lock.set(Control.doubtful, lock.word(Control.syncs))
      lock.storeRelease(Control.syncing, 0)
    }
    if lock.word(Control.attempt) != 0 { try finishAttempt() }
    if lock.word(Redo.oldLength) != 0 { try releaseOldRing() }
    if wantsRing { prepareRing() }
    try beginAttempt()
    try finishAttempt()
    if lock.word(Redo.oldLength) != 0 { try releaseOldRing() }
  }

  private func beginAttempt() throws(StoreError) {
    try session.underWriter { lock, repairOwed throws(StoreError) in
      let newest = try Newest(session, repairOwed: repairOwed)
      lock.set(Control.attemptRoot, newest.root)
      lock.set(Control.attemptFingerprint, newest.fingerprint)
      lock.set(Control.attemptTime, newest.time)
      // Now: an append under way counts as not begun, and its record lies behind what the slot will name.
      ring.note()
      // The ring may have been made since the version was.
      lock.set(Control.attemptExtents, max(newest.extents, ring.attemptEnd >> UInt64(DataLayout.extentShift)))
      lock.set(Control.oldestUnsynced, 0)
      lock.storeRelease(Control.attempt, newest.version)
    }
    FaultPoint.step("checkpoint.attempt")
  }

  private func finishAttempt() throws(StoreError) {
    let version = lock.word(Control.attempt)
    let isNewer = version > lock.word(Control.synced) || data.isTmpfs
    if isNewer {
      let doubts = Doubts(lock)
      if !session.wouldHear(of: doubts) { try storeAgain() }
      if !Mutant.lives(.checkpointContentUnsynced) { try sync() }
      FaultPoint.step("checkpoint.synced")
      doubts.end(lock)
      try storing(session.path) { () throws(SystemError) in try data.makeWritable() }
      target(version).write(to: data.base + place())
      FaultPoint.step("checkpoint.slot")
      if !Mutant.lives(.checkpointSlotUnsynced) { try sync() }
      FaultPoint.step("checkpoint.named")
    }
    try session.underWriter { lock, _ throws(StoreError) in
      // Nothing new: no slot was written, and the one on disk needs the ring from where it says.
      if isNewer { ring.finish(extents: lock.word(Control.attemptExtents)) } else { ring.stay() }
      if !data.isTmpfs { lock.set(Control.synced, version) }
      if lock.word(Control.confirmed) < version { lock.storeRelease(Control.confirmed, version) }
      lock.storeRelease(Control.attempt, 0)
      lock.set(LockLayout.Statistics.checkpoints, lock.word(LockLayout.Statistics.checkpoints) &+ 1)
    }
    FaultPoint.step("checkpoint.confirmed")
    try advance()
  }

  /// Everything that the attempt needs and the disk may lack: the nodes made since the newest synced slot, the records of
  /// what is free, and a ring that is to be moved to. What is older was on disk when that slot was written.
  private func storeAgain() throws(StoreError) {
    try storing(session.path) { () throws(SystemError) in try data.makeWritable() }
    let extents = lock.word(Control.attemptExtents)
    guard
      Checks.storeAgain(
        lock.word(Control.attemptRoot), extents: extents, after: lock.word(Control.synced), in: data)
    else { throw session.poison() }
    // Under the writer word, where no extent is punched.
    try session.underWriter { lock, _ throws(StoreError) in
      let space = Space(file: data, lock: lock.base) { _ in false }
      space.touchRecords()
    }
    if lock.word(Redo.newReady) != 0 {
      do throws(SystemError) {
        try data.writeZeros(offset: Int(lock.word(Redo.newStart)), length: Int(lock.word(Redo.newLength)))
      } catch { throw session.poison() }
    }
    FaultPoint.step("checkpoint.storedAgain")
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
    ring.name(in: &slot)
    if Mutant.lives(.checkpointLateRing) { (slot.ringPosition, slot.chain) = (ring.state.head, ring.state.chain) }
    return slot
  }

  /// The durable slot that does not hold the newest synced version.
  private func place() -> Int {
    let first = RootSlot(at: data.base + DataLayout.durableSlotOffset.0)
    return (first?.version == lock.word(Control.synced)) != Mutant.lives(.checkpointSameSlot)
      ? DataLayout.durableSlotOffset.1 : DataLayout.durableSlotOffset.0
  }

  /// A sync whose failure condemns the session: the kernel may have dropped the pages, and the page cache proves nothing.
  private func sync() throws(StoreError) {
    if data.isTmpfs { return }
    lock.set(Control.syncs, lock.word(Control.syncs) &+ 1)
    lock.storeRelease(Control.syncing, 1)
    FaultPoint.step("checkpoint.syncing")
    do throws(SystemError) { try data.sync() } catch {
      if !Mutant.lives(.checkpointIgnoresError) { throw session.poison() }
    }
    lock.storeRelease(Control.syncing, 0)
  }

  /// Lets versions be seen that wait for the disk no longer.
  func advance() throws(StoreError) {
    var told: (version: UInt64, wake: Bool) = (0, false)
    try session.underWriter { _, _ throws(StoreError) in told = session.publishConfirmed() }
    if told.version != 0 { session.afterPublish(told.version, wake: told.wake) }
  }
}

/// Making the redo ring, and a larger one where the first is too small for how fast commits come.
extension Checkpoint {
  private var wantsRing: Bool {
    if data.isTmpfs || lock.word(Redo.newReady) != 0 { return false }
    if lock.word(Redo.newLength) != 0 { return true }
    if ring.length == 0 {
      return lock.word(Control.pendingFull) != 0 && lock.word(LockLayout.Statistics.checkpoints) >= shape.after
    }
    return ring.length < UInt64(shape.larger) && ring.isHalfFull
  }

  /// Takes room for a ring and fills it with zeros; the attempt's first sync brings them, and whose the extents are, to the
  /// disk before any slot names it. Without room the old ring, or none, has to do.
  private func prepareRing() {
    do throws(StoreError) {
      try storing(session.path) { () throws(SystemError) in try data.makeWritable() }
      if lock.word(Redo.newLength) == 0 {
        var isReserved = false
        try session.underWriter { lock, repairOwed throws(StoreError) in
          if repairOwed { return }
          var space = Space(file: data, lock: lock.base) { _ in false }
          _ = try space.reserveRing(
            length: ring.length == 0 ? shape.first : shape.larger, alignment: shape.alignment)
          isReserved = true
        }
        guard isReserved else { return }
        FaultPoint.step("ring.reserved")
      }
      let (start, length) = (Int(lock.word(Redo.newStart)), Int(lock.word(Redo.newLength)))
      try storing(session.path, needed: length) { () throws(SystemError) in
        try data.writeZeros(offset: start, length: length)
      }
      FaultPoint.step("ring.zeroed")
      lock.storeRelease(Redo.newReady, 1)
    } catch {}
  }

  /// No slot on disk needs the ring that was left.
  private func releaseOldRing() throws(StoreError) {
    try session.underWriter { lock, repairOwed throws(StoreError) in
      if repairOwed { return }
      let space = Space(file: data, lock: lock.base) { _ in false }
      let first = Int(lock.word(Redo.oldStart)) >> DataLayout.extentShift
      space.releaseRing(first..<(first + Int(lock.word(Redo.oldLength)) >> DataLayout.extentShift))
      Space.barrier()
      lock.set(Redo.oldLength, 0)
    }
    FaultPoint.step("ring.left")
  }
}

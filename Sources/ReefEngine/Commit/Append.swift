import ReefSystem

/// Full durability: the newest version's new nodes are appended to the redo ring and are on disk when the one write
/// returns. One process at a time leads, under the append word; what it carries is everybody's (group commit). Where the
/// ring cannot take it, a checkpoint carries the commit.
///
/// The invariant: the ring, from the position that the newest synced slot names, reaches the newest acknowledged record
/// without a gap; a version is confirmed only once its record, or a checkpoint of it, is on disk.
package final class Append: @unchecked Sendable {
  private let session: Session
  private let data: MappedFile
  private let lock: LockMemory
  private let ring: RedoRing
  private let checkpoint: Checkpoint
  /// Called when the ring is half full: the time for a checkpoint beside the appends.
  var onHalfFull: () throws(StoreError) -> Void = {}
  /// False for a test that stands in the middle of a checkpoint itself: where one is needed, `confirm` throws `busy`.
  package var mayCheckpoint = true
  /// Room for a record; used under the append word.
  private var builder: RedoRecordBuilder?
  private var builderCapacity = 0

  init(session: Session, checkpoint: Checkpoint) {
    self.session = session
    self.checkpoint = checkpoint
    data = session.data
    lock = session.lock
    ring = RedoRing(lock: session.lock)
  }

  private typealias Control = LockLayout.Control
  private typealias Redo = LockLayout.Redo

  private enum Outcome { case done, needsCheckpoint }

  /// Returns once `version` is on disk and can be seen. Throws `poisoned` where a sync failed.
  package func confirm(_ version: UInt64) throws(StoreError) {
    while lock.loadAcquire(Control.confirmed) < version {
      if lock.loadAcquire(Control.poisoned) != 0 { throw .poisoned(path: session.path) }
      guard ring.isUsable else {
        try checkpoint(version)
        break
      }
      guard let taken = acquire(version) else {
        try session.checkUsable()
        continue
      }
      let outcome: Outcome
      do throws(StoreError) {
        outcome =
          lock.loadAcquire(Control.confirmed) < version ? try lead(tookOver: taken == .tookOver) : .done
      } catch {
        session.appendWord.release()
        throw error
      }
      session.appendWord.release()
      if outcome == .needsCheckpoint { try checkpoint(version) }
    }
    // Visible follows under the writer word; a leader that died in between is stood in for.
    if lock.loadAcquire(Control.visible) >> 1 < version { try checkpoint.advance() }
    if ring.length != 0, ring.isHalfFull, lock.word(Control.attempt) == 0 { try onHalfFull() }
  }

  private func checkpoint(_ version: UInt64) throws(StoreError) {
    guard mayCheckpoint else { throw .busy(holder: nil) }
    try checkpoint.confirm(version)
  }

  private func acquire(_ version: UInt64) -> OwnedWord.Outcome? {
    if let taken = session.appendWord.tryAcquire() { return taken }
    return session.appendWord.acquire(.never) {
      self.lock.loadAcquire(Control.confirmed) >= version || self.lock.loadAcquire(Control.poisoned) != 0
    }
  }

  /// What is to be appended, noted under the writer word.
  private struct Note {
    var slot = RootSlot()
    var base: UInt64 = 0
    var state = RedoRing.State()
    var start: UInt64 = 0
    var length: UInt64 = 0
    var tail: UInt64 = 0
    var noted: UInt64 = 0
  }

  /// One append of the newest version. The caller holds the append word.
  private func lead(tookOver: Bool) throws(StoreError) -> Outcome {
    if lock.loadAcquire(Control.poisoned) != 0 { throw .poisoned(path: session.path) }
    if lock.word(Redo.syncing) != 0 {
      // Whoever appended died in the write. The record is written again at the same place, which settles it; but that
      // write may have been told of other lost pages, which the next checkpoint has to find out.
      lock.set(Redo.doubtful, lock.word(Redo.syncs))
      lock.storeRelease(Redo.syncing, 0)
    }
    guard let note = try note() else { return .needsCheckpoint }
    if note.slot.version == 0 { return .done }
    FaultPoint.step("append.noted")
    let checksum: UInt64
    do throws(StoreError) {
      guard let sum = try copy(note) else {
        forget()
        return .needsCheckpoint
      }
      checksum = sum
    } catch {
      forget()
      throw error
    }
    lock.storeRelease(Control.appending, 0)
    FaultPoint.step("append.copied")
    let written = UInt64(builder?.paddedLength ?? 0)
    if !Mutant.lives(.appendUnwritten) { try write(note) }
    FaultPoint.step("append.written")
    let head = Mutant.lives(.appendHeadStays) ? note.state.head : note.state.head &+ written
    let chain = Mutant.lives(.appendStaleChain) ? note.state.chain : checksum
    try finish(note, RedoRing.State(head: head, chain: chain, appended: note.slot.version))
    return .done
  }

  /// Notes and holds the newest version. Nil: only a checkpoint can carry it; version 0: it is on disk already.
  private func note() throws(StoreError) -> Note? {
    var note = Note()
    var isPossible = false
    var told: (version: UInt64, wake: Bool) = (0, false)
    try session.underWriter { lock, repairOwed throws(StoreError) in
      let newest = try Newest(session, repairOwed: repairOwed)
      note.state = ring.state
      note.base = max(note.state.appended, lock.word(Control.synced))
      if note.base >= newest.version {
        // Its leader died between the disk and the word.
        if lock.word(Control.confirmed) < note.base { lock.storeRelease(Control.confirmed, note.base) }
        told = session.publishConfirmed()
        isPossible = true
        return
      }
      guard ring.isUsable, newest.extents <= lock.word(Redo.syncedExtents) else { return }
      isPossible = true
      (note.start, note.length, note.tail) = (ring.start, ring.length, ring.tail)
      note.slot.version = newest.version
      note.slot.root = newest.root
      note.slot.extents = newest.extents
      note.slot.fingerprint = newest.fingerprint
      note.slot.time = newest.time
      note.slot.session = lock.word(LockLayout.Header.session)
      note.slot.flags =
        lock.word(Control.needsMark) | lock.word(Control.marking) != 0 ? DataLayout.SlotFlag.unswept : 0
      note.slot.generation = lock.word(Control.listGeneration)
      note.noted = Clock.monotonic
      lock.set(Control.appending, newest.version)
      lock.set(Redo.target, newest.version)
    }
    if told.version != 0 { session.afterPublish(told.version, wake: told.wake) }
    return isPossible ? note : nil
  }

  private func forget() {
    lock.storeRelease(Control.appending, 0)
    lock.storeRelease(Redo.target, 0)
  }

  /// Copies the nodes; returns the record's checksum, or nil where the ring has no room for it.
  private func copy(_ note: Note) throws(StoreError) -> UInt64? {
    let capacity = Int(note.length / 4) & ~(DataLayout.redoBlock - 1)
    if builder == nil || builderCapacity != capacity {
      builder = RedoRecordBuilder(capacity: capacity)
      builderCapacity = capacity
    }
    let limit = note.slot.extents << UInt64(DataLayout.extentShift)
    let base = Mutant.lives(.appendLastVersionOnly) ? note.slot.version - 1 : note.base
    guard try builder?.collect(root: note.slot.root, after: base, in: data, limit: limit) == true,
      let padded = builder?.paddedLength,
      note.state.head &+ UInt64(padded) &- note.tail <= note.length || Mutant.lives(.appendWithoutRoom)
    else { return nil }
    return builder?.finish(note.slot, base: note.base, state: note.state)
  }

  /// One synchronous write, or two where the ring ends in between.
  private func write(_ note: Note) throws(StoreError) {
    guard let bytes = builder?.bytes, let count = builder?.paddedLength else { return }
    lock.set(Redo.syncs, lock.word(Redo.syncs) &+ 1)
    lock.storeRelease(Redo.syncing, 1)
    FaultPoint.step("append.writing")
    let offset = Int(note.state.head % note.length)
    let first = min(count, Int(note.length) - offset)
    do throws(SystemError) {
      try data.writeDurably(UnsafeRawBufferPointer(start: bytes, count: first), at: Int(note.start) + offset)
      if first < count {
        FaultPoint.step("append.wrapped")
        try data.writeDurably(
          UnsafeRawBufferPointer(start: bytes + first, count: count - first), at: Int(note.start))
      }
    } catch { throw session.poison() }
    lock.storeRelease(Redo.syncing, 0)
  }

  private func finish(_ note: Note, _ state: RedoRing.State) throws(StoreError) {
    var told: (version: UInt64, wake: Bool) = (0, false)
    try session.underWriter { lock, _ throws(StoreError) in
      // A checkpoint's sync failed meanwhile: nothing is acknowledged any more.
      if lock.loadAcquire(Control.poisoned) != 0 { throw .poisoned(path: session.path) }
      ring.state = state
      if lock.word(Control.confirmed) < state.appended { lock.storeRelease(Control.confirmed, state.appended) }
      lock.set(Redo.target, 0)
      lock.set(Redo.appends, lock.word(Redo.appends) &+ 1)
      // Relaxed commits before it are on disk as well; any after it were made since it was noted.
      if lock.word(Control.oldestUnsynced) != 0 {
        lock.set(Control.oldestUnsynced, lock.word(Control.tip) == state.appended ? 0 : max(1, note.noted))
      }
      told = session.publishConfirmed()
    }
    FaultPoint.step("append.confirmed")
    if told.version != 0 { session.afterPublish(told.version, wake: told.wake) }
  }
}

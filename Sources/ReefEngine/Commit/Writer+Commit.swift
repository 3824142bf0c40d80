import ReefSystem

extension Writer {
  /// Ends the transaction. Nil: nothing had changed, and there is no new version. Everything before the head slot's
  /// checksum can fail and be rolled back; nothing after it can.
  ///
  /// The order (`docs/protocols.md`): nodes · pendingFull · head slot, the commit point · ring · tip · journal cleared ·
  /// jver = 0 · visible · writer word released · wake.
  @inline(__always)
  func commit(isFull: Bool, at now: UInt64) throws(StoreError) -> UInt64? {
    typealias Control = LockLayout.Control
    if state.pointee.isBroken {
      throw .invalidArgument("An earlier error broke this transaction: it can only be rolled back.")
    }
    guard state.pointee.didChange else {
      // Also drops what a change that came to nothing may have allocated.
      finishUnchanged()
      return nil
    }
    try sync()
    let version = state.pointee.space.version
    let root = state.pointee.root
    let time = Clock.recently
    root.storeBytes(of: version, toByteOffset: DataLayout.Root.version, as: UInt64.self)
    root.storeBytes(of: time, toByteOffset: DataLayout.Root.time, as: UInt64.self)
    root.storeBytes(of: UInt32(session.peer), toByteOffset: DataLayout.Root.peer, as: UInt32.self)
    var entry = UInt64(state.pointee.space.ref(of: root))
    if isChecked { entry = try Checks.seal(entry, state.pointee.space) }
    let extents = lock.word(Control.extentCount)
    FaultPoint.step("commit.built")

    if isFull { lock.set(Control.pendingFull, version) }
    Space.barrier()
    FaultPoint.step("commit.pending")
    var slot = RootSlot()
    slot.version = version
    slot.root = entry
    slot.extents = extents
    slot.session = lock.word(LockLayout.Header.session)
    slot.epoch = lock.word(LockLayout.Header.epoch)
    slot.boot = state.pointee.boot
    slot.fingerprint = state.pointee.fingerprint
    slot.flags = lock.word(Control.needsMark) | lock.word(Control.marking) != 0 ? DataLayout.SlotFlag.unswept : 0
    slot.time = time
    slot.generation = lock.word(Control.listGeneration)
    let tip = version &- 1
    let first = data.base + DataLayout.headSlotOffset.0
    let holdsTip = first.load(fromByteOffset: DataLayout.Slot.version, as: UInt64.self) == tip
    if !Mutant.lives(.commitWithoutHead) {
      slot.write(to: holdsTip != Mutant.lives(.commitSameHead) ? data.base + DataLayout.headSlotOffset.1 : first)
    }
    FaultPoint.step("commit.head")

    let shown = Mutant.lives(.commitStaleRoot) ? lock.word(Control.tipRoot) : entry
    RingWriter.write(lock, version, root: shown, extents: extents, time: time)
    FaultPoint.step("commit.ring")
    lock.set(Control.tipRoot, entry)
    lock.set(Control.tipExtents, extents)
    lock.set(Control.tipTime, time)
    lock.set(Control.fingerprint, state.pointee.fingerprint)
    lock.storeRelease(Control.tip, version)
    FaultPoint.step("commit.tip")
    state.pointee.space.clearTouched()
    if !data.isTmpfs, lock.word(Control.oldestUnsynced) == 0 { lock.set(Control.oldestUnsynced, max(1, now)) }
    lock.set(LockLayout.Statistics.commits, lock.word(LockLayout.Statistics.commits) &+ 1)
    Space.barrier()
    FaultPoint.step("commit.touched")
    lock.storeRelease(Control.jver, 0)
    FaultPoint.step("commit.journal")
    // Versions become visible in order: behind a full one that is not on disk yet, this one waits with it.
    let visible = lock.word(Control.visible) &>> 1
    if lock.word(Control.pendingFull) <= visible || Mutant.lives(.commitVisibleEarly) {
      let wake = session.publish(version)
      FaultPoint.step("commit.published")
      session.releaseAndWake(version, wake: wake)
    } else {
      session.releaseWriter()
    }
    FaultPoint.step("commit.released")
    return version
  }

  func finishUnchanged() {
    if state.pointee.space.dirtyCount != 0
      || lock.word(LockLayout.Control.freshCount) != state.pointee.freshCount
    {
      state.pointee.space.undo(freshTail: state.pointee.freshTail, freshCount: state.pointee.freshCount)
    }
    lock.storeRelease(LockLayout.Control.jver, 0)
    session.releaseWriter()
  }

  /// Puts right what a dead writer left. Runs under the writer word, before anything is allocated; killed at any point,
  /// the next writer runs it again.
  @inline(never)
  func repair() throws(StoreError) {
    typealias Control = LockLayout.Control
    try Recovery.claim(data, lock)
    let session = lock.word(LockLayout.Header.session)
    guard let newest = RootSlot.newestHead(data.base, session: session) else {
      throw .damaged(path: self.session.path, what: "neither head slot holds")
    }
    let epoch = lock.word(LockLayout.Header.epoch)
    state.pointee.space.repair(version: newest.version, epoch: epoch)
    FaultPoint.step("repair.space")
    lock.set(Control.pendingFull, min(lock.word(Control.pendingFull), newest.version))
    lock.set(Control.tipRoot, newest.root)
    lock.set(Control.tipExtents, newest.extents)
    lock.set(Control.tipTime, newest.time)
    lock.set(Control.fingerprint, newest.fingerprint)
    RingWriter.write(
      lock, newest.version, root: newest.root, extents: newest.extents, time: newest.time)
    lock.storeRelease(Control.tip, newest.version)
    if !data.isTmpfs, newest.version > lock.word(Control.confirmed), lock.word(Control.oldestUnsynced) == 0 {
      lock.set(Control.oldestUnsynced, Clock.monotonic)
    }
    lock.set(LockLayout.Statistics.takeovers, lock.word(LockLayout.Statistics.takeovers) &+ 1)
    FaultPoint.step("repair.tip")
    if newest.version > lock.word(Control.visible) >> 1,
      lock.word(Control.pendingFull) <= lock.word(Control.visible) >> 1
    {
      _ = self.session.publish(newest.version)
    }
    FaultPoint.step("repair.published")
    lock.storeRelease(Control.jver, 0)
    self.session.wakeAfterRepair()
  }
}

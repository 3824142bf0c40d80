import ReefSystem

// The session's daily business, in the words of its parts.

extension Session {
  // Writing

  /// Becomes the writer, waiting up to `deadline`; else throws `busy`, naming who is. True: the last writer died, and the
  /// caller must repair what it left before anything else.
  @inlinable @inline(__always)
  package func acquireWriter(deadline: Deadline) throws(StoreError) -> Bool {
    try checkUsable()
    let tookOver = try writer.acquire(deadline)
    // Closed meanwhile: the closing thread looked for owners, this one looks for closers, and one of them sees the other.
    if usable.pointee.load(ordering: .sequentiallyConsistent) != 1 { throw abandoned(tookOver) }
    return tookOver
  }

  @usableFromInline
  func abandoned(_ tookOver: Bool) -> StoreError {
    writer.undo(tookOver)
    return unusable()
  }

  @inlinable @inline(__always)
  package func releaseWriter() {
    if isUsable { writer.release() }
  }

  /// Makes `version` visible; under the writer word, its ring entry written. True: a wake-up is owed.
  @inlinable @inline(__always)
  package func publish(_ version: UInt64) -> Bool { notice.publish(version) }

  /// Gives the writer word back, then tells whoever waits. No system call where nobody does.
  @inlinable @inline(__always)
  package func releaseAndWake(_ version: UInt64, wake: Bool) {
    guard isUsable else { return }
    writer.release()
    if wake { wakeAll(version) }
    if note.anyoneListens { hint() }
  }

  @usableFromInline
  func wakeAll(_ version: UInt64) {
    FaultPoint.step("publish.wake")
    notice.wakeAll(version)
    lock.fetchAdd(LockLayout.Statistics.wakes, 1)
  }

  @usableFromInline
  func hint() {
    note.hint()
    let hints = lock.fetchAdd(LockLayout.Statistics.hints, 1)
    if hints & 1023 == 1023 { note.forgetDead() }
  }

  /// After taking over from a dead writer: it may have published without telling anyone.
  package func wakeAfterRepair() {
    notice.wakeAll(notice.newest)
    note.forgetDead()
    note.hint()
  }

  // Reading

  /// A reader slot with nothing pinned in it.
  @inlinable @inline(__always)
  package func claimSlot() throws(StoreError) -> Int {
    try checkUsable()
    return try slots.claim()
  }

  /// Keeps an unpinned slot for the next snapshot of this process.
  @inlinable @inline(__always)
  package func returnSlot(_ slot: Int) {
    if isUsable { slots.giveBack(slot) }
  }

  @inlinable @inline(__always)
  package func pinNewest(_ slot: Int) -> (version: UInt64, root: UInt64, extents: UInt64) { slots.pinNewest(slot) }

  /// Pins the newest version and every later one, until `follow` moves on or `unpin`.
  package func pinFollowing(_ slot: Int) -> (version: UInt64, root: UInt64, extents: UInt64) {
    slots.pinNewest(slot, following: true)
  }

  @inlinable @inline(__always)
  package func unpin(_ slot: Int) {
    if isUsable { slots.unpin(slot) }
  }

  // Being told

  /// The newest visible version.
  @inlinable @inline(__always)
  package var newestVersion: UInt64 { notice.newest }

  /// Sleeps until a version newer than `after` is visible, and returns the newest. `spin`: how long to stay awake first;
  /// nil: as long as has been worth it of late, which is not at all while commits come seldom.
  package func wait(
    after: UInt64, deadline: Deadline, spin: Duration? = nil
  ) throws(StoreError) -> UInt64 {
    try checkUsable()
    let version = notice.wait(after: after, until: deadline, spin: spin) {
      usable.pointee.load(ordering: .relaxed) != 1
    }
    if let version { return version }
    try checkUsable()
    throw .timeout
  }

  /// A descriptor for an event loop: readable after commits, and twice a second. It belongs to the session.
  package var noticeDescriptor: Int32 {
    get throws(StoreError) {
      try checkUsable()
      return try note.noticeDescriptor()
    }
  }

  /// Something to wait in for new versions, again and again; it ends with the session.
  package func ticks() throws(StoreError) -> NoticeTicks {
    try checkUsable()
    return try listener.ticks()
  }

  // Others

  /// Everyone that has the store open, and what they hold.
  package func peers() throws(StoreError) -> [PeerInfo] {
    try checkUsable()
    return PeerListing(slots: slots).all()
  }

  /// Frees the slots of dead peers; under the writer word or not. Returns how many.
  @discardableResult
  package func freeDeadSlots() -> Int { slots.freeDead() }
}

extension Session {
  /// What follows a publication whose writer word was given back already.
  package func afterPublish(_ version: UInt64, wake: Bool) {
    guard isUsable else { return }
    if wake { wakeAll(version) }
    if note.anyoneListens { hint() }
  }
}

import ReefSystem
import Synchronization

/// One store as this process has it open, without types: what the typed API, the command and other languages build on.
package final class Engine: @unchecked Sendable {
  @usableFromInline package let session: Session
  package let configuration: EngineConfiguration
  package let checkpoint: Checkpoint
  package let append: Append
  let writer: Writer
  let indexScratch: UnsafeMutablePointer<IndexScratch>
  private let stored: Mutex<StoredSchema>
  private let isClosed = Atomic<Bool>(false)
  let maintenance: Maintenance
  private let isTmpfs: Bool
  private let isReadOnly: Bool
  /// Whether versions that this process hands out may be taken away again: it reads copies then.
  package let admitsRevocation: Bool
  /// By slot; nil where nothing is pinned that may be taken away.
  private let revocable: UnsafeMutablePointer<RevocablePages?>
  private let isChecked: Bool

  private init(_ session: Session, _ configuration: EngineConfiguration) throws(StoreError) {
    self.session = session
    self.configuration = configuration
    isTmpfs = session.data.isTmpfs
    isReadOnly = session.options.readOnly
    checkpoint = Checkpoint(session: session, shape: configuration.redo)
    append = Append(session: session, checkpoint: checkpoint)
    writer = try Writer(session: session, retention: configuration.retention)
    isChecked = writer.isChecked
    admitsRevocation = configuration.retention?.policy == .revoke
    let count = admitsRevocation ? LockLayout.maximumSlots : 1
    revocable = .allocate(capacity: count)
    revocable.initialize(repeating: nil, count: count)
    indexScratch = .allocate(capacity: 1)
    indexScratch.initialize(to: IndexScratch())
    stored = Mutex(.empty)
    maintenance = Maintenance(session: session, checkpoint: checkpoint)
    let (maintenance, checkpoint) = (maintenance, checkpoint)
    append.onHalfFull =
      configuration.redo.inBackground
      ? { maintenance.checkpointSoon() } : { () throws(StoreError) in try checkpoint.run() }
  }

  deinit {
    close()
    indexScratch.deinitialize(count: 1)
    indexScratch.deallocate()
    let count = admitsRevocation ? LockLayout.maximumSlots : 1
    revocable.deinitialize(count: count)
    revocable.deallocate()
  }

  /// Opens a store, makes it where it is not there, and adds the types that it does not have yet.
  ///
  /// Opened twice in a process, one session serves both. Errors: everything `StoreError` lists under opening.
  package static func open(_ configuration: EngineConfiguration, _ schema: Schema = Schema([])) throws(StoreError)
    -> Engine
  {
    if let problem = StoredSchema.problem(schema) { throw .invalidArgument(problem) }
    let session = try Session.open(configuration.session) { building throws(StoreError) in
      try Recovery.build(building, configuration)
    }
    let engine: Engine
    do throws(StoreError) {
      try Session.apply(configuration.numa, to: session.data)
      engine = try Engine(session, configuration)
    } catch {
      session.leave()
      throw error
    }
    engine.proveWhenWorthWhile()
    // From here on the engine leaves the session when it goes.
    // A full commit whose process died before anybody could see it: any process leads.
    let tip = session.lock.loadAcquire(LockLayout.Control.tip)
    if !session.options.readOnly, tip > session.newestVersion { try engine.append.confirm(tip) }
    if configuration.verifiesAll { try engine.verifyAll() }
    try engine.declare(schema)
    engine.maintenance.start()
    return engine
  }

  /// Leaves the store: the last of all makes everything durable. Snapshots taken from it must be gone.
  package func close() {
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
    maintenance.stop()
    session.leave { building in Closing.close(building) }
  }

  // MARK: Reading

  /// Pins the newest visible version.
  @inlinable
  package func pin() throws(StoreError) -> Pin {
    let slot = try session.claimSlot()
    return Pin(session: session, slot: slot, view: try pinNewest(slot))
  }

  /// Pins the newest visible version in a slot of the caller's, which may hold an older one: then it moves on. Where it
  /// throws, the slot is given back.
  @inlinable @inline(__always)
  package func pinNewest(_ slot: Int) throws(StoreError) -> ReadView {
    let pinned = session.pinNewest(slot)
    if session.lock.word(LockLayout.Control.poisoned) != 0 { try checkPoisoned(pinned.version, slot) }
    return view(pinned.root, pinned.extents, pinned.version)
  }

  // Whole steps, for those that keep slots by themselves: across the module's border each call counts references to the
  // objects it goes by.

  /// A reader slot with nothing pinned in it.
  package func claimSlot() throws(StoreError) -> Int { try session.claimSlot() }

  /// Pins the newest visible version in a claimed slot. Written where it is kept: handed back, it would be copied.
  package func pinNewest(_ slot: Int, _ view: inout ReadView) throws(StoreError) {
    if admitsRevocation { session.slots.admitRevocation(slot) }
    view = try pinNewest(slot)
    if admitsRevocation { view = copies(view, slot) }
  }

  /// The view of a version that may be taken away.
  @inline(never)
  private func copies(_ view: ReadView, _ slot: Int) -> ReadView {
    let extents = session.lock.word(session.slots.address(slot) + LockLayout.ReaderSlot.extents)
    let pages = RevocablePages(session, slot: slot, version: view.version, extents: extents, isChecked: isChecked)
    revocable[slot] = pages
    return pages.view(view.root)
  }

  /// Lets the version go that a slot holds, and gives the slot back.
  package func closeSlot(_ slot: Int) {
    session.unpin(slot)
    if admitsRevocation {
      revocable[slot] = nil
      if session.isUsable { session.slots.clearRevocation(slot) }
    }
    session.returnSlot(slot)
  }

  /// Lets a slot that holds an older version hold the newest. False where that needs a closer look: after a failed sync,
  /// and once the session is of no use.
  package func moveOn(_ slot: Int, _ view: inout ReadView) -> Bool {
    if session.usable.pointee.load(ordering: .relaxed) != 1 { return false }
    if session.lock.word(LockLayout.Control.poisoned) != 0 { return false }
    if admitsRevocation { session.slots.admitRevocation(slot) }
    let pinned = session.pinNewest(slot)
    view = self.view(pinned.root, pinned.extents, pinned.version)
    if admitsRevocation { view = copies(view, slot) }
    return true
  }

  /// A failed sync leaves versions that were seen but are not on disk: they are not shown any more.
  @inline(never) @usableFromInline
  package func checkPoisoned(_ version: UInt64, _ slot: Int) throws(StoreError) {
    if version <= session.lock.word(LockLayout.Control.poisoned) >> 1 { return }
    session.unpin(slot)
    if admitsRevocation { session.slots.clearRevocation(slot) }
    session.returnSlot(slot)
    throw .poisoned(path: session.path)
  }

  /// Pins the newest version and, until moved on by `follow`, every later one: for whoever wants to see each commit.
  package func pinFollowing() throws(StoreError) -> Pin {
    let slot = try session.claimSlot()
    let pinned = session.pinFollowing(slot)
    return Pin(session: session, slot: slot, view: view(pinned.root, pinned.extents, pinned.version))
  }

  /// The version as a following pin holds it; nil where it fell so far behind that the ring has forgotten it.
  package func followed(_ version: UInt64) -> ReadView? {
    let lock = session.lock
    let entry = LockLayout.RingEntry.table + Int(version % UInt64(LockLayout.ringSize)) * LockLayout.RingEntry.size
    guard lock.loadAcquire(entry + LockLayout.RingEntry.version) == version else { return nil }
    let root = lock.word(entry + LockLayout.RingEntry.root)
    let extents = lock.word(entry + LockLayout.RingEntry.extents)
    LockMemory.fence()
    guard lock.loadAcquire(entry + LockLayout.RingEntry.version) == version,
      newestVersion &- version < UInt64(LockLayout.ringSize) - 1
    else { return nil }
    // Older than what was proven: nobody may have looked at what it alone sees.
    return view(root, version < lock.word(LockLayout.Control.proven) ? 0 : extents, version)
  }

  @inlinable @inline(__always)
  func view(_ root: UInt64, _ extents: UInt64, _ version: UInt64) -> ReadView {
    ReadView(
      base: UnsafeRawPointer(session.data.base),
      limit: extents &<< UInt64(DataLayout.extentShift) & session.trust.pointee.load(ordering: .relaxed), root: root,
      version: version)
  }

  @inlinable package var newestVersion: UInt64 { session.newestVersion }

  // MARK: Writing

  /// Starts the one transaction that may run at a time in all processes. Throws `busy`, naming who writes, past the deadline.
  package func write(_ deadline: Deadline = .never) throws(StoreError) -> WriteTransaction {
    try begin(deadline)
    return opened()
  }

  /// Becomes the writer. To be followed by `opened`, or by `reopen` of an ended transaction of this engine.
  package func begin(_ deadline: Deadline) throws(StoreError) {
    if isReadOnly { throw .readOnly(path: session.path) }
    try writer.begin(deadline)
  }

  /// The transaction that `begin` began.
  package func opened() -> WriteTransaction { WriteTransaction(engine: self, writer: writer) }

  /// Makes what the transaction under way did the next version: the second half of `WriteTransaction.commit`. The
  /// transaction object is not touched any more: it may serve for another one by the time this returns.
  package func commit(_ durability: Durability) throws(StoreError) -> UInt64 {
    let isTmpfs = isTmpfs
    let isFull = durability == .full && !isTmpfs
    let now = isTmpfs ? 0 : Clock.monotonic
    let base = writer.state.pointee.space.version &- 1
    let version: UInt64?
    do throws(StoreError) {
      version = try writer.commit(isFull: isFull, at: now)
    } catch {
      writer.rollback()
      awaitSeen(base)
      throw error
    }
    afterCommit(durability)
    if isFull {
      if let version { try append.confirm(version) }
    }
    // A weaker commit waits for the full ones that it builds on; so does one that only read them.
    let needed = version ?? base
    if writer.lock.loadAcquire(LockLayout.Control.visible) >> 1 < needed { try append.confirm(needed) }
    return needed
  }

  /// Returns once others can see a version that a transaction was based on. After a failed sync nobody ever will.
  @inline(__always)
  func awaitSeen(_ version: UInt64) {
    if Mutant.lives(.rollbackUnawaited) { return }
    if session.lock.loadAcquire(LockLayout.Control.visible) >> 1 < version { try? append.confirm(version) }
  }

  @inline(__always)
  func afterCommit(_ durability: Durability) {
    // Raised where the lock file could not grow: what leaked is looked for beside normal work.
    if session.lock.word(LockLayout.Control.needsMark) != 0 { maintenance.owe() }
    if isTmpfs { return }
    if case .relaxed(let bound) = durability { maintenance.bound(bound) }
  }

  /// Proving the whole version goes on beside reading it, once enough of it was read.
  private func proveWhenWorthWhile() {
    guard let verification = session.verification else { return }
    verification.whenWorthWhile { [weak maintenance] in maintenance?.owe() }
  }

  /// How many long values were found damaged so far, by whatever thread; 0 in a store that is proven.
  @inline(__always)
  package var unreadValues: UInt64 {
    if session.trust.pointee.load(ordering: .relaxed) != 0 { return 0 }
    return session.verification?.unreadValues.load(ordering: .relaxed) ?? 0
  }
  package var metDamage: StoreError? { session.verification?.damage }

  // MARK: Schema

  /// The types as the newest version has them.
  package func storedSchema() throws(StoreError) -> StoredSchema {
    let fingerprint = session.lock.word(LockLayout.Control.fingerprint)
    let known = stored.withLock { $0 }
    if known.fingerprint == fingerprint { return known }
    let pin = try pin()
    let schema = try StoredSchema(reading: pin.view, fingerprint: fingerprint, path: session.path)
    stored.withLock { $0 = schema }
    return schema
  }

  /// Position of a type's table, or nil.
  package func tableIndex(of name: String) throws(StoreError) -> Int? { try storedSchema().index(of: name) }

  /// Adds the types that the store does not have; a type that differs from the stored one is a `schemaMismatch`.
  private func declare(_ schema: Schema) throws(StoreError) {
    let missing = try SchemaCheck.missing(schema, in: storedSchema())
    if missing.isEmpty { return }
    if session.options.readOnly {
      throw .schemaMismatch(reason: "\(missing[0].name) is not in the store, which is opened for reading only.")
    }
    let transaction = try write(.after(session.options.openTimeout))
    let still = try SchemaCheck.missing(schema, in: transaction.schema)
    if !still.isEmpty { try writer.add(still) }
    try transaction.commit()
  }
}

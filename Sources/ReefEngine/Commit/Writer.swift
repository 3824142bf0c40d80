import ReefSystem

/// The one thing in a process that writes: what its transactions need, reused from one to the next. Everything here is
/// used under the writer word only.
package final class Writer: @unchecked Sendable {
  struct State: ~Copyable {
    var space: Space
    var reclaimer = Reclaimer()
    /// The transaction's root node; owned once anything changed.
    var root: UnsafeMutableRawPointer
    var isRootOwned = false
    /// Number of the transaction in this process: table writers notice by it that they are stale.
    var serial: UInt64 = 0
    // The waiting queue as the transaction found it.
    var freshTail: UInt64 = 0
    var freshCount: UInt64 = 0
    /// Tables changed by the transaction, by index: the first `changedCount` of them.
    var changed = UnsafeMutablePointer<Int>.allocate(capacity: 16)
    var changedCapacity = 16
    var changedCount = 0
    /// The states of all table writers, by index. Small changes go by them: a class reference that is taken out of an array
    /// costs two locked instructions each time.
    var tables = UnsafeMutablePointer<UnsafeMutablePointer<TableWriter.State>>.allocate(capacity: 1)
    var tableCount = 0
    /// Fingerprint of the schema that `tables` belong to.
    var fingerprint: UInt64 = 0
    /// Whether this process may store into the mapping.
    var isWritable = false
    /// Waiting entries that make the next pass worth its while.
    var nextPass = Writer.reclaimThreshold
    /// Something failed half-way: the transaction can only be rolled back.
    var isBroken = false
    /// Whether there is anything to commit: a root made one's own for a change that came to nothing is not.
    var didChange = false
    /// Whether anything but deletes was asked for.
    var didAdd = false
    var boot: (UInt64, UInt64) = (0, 0)
    /// The newest version when limits on what readers keep were last looked at, and the time.
    var lookedAt: UInt64 = 0
    var lookedAtTime: UInt64 = 0
    var isLimited = false

    init(space: consuming Space, root: UnsafeMutableRawPointer) {
      self.space = space
      self.root = root
    }

    deinit {
      changed.deallocate()
      tables.deallocate()
    }
  }

  let session: Session
  let data: MappedFile
  let lock: LockMemory
  let state: UnsafeMutablePointer<State>
  /// One per stored type.
  @exclusivity(unchecked) package private(set) var tables: [TableWriter] = []
  /// The stored schema that `tables` belong to.
  @exclusivity(unchecked) package private(set) var schema: StoredSchema
  let isChecked: Bool
  let retention: Retention?
  /// New waiting blocks that make a pass worth its while; more where more reader slots are in use than that.
  static var reclaimThreshold: UInt64 { 64 }

  init(session: Session, retention: Retention? = nil) throws(StoreError) {
    self.session = session
    self.retention = retention
    data = session.data
    lock = session.lock
    let header = try StoreHeader(
      reading: session.data.base, size: DataLayout.extentSize, path: session.path)
    isChecked = header.isChecked
    let lockFile = session.lockFile
    state = .allocate(capacity: 1)
    state.initialize(
      to: State(
        space: Space(file: session.data, lock: session.lock.base, trust: session.trust) { size in
          (try? lockFile.grow(to: size)) != nil
        },
        root: session.data.base))
    state.pointee.isLimited = retention?.isLimited ?? false
    state.pointee.boot = (HostIdentity.boot.high, HostIdentity.boot.low)
    schema = StoredSchema.empty
  }

  deinit {
    state.deinitialize(count: 1)
    state.deallocate()
  }

  // MARK: Beginning and ending

  /// Becomes the writer and starts a transaction on the newest version.
  @inline(__always)
  func begin(_ deadline: Deadline) throws(StoreError) {
    let tookOver = try session.acquireWriter(deadline: deadline)
    typealias Control = LockLayout.Control
    do throws(StoreError) {
      let isUnusual =
        lock.word(Control.poisoned) | lock.word(Control.jver) | lock.word(Control.reclaiming) != 0
      if tookOver || isUnusual || !state.pointee.isWritable { try prepare(tookOver) }
      let fresh = lock.word(Control.freshCount)
      if fresh >= state.pointee.nextPass {
        reclaim()
      } else if state.pointee.nextPass &- fresh > UInt64(LockLayout.maximumSlots) * 2 {
        // Another process made the queue shorter.
        state.pointee.nextPass = fresh &+ Writer.reclaimThreshold
      }
      if state.pointee.isLimited, let retention { try enforce(retention) }
      try start()
    } catch {
      session.releaseWriter()
      throw error
    }
    FaultPoint.step("commit.begun")
  }

  /// What comes before a transaction only now and then.
  @inline(never)
  private func prepare(_ tookOver: Bool) throws(StoreError) {
    // Noted where it outlives an error before the repair.
    if tookOver { lock.set(LockLayout.Control.reclaiming, 1) }
    if lock.word(LockLayout.Control.poisoned) != 0 { throw .poisoned(path: session.path) }
    try storing(session.path) { () throws(SystemError) in try data.makeWritable() }
    state.pointee.isWritable = true
    if Mutant.lives(.takeoverWithoutRepair) {
      lock.set(LockLayout.Control.reclaiming, 0)
      lock.set(LockLayout.Control.jver, 0)
    }
    if lock.word(LockLayout.Control.jver) | lock.word(LockLayout.Control.reclaiming) != 0 { try repair() }
  }

  @inline(__always)
  private func start() throws(StoreError) {
    typealias Control = LockLayout.Control
    let tip = lock.word(Control.tip)
    let epoch = lock.word(LockLayout.Header.epoch)
    state.pointee.space.version = tip &+ 1
    state.pointee.space.stamp = epoch &<< DataLayout.epochShift | (tip &+ 1)
    state.pointee.space.dirtyCount = 0
    state.pointee.space.mayUseReserve = false
    state.pointee.serial &+= 1
    state.pointee.freshTail = lock.word(Control.freshTail)
    state.pointee.freshCount = lock.word(Control.freshCount)
    state.pointee.changedCount = 0
    state.pointee.isBroken = false
    state.pointee.didChange = false
    state.pointee.didAdd = false
    state.pointee.isRootOwned = false
    state.pointee.root = try state.pointee.space.enter(lock.word(Control.tipRoot), kind: NodeKind.root)
    if lock.word(Control.fingerprint) != state.pointee.fingerprint { try reloadSchema() }
    // From here on a death is noticed by the next writer even where the writer word was free.
    lock.storeRelease(Control.jver, tip &+ 1)
  }

  /// Gives up the transaction: as if it had never begun.
  func rollback() {
    state.pointee.space.undo(freshTail: state.pointee.freshTail, freshCount: state.pointee.freshCount)
    FaultPoint.step("rollback.undone")
    lock.set(LockLayout.Statistics.aborts, lock.word(LockLayout.Statistics.aborts) &+ 1)
    lock.storeRelease(LockLayout.Control.jver, 0)
    session.releaseWriter()
  }

  /// Gives back what nobody sees any more. Dead readers' slots first: what they held goes at once.
  @inline(never)
  func reclaim() {
    // Whether a reader lives is asked of the kernel: only of one that stays, and not at each pass.
    if state.pointee.reclaimer.held > 0, state.pointee.reclaimer.isWorthAsking() { session.freeDeadSlots() }
    let freed = state.pointee.space.reclaim(&state.pointee.reclaimer)
    if freed == 0, state.pointee.reclaimer.held > 0, session.freeDeadSlots() > 0 {
      state.pointee.space.reclaim(&state.pointee.reclaimer)
    }
    if state.pointee.reclaimer.isWorthABarrier(waiting: lock.word(LockLayout.Control.waitingCount)),
      session.slots.takeLingering()
    {
      state.pointee.space.reclaim(&state.pointee.reclaimer)
    }
    // Whoever lost a version may be loading from it this very moment, and throw it away: but a hole could be a signal.
    if freed > 0, state.pointee.space.wantsPunch, !session.slots.anyoneIsRevoked { state.pointee.space.punchSome() }
    // Reading all slots is worth it only for as many new entries: what a following reader holds may stay in the queue.
    state.pointee.nextPass =
      lock.word(LockLayout.Control.freshCount)
      &+ max(Writer.reclaimThreshold, lock.word(LockLayout.Control.slotsInUse))
  }

  /// The transaction adds or changes something: the reserve is not for it.
  @inline(__always)
  func adds() {
    state.pointee.didAdd = true
    state.pointee.space.mayUseReserve = false
  }

  // MARK: Root and tables

  /// The table's writer, loaded for this transaction.
  @inline(__always)
  func table(_ index: Int) throws(StoreError) -> TableWriter {
    guard index >= 0, index < tables.count else {
      throw .invalidArgument("The store has no table \(index).")
    }
    let table = tables[index]
    if table.state.pointee.transaction != state.pointee.serial {
      try table.load(&state.pointee.space, entry: tableEntry(index), transaction: state.pointee.serial)
    }
    return table
  }

  @inline(__always)
  private func tableEntry(_ index: Int) -> UInt64 {
    state.pointee.root.load(fromByteOffset: DataLayout.Root.tables &+ index &* DataLayout.entrySize, as: UInt64.self)
  }

  /// The table's writer with its node, and the root, made the transaction's own: call before the first change.
  @inline(__always)
  func changing(_ index: Int) throws(StoreError) -> TableWriter {
    let table = try table(index)
    if table.state.pointee.isOwned { return table }
    try own(table)
    return table
  }

  private func own(_ table: TableWriter) throws(StoreError) {
    try ownRoot()
    let node = try state.pointee.space.own(table.state.pointee.node)
    table.state.pointee.node = node
    table.state.pointee.isOwned = true
    setTable(table.index, UInt64(state.pointee.space.ref(of: node)))
    state.pointee.note(changed: table.index)
  }

  func setTable(_ index: Int, _ entry: UInt64) {
    state.pointee.root.storeBytes(
      of: entry, toByteOffset: DataLayout.Root.tables &+ index &* DataLayout.entrySize, as: UInt64.self)
  }

  @inline(__always)
  func ownRoot() throws(StoreError) {
    if state.pointee.isRootOwned { return }
    state.pointee.root = try state.pointee.space.own(state.pointee.root)
    state.pointee.isRootOwned = true
  }

  /// Packs what lies open, so that the tree can be read.
  @inline(__always)
  func sync() throws(StoreError) {
    for at in 0..<state.pointee.changedCount {
      let index = state.pointee.changed[at]
      let table = state.pointee.tables[index]
      if table.pointee.isOpen { try tables[index].flush(&state.pointee.space) }
      table.pointee.writeCounters()
    }
  }

  /// The transaction's own state, readable like any version. Valid until the next change.
  func readView() throws(StoreError) -> ReadView {
    try sync()
    return ReadView(
      base: UnsafeRawPointer(data.base), limit: state.pointee.space.limit,
      root: UInt64(state.pointee.space.ref(of: state.pointee.root)), version: state.pointee.space.version)
  }

  // MARK: Schema

  /// Reads the stored schema of the transaction's version and makes table writers to it.
  func reloadSchema() throws(StoreError) {
    let view = ReadView(
      base: UnsafeRawPointer(data.base), limit: state.pointee.space.limit,
      root: UInt64(state.pointee.space.ref(of: state.pointee.root)), version: state.pointee.space.version)
    adopt(try StoredSchema(reading: view, fingerprint: lock.word(LockLayout.Control.fingerprint), path: session.path))
  }

  func adopt(_ stored: StoredSchema) {
    if stored.schema.types != schema.schema.types {
      var writers: [TableWriter] = []
      for (index, type) in stored.schema.types.enumerated() {
        if index < tables.count, tables[index].schema == type {
          writers.append(tables[index])
        } else {
          writers.append(TableWriter(index: index, schema: type))
        }
      }
      tables = writers
      state.pointee.adopt(writers)
    }
    schema = stored
    state.pointee.fingerprint = stored.fingerprint
  }
}

extension Writer.State {
  /// Remembers that a table was changed, to be synced before the commit.
  @inline(__always)
  mutating func note(changed index: Int) {
    if changedCount == changedCapacity {
      let bigger = UnsafeMutablePointer<Int>.allocate(capacity: changedCapacity * 2)
      bigger.update(from: changed, count: changedCapacity)
      changed.deallocate()
      changed = bigger
      changedCapacity *= 2
    }
    changed[changedCount] = index
    changedCount &+= 1
  }

  /// Takes over the states of these table writers, which outlive this.
  mutating func adopt(_ writers: [TableWriter]) {
    tables.deallocate()
    tables = .allocate(capacity: max(1, writers.count))
    for (index, writer) in writers.enumerated() { (tables + index).initialize(to: writer.state) }
    tableCount = writers.count
  }
}

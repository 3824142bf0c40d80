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
    /// Tables changed by the transaction, by index; the first `changedCount` of `changed`.
    var changedCount = 0
    /// Something failed half-way: the transaction can only be rolled back.
    var isBroken = false
    /// Whether there is anything to commit: a root made one's own for a change that came to nothing is not.
    var didChange = false
    /// Whether anything but deletes was asked for.
    var didAdd = false
    var boot: (UInt64, UInt64) = (0, 0)
  }

  let session: Session
  let data: MappedFile
  let lock: LockMemory
  let state: UnsafeMutablePointer<State>
  /// Indexes of changed tables.
  private(set) var changed: UnsafeMutablePointer<Int>
  private var changedCapacity: Int
  /// One per stored type.
  package private(set) var tables: [TableWriter] = []
  /// The stored schema that `tables` belong to.
  package private(set) var schema: StoredSchema
  let isChecked: Bool
  /// Waiting blocks that make a pass worth its while.
  static let reclaimThreshold: UInt64 = 96

  init(session: Session) throws(StoreError) {
    self.session = session
    data = session.data
    lock = session.lock
    let header = try StoreHeader(
      reading: session.data.base, size: DataLayout.extentSize, path: session.path)
    isChecked = header.isChecked
    let lockFile = session.lockFile
    state = .allocate(capacity: 1)
    state.initialize(
      to: State(
        space: Space(file: session.data, lock: session.lock.base) { size in (try? lockFile.grow(to: size)) != nil },
        root: session.data.base))
    state.pointee.boot = (HostIdentity.boot.high, HostIdentity.boot.low)
    changedCapacity = 16
    changed = .allocate(capacity: 16)
    schema = StoredSchema.empty
  }

  deinit {
    state.deinitialize(count: 1)
    state.deallocate()
    changed.deallocate()
  }

  // MARK: Beginning and ending

  /// Becomes the writer and starts a transaction on the newest version.
  @inline(__always)
  func begin(_ deadline: Deadline) throws(StoreError) {
    let tookOver = try session.acquireWriter(deadline: deadline)
    do throws(StoreError) {
      // Noted where it outlives an error before the repair.
      if tookOver { lock.set(LockLayout.Control.reclaiming, 1) }
      if lock.word(LockLayout.Control.poisoned) != 0 { throw .poisoned(path: session.path) }
      try storing(session.path) { () throws(SystemError) in try data.makeWritable() }
      if lock.word(LockLayout.Control.jver) | lock.word(LockLayout.Control.reclaiming) != 0 { try repair() }
      if lock.word(LockLayout.Control.freshCount) >= Writer.reclaimThreshold { reclaim() }
      try start()
    } catch {
      session.releaseWriter()
      throw error
    }
    FaultPoint.step("commit.begun")
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
    if lock.word(Control.fingerprint) != schema.fingerprint { try reloadSchema() }
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
  func reclaim() {
    if state.pointee.reclaimer.held > 0 { session.freeDeadSlots() }
    let freed = state.pointee.space.reclaim(&state.pointee.reclaimer)
    if freed == 0, state.pointee.reclaimer.held > 0, session.freeDeadSlots() > 0 {
      state.pointee.space.reclaim(&state.pointee.reclaimer)
    }
    if freed > 0 { state.pointee.space.punchSome() }
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
    if state.pointee.changedCount == changedCapacity {
      let bigger = UnsafeMutablePointer<Int>.allocate(capacity: changedCapacity * 2)
      bigger.update(from: changed, count: changedCapacity)
      changed.deallocate()
      changed = bigger
      changedCapacity *= 2
    }
    changed[state.pointee.changedCount] = table.index
    state.pointee.changedCount &+= 1
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
    for index in 0..<state.pointee.changedCount {
      try tables[changed[index]].sync(&state.pointee.space)
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
    }
    schema = stored
  }
}

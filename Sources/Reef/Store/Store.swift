import Dispatch
import ReefSystem
import Synchronization

/// A store: versioned objects that several processes share, read in place and written by one at a time.
///
/// ```swift
/// let store = try Store(at: "fleet.reef", models: Spaceship.self)
/// try store.write { try $0.insert(Spaceship(id: 1, name: "Rocinante")) }
/// let ship = try store.snapshot()[Spaceship.self, key: 1]
/// ```
///
/// A store may be used from any thread and task. Opened twice in a process, by whatever path, it is the same store
/// underneath. It is closed when the last `Store`, snapshot, result and view of it is gone.
///
/// After `fork` the child must open the store anew: what it inherited throws ``StoreError/usedAfterFork``.
public final class Store: Sendable {
  let engine: Engine
  let types: StoredTypes
  /// What the store was opened with.
  public let configuration: Configuration
  /// Where the blocks of async writes wait and run, off the threads that tasks share: one at a time, as there is one writer.
  var writerQueue: DispatchQueue { lazyQueue.queue }
  private let lazyQueue = LazyQueue(label: "reef.write")
  let spare = SpareTransaction()
  let scopes: ReadScopes
  @usableFromInline let mayBeRevoked: Bool
  /// The thread whose write block runs, so that a write inside of it is an error rather than a wait for ever.
  let blockThread = Atomic<UInt>(0)

  /// Opens a store, and makes it where it is not there.
  ///
  /// Types that the store does not have yet are added to it. Throws ``StoreError/schemaMismatch(reason:)`` where a type has
  /// other properties, another key or other indexes than the store has for that name, and the errors of opening.
  public init(_ configuration: Configuration) throws(StoreError) {
    self.configuration = configuration
    engine = try Engine.open(configuration.engine, configuration.schema)
    var models: [(any Model.Type, Int)] = []
    for model in configuration.models {
      guard let table = try engine.tableIndex(of: model.schema.name) else {
        throw .schemaMismatch(reason: "The store has no type \(model.schema.name).")
      }
      models.append((model, table))
    }
    types = StoredTypes(models, of: engine)
    scopes = ReadScopes(types)
    mayBeRevoked = engine.admitsRevocation
  }

  /// Opens, or makes, a durable store in a file: a commit survives a power loss.
  public convenience init(at path: String, models: any Model.Type...) throws(StoreError) {
    try self.init(Configuration(location: .file(path), models: models))
  }

  /// Opens, or makes, a store in shared memory, under a name that all processes of the user share. Its content goes with the
  /// last process that has it open.
  public convenience init(inMemory name: String, models: any Model.Type...) throws(StoreError) {
    try self.init(Configuration(location: .memory(name), models: models))
  }
}

// Reading
extension Store {
  /// The newest version, which stays as it is for as long as the snapshot, or anything taken from it, is kept.
  ///
  /// Throws ``StoreError/slotsFull(holders:)`` where all slots for snapshots are held, ``StoreError/usedAfterFork``.
  public func snapshot() throws(StoreError) -> Snapshot {
    Snapshot(owner: try PinnedOwner.make(of: types, in: engine))
  }

  /// Calls `body` with a snapshot of the newest version: the cheapest way to read, without allocation, reference counting
  /// or a system call. What is read may be kept: then its version is kept as well, as if it came from ``snapshot()``.
  ///
  /// ```swift
  /// let fast = try store.read { $0.objects(Spaceship.self).where { $0.maxSpeed > 100 }.count }
  /// ```
  ///
  /// Where ``Retention`` lets versions be taken away: throws ``StoreError/snapshotRevoked(version:)`` if `body` met that.
  @inlinable public func read<R>(_ body: (Snapshot) throws -> R) throws -> R {
    let scope = try openScope()
    defer { closeScope(scope) }
    let result = try scope._withUnsafeGuaranteedRef { try body(Snapshot(owner: $0)) }
    if mayBeRevoked { try checkScope(scope) }
    return result
  }

  /// All objects of a type, in whatever version is the newest: to look at again and again, or to observe.
  public func objects<M: Model>(_ type: M.Type) -> LiveResults<M> {
    LiveResults(store: self, plan: QueryPlan(table: types.table(type)))
  }

  /// The number of the newest version.
  public var version: UInt64 { engine.session.newestVersion }
}

// Others, and being told
extension Store {
  /// Waits until a version newer than `version` is there, and returns the newest.
  ///
  /// Blocks the thread; use the async form in a task. Throws ``StoreError/timeout`` when `timeout` is over.
  public func wait(after version: UInt64, timeout: Duration) throws(StoreError) -> UInt64 {
    try engine.session.wait(after: version, deadline: .after(timeout))
  }

  /// Waits until a version newer than `version` is there, and returns the newest; throws `CancellationError` when the task
  /// is cancelled, ``StoreError/closed`` when the store is closed.
  public func wait(after version: UInt64) async throws -> UInt64 {
    if let newest = await (try ticks()).wait(after: version) { return newest }
    try Task.checkCancellation()
    throw StoreError.closed
  }

  /// Waits until a version newer than `version` is there, and returns the newest; throws ``StoreError/timeout`` when
  /// `timeout` is over, `CancellationError` when the task is cancelled.
  public func wait(after version: UInt64, timeout: Duration) async throws -> UInt64 {
    try await withThrowingTaskGroup(of: UInt64.self) { group in
      group.addTask { try await self.wait(after: version) }
      group.addTask {
        try await Task.sleep(for: timeout)
        throw StoreError.timeout
      }
      defer { group.cancelAll() }
      guard let first = try await group.next() else { throw StoreError.timeout }
      return first
    }
  }

  /// A descriptor for a foreign event loop (epoll, poll, libuv…): readable after commits of any process, and twice a
  /// second. Compare ``version`` then; do not read from it. It belongs to the store.
  public var noticeDescriptor: Int32 {
    get throws(StoreError) { try engine.session.noticeDescriptor }
  }

  /// The processes that have the store open, which versions each holds, and since when.
  public var peers: [PeerInfo] {
    get throws(StoreError) { try engine.session.peers() }
  }

  func ticks() throws(StoreError) -> NoticeTicks { try engine.session.ticks() }
}

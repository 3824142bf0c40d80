import Synchronization

/// One version of a store: immutable, readable from any thread, in place.
///
/// A snapshot, and every result and view taken from it, keeps its version until the last of them is gone; the store keeps
/// the space of what that version can see for as long. Taking one costs no lock and no system call.
///
/// ```swift
/// let snapshot = try store.snapshot()
/// let fast = snapshot.objects(Spaceship.self).where { $0.maxSpeed > 100 }
/// let one = snapshot[Spaceship.self, key: 1]?.value
/// ```
public struct Snapshot: Sendable {
  @usableFromInline var owner: SnapshotOwner
  @inlinable var types: StoredTypes { owner.types }

  @inlinable init(owner: SnapshotOwner) { self.owner = owner }

  /// The version: 1 for the first commit of a store, and one more for each commit since.
  @inlinable public var version: UInt64 { owner.view.version }

  /// Moves on to the newest version. Cheaper than another ``Store/snapshot()`` where nothing read from this one is kept;
  /// what is kept stays as it is.
  ///
  /// Throws what ``Store/snapshot()`` throws, and then stays where it was.
  public mutating func advance() throws(StoreError) {
    if isKnownUniquelyReferenced(&owner), owner.moveOn() { return }
    owner = try PinnedOwner.make(of: types, in: types.engine)
  }

  /// All objects of a type, in stored order.
  ///
  /// The type must be one of the models that the store was opened with.
  public func objects<M: Model>(_ type: M.Type) -> Results<M> {
    let entry = types.entry(type)
    return Results(owner: owner, schema: entry.schema, plan: QueryPlan(table: entry.table))
  }

  /// The object with this key, read in place; nil where there is none.
  @inlinable public subscript<M: Model>(type: M.Type, key key: M.PrimaryKey) -> M.View? {
    @inline(__always) get {
      let place = types.place(type)
      guard let row = key._find(in: KeyedTable(owner, table: place.table, column: place.key)) else { return nil }
      return M.View(_row: row)
    }
  }

  /// Number of objects of a type.
  public func count<M: Model>(of type: M.Type) -> Int { objects(type).count }

  /// The first damage that reading this snapshot met; nil where all was well.
  ///
  /// Reading properties and results does not throw: a value whose bytes are damaged reads as zero or empty, and what
  /// happened is noted here. A transaction whose reads met damage does not commit.
  public var damage: StoreError? { owner.damage }

  /// Throws what ``damage`` says, and ``StoreError/snapshotRevoked(version:)`` where the version was taken away: then what was
  /// read from it before this may be less than there was.
  public func check() throws(StoreError) {
    if let damage { throw damage }
    try owner.view.checkHeld()
  }
}

/// The pin of one version, shared by a snapshot and everything taken from it. Keeps the store open as well.
@usableFromInline class SnapshotOwner: RowOwner, @unchecked Sendable {
  @usableFromInline final let types: StoredTypes
  /// The engine of `types`, which keep it, without counting a reference for each call.
  fileprivate final let engine: Unmanaged<Engine>

  /// Inlined, or `types` would be retained once for each class.
  @inline(__always)
  fileprivate init(_ view: ReadView, of types: StoredTypes) {
    self.types = types
    engine = types.heldEngine
    super.init(view, isTransaction: false)
  }

  /// A version that a following pin holds.
  static func make(_ view: ReadView, heldBy hold: FollowingPin.Hold, of types: StoredTypes) -> SnapshotOwner {
    FollowedOwner(view, hold, of: types)
  }

  /// Moves on to the newest version, where nobody else has this. False: it cannot.
  func moveOn() -> Bool { false }
}

/// A version pinned in a reader slot of this process.
final class PinnedOwner: SnapshotOwner, @unchecked Sendable {
  /// −1 while nothing is pinned.
  @exclusivity(unchecked) var slot: Int

  @inline(__always)
  private init(_ view: ReadView, _ slot: Int, of types: StoredTypes) {
    self.slot = slot
    super.init(view, of: types)
  }

  static func make(of types: StoredTypes, in engine: Engine) throws(StoreError) -> PinnedOwner {
    var slot = types.words.take()
    if slot < 0 { slot = try engine.claimSlot() }
    var view = ReadView(base: types.base, limit: 0, root: 0, version: 0)
    try engine.pinNewest(slot, &view)
    return PinnedOwner(view, slot, of: types)
  }

  /// One for a scope, with nothing pinned yet.
  static func idle(of types: StoredTypes) -> PinnedOwner {
    return PinnedOwner(ReadView(base: types.base, limit: 0, root: 0, version: 0), -1, of: types)
  }

  deinit {
    // The session looks whether it is still this process's: a child's `deinit` does not clear its parent's pin.
    if slot >= 0, !types.words.linger(slot) { engine._withUnsafeGuaranteedRef { $0.closeSlot(slot) } }
  }

  override func moveOn() -> Bool {
    // Pairs with the release of whoever let go of it last.
    atomicMemoryFence(ordering: .acquiring)
    guard slot >= 0, engine._withUnsafeGuaranteedRef({ $0.moveOn(slot, &view) }) else { return false }
    forget()
    return true
  }
}

private final class FollowedOwner: SnapshotOwner, @unchecked Sendable {
  private let hold: FollowingPin.Hold

  init(_ view: ReadView, _ hold: FollowingPin.Hold, of types: StoredTypes) {
    self.hold = hold
    super.init(view, of: types)
  }
}

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
  @usableFromInline let owner: SnapshotOwner
  @usableFromInline let types: StoredTypes

  init(owner: SnapshotOwner, types: StoredTypes) {
    self.owner = owner
    self.types = types
  }

  /// The version: 1 for the first commit of a store, and one more for each commit since.
  public var version: UInt64 { owner.view.version }

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
  /// happened is noted here.
  public var damage: StoreError? { owner.damage }
}

/// The pin of one version, shared by a snapshot and everything taken from it. Keeps the store open as well.
@usableFromInline class SnapshotOwner: RowOwner, @unchecked Sendable {
  private final let engine: Engine

  fileprivate init(_ view: ReadView, of engine: Engine) {
    self.engine = engine
    super.init(view, isTransaction: false)
  }

  static func make(_ pin: consuming Pin, of engine: Engine) -> SnapshotOwner { PinnedOwner(pin, of: engine) }

  /// A version that a following pin holds.
  static func make(_ view: ReadView, heldBy hold: FollowingPin.Hold, of engine: Engine) -> SnapshotOwner {
    FollowedOwner(view, hold, of: engine)
  }
}

private final class PinnedOwner: SnapshotOwner, @unchecked Sendable {
  private let pin: Pin

  init(_ pin: consuming Pin, of engine: Engine) {
    let view = pin.view
    self.pin = pin
    super.init(view, of: engine)
  }
}

private final class FollowedOwner: SnapshotOwner, @unchecked Sendable {
  private let hold: FollowingPin.Hold

  init(_ view: ReadView, _ hold: FollowingPin.Hold, of engine: Engine) {
    self.hold = hold
    super.init(view, of: engine)
  }
}

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
  let owner: SnapshotOwner
  let types: StoredTypes

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
  public subscript<M: Model>(type: M.Type, key key: M.PrimaryKey) -> M.View? {
    let entry = types.entry(type)
    do throws(StoreError) {
      return try owner.find(key._lookup, entry).map { M.View(_row: $0) }
    } catch {
      owner.note(error)
      return nil
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
class SnapshotOwner: RowOwner, @unchecked Sendable {
  private let engine: Engine

  fileprivate init(_ view: ReadView, of engine: Engine) {
    self.engine = engine
    super.init(view)
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

extension RowOwner {
  /// The row with this key.
  final func find(_ key: KeyTarget, _ entry: StoredTypes.Entry) throws(StoreError) -> Row? {
    let table = try current().table(entry.table)
    guard let objectKey = try table.objectKey(key, at: entry.table, schema: entry.schema),
      let position = try table.find(key: objectKey)
    else { return nil }
    return Row(position.leaf, position.row, key: objectKey, table: entry.table, owner: self)
  }
}

extension TableView {
  /// The object key that a key leads to: itself, or what the key index says.
  func objectKey(_ key: KeyTarget, at index: Int, schema: TypeSchema) throws(StoreError) -> Int64? {
    switch key {
    case .object(let number): return number
    case .indexed(let value):
      guard let column = schema.key else { return nil }
      var scratch = IndexKey()
      return try KeyLookup.find(view, table: index, column: column, bytes: value.keyBytes, key: &scratch)
    }
  }
}

extension Value {
  /// What a key index is searched by: the UTF-8 of text, the bytes of a UUID.
  fileprivate var keyBytes: [UInt8] {
    switch self {
    case .string(let text): return Array(text.utf8)
    case .uuid(let uuid): return withUnsafeBytes(of: (uuid.high.bigEndian, uuid.low.bigEndian)) { Array($0) }
    default: return []
    }
  }
}

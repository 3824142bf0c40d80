/// A type whose values a ``Store`` keeps.
///
/// ``Model()`` writes the conformance. By hand it looks like this:
///
/// ```swift
/// struct Point { var id: Int; var label: String? }
///
/// extension Point: Model {
///   typealias PrimaryKey = Int
///   static let schema = TypeSchema(
///     "Point", [PropertySchema("id", .int64), PropertySchema("label", .string, isOptional: true)], key: 0)
///
///   struct Columns: Sendable {
///     var id: Column<Point, Int> { Column(0) }
///     var label: Column<Point, String?> { Column(1) }
///   }
///   static var columns: Columns { Columns() }
///
///   struct View: ObjectView {
///     typealias Object = Point
///     let _row: Row
///     var id: Int { _row.integerKey }
///     var label: String? { _row.value(1) }
///   }
///   struct Mutable: MutableObject {
///     typealias Object = Point
///     let _change: ObjectChange
///     var id: Int { _change.integerKey }
///     var label: String? {
///       get { _change.value(1) }
///       nonmutating set { _change.set(1, newValue) }
///     }
///   }
///   func encode(into encoder: inout RowEncoder) {
///     encoder.set(0, id)
///     encoder.set(1, label)
///   }
///   init(row: Row) { self.init(id: row.integerKey, label: row.value(1)) }
/// }
/// ```
///
/// The position of a property in `schema` is its column number in all of these. An Int key has no column of its own: it
/// is read with ``Row/integerKey``.
public protocol Model: Sendable {
  /// `Int`, `String` or `UUID`, the type of the primary key; ``ObjectKey`` where the type has none.
  associatedtype PrimaryKey: Reef.PrimaryKey
  /// The stored properties by name, for conditions and order.
  associatedtype Columns: Sendable
  /// One object in a snapshot, read in place.
  associatedtype View: ObjectView where View.Object == Self
  /// One object in a transaction, for changing.
  associatedtype Mutable: MutableObject where Mutable.Object == Self

  /// Name, properties, key and indexes. Must not change while a store is open.
  static var schema: TypeSchema { get }
  static var columns: Columns { get }

  /// Sets every column, the key's included.
  func encode(into encoder: inout RowEncoder)
  /// Copies an object out of a snapshot.
  init(row: Row)
}

/// One object in a snapshot, read in place: each property is taken from the mapped store when it is asked for.
///
/// A view is a small value without storage of its own. It keeps its snapshot alive, and stays valid and unchanged as long
/// as it exists, in any thread. Keep a copy (``value``) rather than a view where something is kept for long: a snapshot
/// holds the space of everything it can see.
public protocol ObjectView: Sendable, Identifiable, CustomDebugStringConvertible {
  associatedtype Object: Model where Object.View == Self
  var _row: Row { get }
  init(_row: Row)
}

extension ObjectView {
  /// A plain copy of the whole object, independent of the store.
  @inlinable public var value: Object { Object(row: _row) }

  /// The values of all properties, for `print`.
  public var debugDescription: String { String(reflecting: value) }

  /// The primary key, or the object's number where the type has no key.
  @inlinable public var id: Object.PrimaryKey { Object.PrimaryKey(_row: _row, column: Object.schema.key ?? 0) }
}

/// One object in a write transaction, as the block of an update sees it: reading gives what the transaction has so far,
/// assigning changes it.
public protocol MutableObject {
  associatedtype Object: Model where Object.Mutable == Self
  var _change: ObjectChange { get }
  init(_change: ObjectChange)
}

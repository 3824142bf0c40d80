import FoundationEssentials

/// What can identify an object: `Int`, `String`, `UUID`, and ``ObjectKey`` for types without a key.
///
/// No further conformances: the store knows these four.
public protocol PrimaryKey: Hashable, Sendable {
  /// The object with this key.
  func _find(in table: KeyedTable) -> Row?
  /// Reads the key of an object.
  init(_row: Row, column: Int)
  /// The object's number in the store, where the key is that.
  var _number: Int64? { get }
}

extension PrimaryKey {
  @inlinable public var _number: Int64? { nil }
}

/// One table of a snapshot or a transaction, where keys are looked up.
public struct KeyedTable {
  @usableFromInline let owner: RowOwner
  @usableFromInline let table: Int
  /// The column of a String or UUID key.
  @usableFromInline let column: Int

  @inlinable @inline(__always)
  init(_ owner: RowOwner, table: Int, column: Int) {
    self.owner = owner
    self.table = table
    self.column = column
  }

  @inlinable @inline(__always)
  func locate(_ bytes: UnsafeRawBufferPointer) -> RowOwner.KeyedPlace {
    owner.locate(bytes: bytes, column: column, table: table)
  }
}

/// The number that the store gives to an object of a type without a primary key: it counts up in the order of insertion
/// and is never used again.
public struct ObjectKey: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// Counts up by one with each insertion into the type.
  public let number: Int64

  /// The key with this number, whether or not an object has it.
  public init(_ number: Int64) { self.number = number }

  public static func < (left: ObjectKey, right: ObjectKey) -> Bool { left.number < right.number }
  public var description: String { "#\(number)" }
}

extension Int: PrimaryKey {
  @inlinable @inline(__always)
  public func _find(in table: KeyedTable) -> Row? { table.owner.find(Int64(self), table: table.table) }
  @inlinable public init(_row: Row, column: Int) { self = _row.integerKey }
  @inlinable public var _number: Int64? { Int64(self) }
}

extension ObjectKey: PrimaryKey {
  @inlinable @inline(__always)
  public func _find(in table: KeyedTable) -> Row? { table.owner.find(number, table: table.table) }
  @inlinable public init(_row: Row, column: Int) { self.init(_row.objectKey) }
  @inlinable public var _number: Int64? { number }
}

extension String: PrimaryKey {
  @inlinable @inline(__always)
  public func _find(in table: KeyedTable) -> Row? {
    if let found = utf8.withContiguousStorageIfAvailable({ table.locate(UnsafeRawBufferPointer($0)) }) {
      return table.owner.row(found, table: table.table)
    }
    return Array(utf8).withUnsafeBytes { table.owner.row(table.locate($0), table: table.table) }
  }
  @inlinable public init(_row: Row, column: Int) { self = _row.value(column) }
}

extension UUID: PrimaryKey {
  @inlinable @inline(__always)
  public func _find(in table: KeyedTable) -> Row? {
    Swift.withUnsafeBytes(of: uuid) { table.owner.row(table.locate($0), table: table.table) }
  }
  @inlinable public init(_row: Row, column: Int) { self = _row.value(column) }
}

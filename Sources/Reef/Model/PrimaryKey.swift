import FoundationEssentials

/// What can identify an object: `Int`, `String`, `UUID`, and ``ObjectKey`` for types without a key.
///
/// No further conformances: the store knows these four.
public protocol PrimaryKey: Hashable, Sendable {
  var _lookup: KeyTarget { get }
  init(_row: Row, column: Int)
}

/// The number that the store gives to an object of a type without a primary key: it counts up in the order of insertion
/// and is never used again.
public struct ObjectKey: Hashable, Sendable, Comparable, CustomStringConvertible {
  public let number: Int64

  public init(_ number: Int64) { self.number = number }

  public static func < (left: ObjectKey, right: ObjectKey) -> Bool { left.number < right.number }
  public var description: String { "#\(number)" }
}

/// How a key is looked up: by the object key itself, or through the key index.
public enum KeyTarget: Hashable, Sendable {
  case object(Int64)
  case indexed(Value)
}

extension Int: PrimaryKey {
  @inlinable public var _lookup: KeyTarget { .object(Int64(self)) }
  @inlinable public init(_row: Row, column: Int) { self = _row.integerKey }
}

extension ObjectKey: PrimaryKey {
  @inlinable public var _lookup: KeyTarget { .object(number) }
  @inlinable public init(_row: Row, column: Int) { self.init(_row.objectKey) }
}

extension String: PrimaryKey {
  @inlinable public var _lookup: KeyTarget { .indexed(.string(self)) }
  @inlinable public init(_row: Row, column: Int) { self = _row.value(column) }
}

extension UUID: PrimaryKey {
  @inlinable public var _lookup: KeyTarget { .indexed(storedValue) }
  @inlinable public init(_row: Row, column: Int) { self = _row.value(column) }
}

// Integers of every width are Int64 on their way in and out, except UInt64 and UInt, which keep their bit pattern.

/// A signed integer, or an unsigned one that fits an Int64.
public protocol StorableInteger: OrderedStorable, Summable, FixedWidthInteger where Sum == Int {}

extension StorableInteger {
  @inlinable public init?(stored value: Value) {
    guard case .int(let value) = value else { return nil }
    self.init(exactly: value)
  }
  @inlinable public static func sum(stored value: Value) -> Int {
    if case .int(let sum) = value { return Int(sum) }
    return value.number < 0 ? .min : .max
  }
  @inlinable public var storedValue: Value { .int(Int64(self)) }
  @inlinable @inline(__always) public init(_ cell: Cell) { self.init(truncatingIfNeeded: cell.int) }
  @inlinable @inline(__always) public func encode(into encoder: inout RowEncoder, column: Int) {
    encoder.set(column: column, int: Int64(self))
  }
}

/// A 64-bit unsigned integer.
public protocol StorableWideUnsigned: OrderedStorable, Summable, FixedWidthInteger, UnsignedInteger where Sum == UInt {}

extension StorableWideUnsigned {
  @inlinable public init?(stored value: Value) {
    guard case .uint(let value) = value else { return nil }
    self.init(exactly: value)
  }
  @inlinable public static func sum(stored value: Value) -> UInt {
    if case .uint(let sum) = value { return UInt(sum) }
    return .max
  }
  @inlinable public static var valueType: ValueType { .uint64 }
  @inlinable public var storedValue: Value { .uint(UInt64(self)) }
  @inlinable @inline(__always) public init(_ cell: Cell) { self.init(truncatingIfNeeded: cell.bits) }
  @inlinable @inline(__always) public func encode(into encoder: inout RowEncoder, column: Int) {
    encoder.set(column: column, uint: UInt64(self))
  }
}

extension Int: StorableInteger {
  public typealias Sum = Int
  @inlinable public static var valueType: ValueType { .int64 }
}
extension Int8: StorableInteger {
  public typealias Sum = Int
  @inlinable public static var valueType: ValueType { .int8 }
}
extension Int16: StorableInteger {
  public typealias Sum = Int
  @inlinable public static var valueType: ValueType { .int16 }
}
extension Int32: StorableInteger {
  public typealias Sum = Int
  @inlinable public static var valueType: ValueType { .int32 }
}
extension Int64: StorableInteger {
  public typealias Sum = Int
  @inlinable public static var valueType: ValueType { .int64 }
}
extension UInt8: StorableInteger {
  public typealias Sum = Int
  @inlinable public static var valueType: ValueType { .uint8 }
}
extension UInt16: StorableInteger {
  public typealias Sum = Int
  @inlinable public static var valueType: ValueType { .uint16 }
}
extension UInt32: StorableInteger {
  public typealias Sum = Int
  @inlinable public static var valueType: ValueType { .uint32 }
}
extension UInt: StorableWideUnsigned {
  public typealias Sum = UInt
}
extension UInt64: StorableWideUnsigned {
  public typealias Sum = UInt
}

import FoundationEssentials

/// A type of value that a stored property can have.
///
/// Bool, Int, Int8…Int64, UInt, UInt8…UInt64, Float, Double, String, Data, Date and UUID, and each of these as an
/// optional.
public protocol Storable: Sendable, Equatable {
  static var valueType: ValueType { get }
  static var isOptional: Bool { get }

  /// The value in the boxed form that conditions are made of.
  var storedValue: Value { get }

  /// Reads the value from where it lies.
  init(_ cell: Cell)

  /// Writes the value into a row that is being built.
  func encode(into encoder: inout RowEncoder, column: Int)
}

/// A ``Storable`` type that is not optional.
public protocol StorableScalar: Storable {
  /// The value that this boxed form stands for; nil where it is of another kind.
  init?(stored value: Value)
}

extension StorableScalar {
  @inlinable public static var isOptional: Bool { false }
}

/// A stored type with an order that conditions and sorting use: every one but Bool.
public protocol OrderedStorable: Storable {}

/// A stored number that can be added up.
public protocol Summable: StorableScalar {
  /// What a sum of these is: Int, UInt or Double.
  associatedtype Sum: Sendable, Equatable
  /// A sum in boxed form as a `Sum`; beyond its range, the nearest end of it.
  static func sum(stored value: Value) -> Sum
}

extension Optional: Storable where Wrapped: StorableScalar {
  @inlinable public static var valueType: ValueType { Wrapped.valueType }
  @inlinable public static var isOptional: Bool { true }
  @inlinable public var storedValue: Value { self?.storedValue ?? .null }
  @inlinable @inline(__always) public init(_ cell: Cell) { self = cell.isNull ? nil : Wrapped(cell) }
  @inlinable @inline(__always) public func encode(into encoder: inout RowEncoder, column: Int) {
    if let self { self.encode(into: &encoder, column: column) } else { encoder.setNull(column: column) }
  }
}

extension Optional: OrderedStorable where Wrapped: StorableScalar & OrderedStorable {}

extension Bool: StorableScalar {
  @inlinable public static var valueType: ValueType { .bool }
  @inlinable public init?(stored value: Value) {
    guard case .bool(let value) = value else { return nil }
    self = value
  }
  @inlinable public var storedValue: Value { .bool(self) }
  @inlinable @inline(__always) public init(_ cell: Cell) { self = cell.bool }
  @inlinable @inline(__always) public func encode(into encoder: inout RowEncoder, column: Int) {
    encoder.set(column: column, bool: self)
  }
}

extension Float: OrderedStorable, Summable {
  public typealias Sum = Double
  @inlinable public static func sum(stored value: Value) -> Double { value.number }
  @inlinable public static var valueType: ValueType { .float }
  @inlinable public init?(stored value: Value) {
    guard case .float(let value) = value else { return nil }
    self = value
  }
  @inlinable public var storedValue: Value { .float(self) }
  @inlinable @inline(__always) public init(_ cell: Cell) { self = cell.float }
  @inlinable @inline(__always) public func encode(into encoder: inout RowEncoder, column: Int) {
    encoder.set(column: column, float: self)
  }
}

extension Double: OrderedStorable, Summable {
  public typealias Sum = Double
  @inlinable public static func sum(stored value: Value) -> Double { value.number }
  @inlinable public static var valueType: ValueType { .double }
  @inlinable public init?(stored value: Value) {
    guard case .double(let value) = value else { return nil }
    self = value
  }
  @inlinable public var storedValue: Value { .double(self) }
  @inlinable @inline(__always) public init(_ cell: Cell) { self = cell.double }
  @inlinable @inline(__always) public func encode(into encoder: inout RowEncoder, column: Int) {
    encoder.set(column: column, double: self)
  }
}

extension String: StorableScalar, OrderedStorable {
  @inlinable public static var valueType: ValueType { .string }
  @inlinable public init?(stored value: Value) {
    guard case .string(let value) = value else { return nil }
    self = value
  }
  @inlinable public var storedValue: Value { .string(self) }
  @inlinable @inline(__always) public init(_ cell: Cell) { self = cell.string }
  @inlinable @inline(__always) public func encode(into encoder: inout RowEncoder, column: Int) {
    encoder.set(column: column, string: self)
  }
}

extension Data: StorableScalar, OrderedStorable {
  @inlinable public static var valueType: ValueType { .data }
  @inlinable public init?(stored value: Value) {
    guard case .data(let value) = value else { return nil }
    self = Data(value)
  }
  @inlinable public var storedValue: Value { .data([UInt8](self)) }
  @inlinable @inline(__always) public init(_ cell: Cell) {
    let bytes = cell.bytes
    self = bytes.isEmpty ? Data() : Data(bytes)
  }
  @inlinable @inline(__always) public func encode(into encoder: inout RowEncoder, column: Int) {
    withUnsafeBytes { encoder.set(column: column, bytes: $0) }
  }
}

extension Date: StorableScalar, OrderedStorable {
  @inlinable public static var valueType: ValueType { .date }
  @inlinable public init?(stored value: Value) {
    guard case .date(let value) = value else { return nil }
    self = Date(timeIntervalSinceReferenceDate: value)
  }
  @inlinable public var storedValue: Value { .date(timeIntervalSinceReferenceDate) }
  @inlinable @inline(__always) public init(_ cell: Cell) { self.init(timeIntervalSinceReferenceDate: cell.double) }
  @inlinable @inline(__always) public func encode(into encoder: inout RowEncoder, column: Int) {
    encoder.set(column: column, double: timeIntervalSinceReferenceDate)
  }
}

extension UUID: StorableScalar, OrderedStorable {
  @inlinable public static var valueType: ValueType { .uuid }
  @inlinable public init?(stored value: Value) {
    guard case .uuid(let value) = value else { return nil }
    self = UUID(value)
  }
  @inlinable public var storedValue: Value { .uuid(UUIDBytes(self)) }
  @inlinable @inline(__always) public init(_ cell: Cell) { self = UUID(cell.uuid) }
  @inlinable @inline(__always) public func encode(into encoder: inout RowEncoder, column: Int) {
    let bytes = UUIDBytes(self)
    encoder.set(column: column, uuidHigh: bytes.high, low: bytes.low)
  }
}

extension UUIDBytes {
  /// The bytes of a Foundation UUID.
  @inlinable public init(_ uuid: UUID) {
    let pair = withUnsafeBytes(of: uuid.uuid) { bytes in
      (bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
    self.init(high: UInt64(bigEndian: pair.0), low: UInt64(bigEndian: pair.1))
  }
}

extension UUID {
  /// The Foundation UUID of these bytes.
  @inlinable public init(_ bytes: UUIDBytes) {
    var raw: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &raw) { target in
      target.storeBytes(of: bytes.high.bigEndian, toByteOffset: 0, as: UInt64.self)
      target.storeBytes(of: bytes.low.bigEndian, toByteOffset: 8, as: UInt64.self)
    }
    self.init(uuid: raw)
  }
}

extension RowEncoder {
  /// Sets a column from a stored type: what `encode(into:)` of a ``Model`` calls for each property.
  @inlinable @inline(__always) public mutating func set<V: Storable>(_ column: Int, _ value: V) {
    value.encode(into: &self, column: column)
  }
}

extension Value {
  /// A number as a Double; 0 for what is none.
  @usableFromInline var number: Double {
    switch self {
    case .int(let value): Double(value)
    case .uint(let value): Double(value)
    case .float(let value): Double(value)
    case .double(let value), .date(let value): value
    default: 0
    }
  }
}

/// The kind of value a stored property holds.
///
/// The raw value is written into stores: never renumber.
public enum ValueType: UInt8, Codable, Hashable, Sendable, CaseIterable {
  case bool = 0
  case int8, int16, int32, int64
  case uint8, uint16, uint32, uint64
  case float, double
  case string, data
  case date
  case uuid
}

/// One stored property of a type: its name, the type of its values, and whether it is optional or indexed.
public struct PropertySchema: Codable, Hashable, Sendable {
  public var name: String
  public var type: ValueType
  public var isOptional: Bool
  public var isIndexed: Bool

  public init(_ name: String, _ type: ValueType, isOptional: Bool = false, isIndexed: Bool = false) {
    self.name = name
    self.type = type
    self.isOptional = isOptional
    self.isIndexed = isIndexed
  }
}

/// A stored type: its name, its properties in order, and which of them is the primary key.
///
/// The position of a property in `properties` is its column number everywhere in the engine.
public struct TypeSchema: Codable, Hashable, Sendable {
  public var name: String
  public var properties: [PropertySchema]
  /// Position of the primary key in `properties`; nil where objects have no key and keep insertion order.
  public var key: Int?

  public init(_ name: String, _ properties: [PropertySchema], key: Int? = nil) {
    self.name = name
    self.properties = properties
    self.key = key
  }
}

extension TypeSchema {
  /// How the 64-bit object key of a row comes about.
  package enum KeyKind: Equatable {
    /// The primary key is an Int: it *is* the object key, and its column is never stored.
    case integer(Int)
    /// The primary key is a String or UUID: object keys count up, and a key index leads from value to object key.
    case indexed(Int)
    /// No primary key: object keys count up in insertion order.
    case none
  }

  package var keyKind: KeyKind {
    guard let key else { return .none }
    return properties[key].type == .int64 ? .integer(key) : .indexed(key)
  }
}

/// All types of a store.
public struct Schema: Codable, Hashable, Sendable {
  public var types: [TypeSchema]
  public init(_ types: [TypeSchema]) { self.types = types }
}

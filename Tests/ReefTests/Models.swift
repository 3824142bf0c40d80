import Foundation
import Reef

@Model struct Spaceship: Equatable {
  @Key var id: Int
  @Indexed var name: String
  var maxSpeed: Double = 0
  var launched: Date?
}

/// One property of every kind.
@Model struct Everything: Equatable {
  @Key var id: Int
  var flag: Bool
  var int: Int
  var int8: Int8, int16: Int16
  var int32: Int32
  var int64: Int64
  var uint: UInt
  var uint8: UInt8
  var uint16: UInt16
  var uint32: UInt32
  var uint64: UInt64
  var float: Float
  var double: Double
  var string: String
  var data: Data
  var date: Date
  var uuid: UUID
  var flagOrNil: Bool?
  var intOrNil: Int?
  var int8OrNil: Int8?
  var uint64OrNil: UInt64?
  var floatOrNil: Float?
  var doubleOrNil: Double?
  var stringOrNil: String?
  var dataOrNil: Data?
  var dateOrNil: Date?
  var uuidOrNil: Optional<UUID>
  @Ignored var scratch = 0
  @Ignored var cache: [String: Int]?
  var double2: Double { double * 2 }
  static let shared = 1
  var observed = 3 { didSet { scratch += 1 } }
}

public enum Outer {
  /// Public, nested, keyed by text; names that need care.
  @Model public struct Package: Equatable {
    @Key public let name: String
    public var `default`: Bool = false
    var value: Int32
    private var secret: Int = 7
    public init(name: String, value: Int32) {
      self.name = name
      self.value = value
    }
    var secretly: Int {
      get { secret }
      set { secret = newValue }
    }
  }
}

@Model struct Session: Equatable {
  @Key var token: UUID
  var user: String
}

/// Without a key: insertion order.
@Model struct LogLine: Equatable {
  var text: String
  var level: Int8
}

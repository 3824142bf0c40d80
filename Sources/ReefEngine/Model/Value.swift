/// A stored value of any type: the slow, boxed form for tools, dynamic access, conditions and tests.
///
/// Integers of every width are `.int`, except `UInt64`, which is `.uint`. Dates are seconds since the reference date.
public enum Value: Hashable, Sendable {
  case null
  case bool(Bool)
  case int(Int64)
  case uint(UInt64)
  case float(Float)
  case double(Double)
  case string(String)
  case data([UInt8])
  case date(Double)
  case uuid(UUIDBytes)
}

/// The sixteen bytes of a UUID, in their textual order.
public struct UUIDBytes: Hashable, Sendable {
  /// Bytes 0…7, big-endian, and bytes 8…15, big-endian: comparing the pair compares the bytes.
  public var high: UInt64
  public var low: UInt64
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }
}

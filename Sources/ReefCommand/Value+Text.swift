import Foundation
import ReefEngine

extension ValueType {
  /// For messages: "a whole number", "text".
  var article: String {
    switch self {
    case .bool: "true or false"
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64: "a whole number (\(self))"
    case .float, .double: "a number"
    case .string: "text"
    case .data: "bytes, written as hex digits"
    case .date: "a date, such as 2026-01-31 or 2026-01-31T12:00:00Z"
    case .uuid: "a UUID"
    }
  }
}

extension Value {
  /// A value of this type as a person writes it; nil where it is none.
  init?(text: String, type: ValueType) {
    func whole<I: FixedWidthInteger>(_: I.Type) -> Value? { I(text).map { .int(Int64(truncatingIfNeeded: $0)) } }
    let value: Value? =
      switch type {
      case .bool: ["true": .bool(true), "false": .bool(false)][text.lowercased()]
      case .int8: whole(Int8.self)
      case .int16: whole(Int16.self)
      case .int32: whole(Int32.self)
      case .int64: whole(Int64.self)
      case .uint8: whole(UInt8.self)
      case .uint16: whole(UInt16.self)
      case .uint32: whole(UInt32.self)
      case .uint64: UInt64(text).map { .uint($0) }
      case .float: Float(text).map { .float($0) }
      case .double: Double(text).map { .double($0) }
      case .string: .string(text)
      case .data: Value.bytes(hex: text).map { .data($0) }
      case .date: Value.date(text).map { .date($0) }
      case .uuid: UUID(uuidString: text).map { .uuid(Value.bytes($0)) }
      }
    guard let value else { return nil }
    self = value
  }

  private static func bytes(hex: String) -> [UInt8]? {
    let digits = Array(hex.utf8)
    guard digits.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) else { return nil }
      bytes.append(byte)
    }
    return bytes
  }

  private static func date(_ text: String) -> Double? {
    if let date = try? Date(text, strategy: .iso8601) { return date.timeIntervalSinceReferenceDate }
    return (try? Date(text + "T00:00:00Z", strategy: .iso8601))?.timeIntervalSinceReferenceDate
  }

  private static func bytes(_ uuid: UUID) -> UUIDBytes {
    withUnsafeBytes(of: uuid.uuid) { bytes in
      func half(_ from: Int) -> UInt64 { bytes[from..<from + 8].reduce(0) { $0 << 8 | UInt64($1) } }
      return UUIDBytes(high: half(0), low: half(8))
    }
  }

  /// As JSON. What JSON cannot say becomes text: bytes as hex digits, dates as ISO 8601, NaN and infinities by name.
  var json: String {
    switch self {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .int(let value): String(value)
    case .uint(let value): String(value)
    case .float(let value): Value.number(value, isFinite: value.isFinite)
    case .double(let value): Value.number(value, isFinite: value.isFinite)
    case .string(let value): Value.quoted(value)
    case .data(let value): Value.quoted(value.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
    case .date(let value):
      value.isFinite && abs(value) < 1e11
        ? Value.quoted(
          Date(timeIntervalSinceReferenceDate: value).formatted(
            Date.ISO8601FormatStyle(includingFractionalSeconds: value != value.rounded())))
        : Value.number(value, isFinite: value.isFinite)
    case .uuid(let value): Value.quoted(Value.text(value))
    }
  }

  private static func number(_ value: some CustomStringConvertible, isFinite: Bool) -> String {
    isFinite ? value.description : quoted(value.description)
  }

  private static func text(_ uuid: UUIDBytes) -> String {
    func digits(_ value: UInt64, _ count: Int) -> String {
      let hex = String(value, radix: 16)
      return String(repeating: "0", count: max(0, count - hex.count)) + hex
    }
    return [
      digits(uuid.high >> 32, 8), digits(uuid.high >> 16 & 0xffff, 4), digits(uuid.high & 0xffff, 4),
      digits(uuid.low >> 48, 4), digits(uuid.low & 0xffff_ffff_ffff, 12),
    ].joined(separator: "-")
  }

  /// A JSON string.
  static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where scalar.value < 0x20 || scalar.value == 0x7f:
        let hex = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}

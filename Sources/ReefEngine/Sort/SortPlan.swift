/// An order made ready for one type: what of each row decides, in 64-bit codes whose unsigned order is the order asked
/// for.
///
/// Numbers, booleans and dates take one code, UUIDs two, text one for its first eight bytes and, where those tie, its
/// bytes themselves. Types whose values need all codes take one more before it for nil.
struct SortPlan {
  struct Component {
    let column: Int
    let type: ValueType
    let isOptional: Bool
    let isKey: Bool
    let ascending: Bool

    /// Whether nil has to be told by a code of its own.
    var hasRank: Bool { isOptional && (type == .int64 || type == .uint64 || type == .uuid) }
    var isText: Bool { type == .string || type == .data }
    var codes: Int { (hasRank ? 1 : 0) + (type == .uuid ? 2 : 1) }
  }

  /// One comparison after the other.
  enum Step {
    case code(Int)
    case text(Int, ascending: Bool)
  }

  let components: [Component]
  let steps: [Step]
  let codeCount: Int
  let textCount: Int

  init(_ order: [SortKey], for schema: TypeSchema) throws(StoreError) {
    var components: [Component] = []
    for key in order {
      guard schema.properties.indices.contains(key.column) else {
        throw .invalidArgument("\(schema.name) has no property at position \(key.column)")
      }
      // A property decides once.
      if components.contains(where: { $0.column == key.column }) { continue }
      let property = schema.properties[key.column]
      var isKey = false
      if case .integer(key.column) = schema.keyKind { isKey = true }
      components.append(
        Component(
          column: key.column, type: property.type, isOptional: property.isOptional && !isKey, isKey: isKey,
          ascending: key.ascending))
      // Object keys are unique: nothing after them decides.
      if isKey { break }
    }
    var steps: [Step] = []
    var codes = 0
    var texts = 0
    for component in components {
      for _ in 0..<component.codes {
        steps.append(.code(codes))
        codes += 1
      }
      if component.isText {
        steps.append(.text(texts, ascending: component.ascending))
        texts += 1
      }
    }
    self.components = components
    self.steps = steps
    codeCount = codes
    textCount = texts
  }
}

/// Codes of single values.
enum SortCode {
  /// Of nil where the type leaves room: below NaN, which is below all numbers.
  static let null: UInt64 = 0
  static let nan: UInt64 = 1

  @inline(__always)
  static func signed(_ value: Int64) -> UInt64 { UInt64(bitPattern: value) ^ 1 &<< 63 }

  /// IEEE order, 0.0 and -0.0 alike; -infinity is far above `nan`.
  @inline(__always)
  static func real(_ value: Double) -> UInt64 {
    if value.isNaN { return nan }
    let bits = value == 0 ? 0 : value.bitPattern
    return bits ^ (UInt64(bitPattern: Int64(bitPattern: bits) &>> 63) | 1 &<< 63)
  }

  /// The first eight bytes, big-endian: what is shorter comes first, or ties.
  @inline(__always)
  static func prefix(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    guard let start = bytes.baseAddress else { return 0 }
    if bytes.count >= 8 { return UInt64(bigEndian: start.loadUnaligned(as: UInt64.self)) }
    var code: UInt64 = 0
    for index in 0..<bytes.count { code |= UInt64(bytes[index]) &<< UInt64(truncatingIfNeeded: 56 &- index &* 8) }
    return code
  }
}

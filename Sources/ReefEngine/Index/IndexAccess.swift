/// A way into a table through one of its indexes: ranges of encoded values outside of which a condition cannot match.
///
/// What an index yields are candidates; the condition itself decides about each. So ranges may be too wide, never too
/// narrow, and a constant that the index does not order as the condition does (of another kind than the property) gives
/// no access at all.
struct IndexAccess: Equatable, Sendable {
  /// Position among the indexed properties; −1: the index of a String or UUID primary key.
  let position: Int
  /// Ascending and disjoint only where the condition's constants are.
  var ranges: [Range]

  struct Range: Equatable, Sendable {
    var lower: Bound?
    var upper: Bound?
  }

  /// A place between two entries, with bytes of its own.
  struct Bound: Equatable, Sendable {
    /// The encoded key, and the zero bytes that follow one.
    let bytes: [UInt8]
    let isAfter: Bool

    init(_ key: borrowing IndexKey, isAfter: Bool) {
      bytes = key.withEncoded { key in
        [UInt8](UnsafeRawBufferPointer(start: key.bytes, count: key.length)) + [UInt8](repeating: 0, count: 8)
      }
      self.isAfter = isAfter
    }

    func withBound<R>(_ body: (IndexBound) throws(StoreError) -> R) throws(StoreError) -> R {
      try ArrayBytes.with(bytes) { raw throws(StoreError) in
        // Eight bytes at least.
        let key = EncodedKey(bytes: raw.baseAddress.unsafelyUnwrapped, length: raw.count - 8)
        return try body(isAfter ? .after(key) : .before(key))
      }
    }
  }
}

extension IndexAccess {
  /// All ways that a condition allows.
  static func all(_ predicate: Predicate, for schema: TypeSchema) -> [IndexAccess] {
    switch predicate {
    case .and(let children): return children.flatMap { all($0, for: schema) }
    case .or(let children): return union(children, for: schema).map { [$0] } ?? []
    case .compare(let column, let comparison, let value):
      return access(column, schema) { property in range(property, comparison, value).map { [$0] } }
    case .within(let column, let values):
      return access(column, schema) { property in
        var ranges: [Range] = []
        for value in values {
          guard let range = range(property, .equal, value) else { return nil }
          ranges.append(range)
        }
        return ranges
      }
    case .between(let column, let lower, let upper, let includesUpper):
      return access(column, schema) { property in
        guard let from = range(property, .greaterOrEqual, lower),
          let to = range(property, includesUpper ? .lessOrEqual : .less, upper)
        else { return nil }
        return [Range(lower: from.lower, upper: to.upper)]
      }
    case .text(let column, .prefix, let value):
      return access(column, schema) { property in prefix(property, value).map { [$0] } }
    case .text, .not, .always: return []
    }
  }

  /// Alternatives have an access together where each has one through the same index.
  private static func union(_ children: [Predicate], for schema: TypeSchema) -> IndexAccess? {
    guard let first = children.first else { return nil }
    for candidate in all(first, for: schema) {
      var joined = candidate
      let isCommon = children.dropFirst().allSatisfy { child in
        let other = all(child, for: schema).first { $0.position == candidate.position }
        joined.ranges += other?.ranges ?? []
        return other != nil
      }
      if isCommon { return joined }
    }
    return nil
  }

  private static func access(
    _ column: Int, _ schema: TypeSchema, _ ranges: (PropertySchema) -> [Range]?
  ) -> [IndexAccess] {
    guard schema.properties.indices.contains(column) else { return [] }
    let position: Int
    if case .indexed(column) = schema.keyKind {
      position = -1
    } else if let found = schema.indexedColumns.firstIndex(of: column) {
      position = found
    } else {
      return []
    }
    guard let ranges = ranges(schema.properties[column]) else { return [] }
    return [IndexAccess(position: position, ranges: ranges)]
  }

  /// Where a comparison can match; nil: no use asking the index.
  private static func range(_ property: PropertySchema, _ comparison: Predicate.Comparison, _ value: Value) -> Range? {
    var key = IndexKey()
    guard key.encode(value, type: property.type, isOptional: property.isOptional) else { return nil }
    if value == .null {
      // nil equals nil, and is neither less nor greater.
      guard comparison == .equal || comparison == .lessOrEqual || comparison == .greaterOrEqual else { return nil }
      return Range(lower: Bound(key, isAfter: false), upper: Bound(key, isAfter: true))
    }
    var first = IndexKey()
    first.encodeFirstValue(isOptional: property.isOptional)
    switch comparison {
    case .notEqual: return nil
    case .equal: return Range(lower: Bound(key, isAfter: false), upper: Bound(key, isAfter: true))
    case .less, .lessOrEqual:
      return Range(lower: Bound(first, isAfter: false), upper: upper(&key, isAfter: comparison == .lessOrEqual))
    case .greater, .greaterOrEqual:
      if !key.isOrdered {
        key.widenToLowerBound()
        return Range(lower: Bound(key, isAfter: false), upper: nil)
      }
      return Range(lower: Bound(key, isAfter: comparison == .greater), upper: nil)
    }
  }

  private static func upper(_ key: inout IndexKey, isAfter: Bool) -> Bound? {
    if key.isOrdered { return Bound(key, isAfter: isAfter) }
    return key.widenToUpperBound() ? Bound(key, isAfter: false) : nil
  }

  private static func prefix(_ property: PropertySchema, _ value: Value) -> Range? {
    guard property.type == .string || property.type == .data else { return nil }
    var key = IndexKey()
    guard key.encode(value, type: property.type, isOptional: property.isOptional), value != .null else { return nil }
    key.widenToLowerBound()
    let lower = Bound(key, isAfter: false)
    return Range(lower: lower, upper: key.makePrefixEnd() ? Bound(key, isAfter: false) : nil)
  }
}

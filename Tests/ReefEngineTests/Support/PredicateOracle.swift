import ReefEngine

/// The semantics of conditions over boxed values, as plainly as they can be said: what every fast path is held to.
enum PredicateOracle {
  static func matches(_ predicate: Predicate, _ row: TestRow) -> Bool {
    switch predicate {
    case .always(let answer): answer
    case .not(let child): !matches(child, row)
    case .and(let children): children.allSatisfy { matches($0, row) }
    case .or(let children): children.contains { matches($0, row) }
    case .compare(let column, let comparison, let value): compares(row.values[column], comparison, value)
    case .between(let column, let lower, let upper, let includesUpper):
      compares(row.values[column], .greaterOrEqual, lower)
        && compares(row.values[column], includesUpper ? .lessOrEqual : .less, upper)
    case .within(let column, let values): values.contains { compares(row.values[column], .equal, $0) }
    case .text(let column, let match, let value): text(row.values[column], match, value)
    }
  }

  static func compares(_ a: Value, _ comparison: Predicate.Comparison, _ b: Value) -> Bool {
    if comparison == .notEqual { return !compares(a, .equal, b) }
    if a == .null || b == .null { return a == b && comparison != .less && comparison != .greater }
    guard let order = order(a, b) else { return false }
    return switch comparison {
    case .equal: order == 0
    case .notEqual: order != 0
    case .less: order < 0
    case .lessOrEqual: order <= 0
    case .greater: order > 0
    case .greaterOrEqual: order >= 0
    }
  }

  /// nil where the two are not ordered: NaN.
  static func order(_ a: Value, _ b: Value) -> Int? {
    switch (a, b) {
    case (.bool(let x), .bool(let y)): return sign(x ? 1 : 0, y ? 1 : 0)
    case (.string(let x), .string(let y)):
      return x.utf8.elementsEqual(y.utf8) ? 0 : x.utf8.lexicographicallyPrecedes(y.utf8) ? -1 : 1
    case (.data(let x), .data(let y)): return x == y ? 0 : x.lexicographicallyPrecedes(y) ? -1 : 1
    case (.uuid(let x), .uuid(let y)): return x.high == y.high ? sign(x.low, y.low) : sign(x.high, y.high)
    case (.date(let x), .date(let y)): return x.isNaN || y.isNaN ? nil : sign(x, y)
    default: return numbers(a, b)
    }
  }

  private static func sign<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : a > b ? 1 : 0 }

  private static func numbers(_ a: Value, _ b: Value) -> Int? {
    switch (integer(a), integer(b)) {
    case (let x?, let y?): return sign(x, y)
    case (let x?, nil):
      guard let y = real(b), !y.isNaN else { return nil }
      if y.isInfinite || abs(y) > 1e30 { return y > 0 ? -1 : 1 }
      let whole = Int128(y.rounded(.down))
      return x == whole ? (y > y.rounded(.down) ? -1 : 0) : sign(x, whole)
    case (nil, _?): return numbers(b, a).map { -$0 }
    case (nil, nil):
      guard let x = real(a), let y = real(b), !x.isNaN, !y.isNaN else { return nil }
      return sign(x, y)
    }
  }

  private static func integer(_ value: Value) -> Int128? {
    switch value {
    case .int(let int): Int128(int)
    case .uint(let uint): Int128(uint)
    default: nil
    }
  }

  private static func real(_ value: Value) -> Double? {
    switch value {
    case .double(let double): double
    case .float(let float): Double(float)
    default: nil
    }
  }

  private static func text(_ value: Value, _ match: Predicate.TextMatch, _ needle: Value) -> Bool {
    if value == .null || needle == .null { return false }
    let (bytes, part) = (TestArena.bytes(value), TestArena.bytes(needle))
    switch match {
    case .prefix: return bytes.starts(with: part)
    case .suffix: return bytes.reversed().starts(with: part.reversed())
    case .contains:
      guard bytes.count >= part.count else { return false }
      return (0...(bytes.count - part.count)).contains { bytes[$0...].starts(with: part) }
    }
  }
}

extension TestRandom {
  /// A condition over any columns, its constants often taken from the rows so that it matches some.
  mutating func predicate(_ schema: TypeSchema, _ rows: [TestRow], depth: Int = 3) -> Predicate {
    if depth > 0, chance(2) {
      let children = (0..<below(4)).map { _ in predicate(schema, rows, depth: depth - 1) }
      switch below(3) {
      case 0: return .not(predicate(schema, rows, depth: depth - 1))
      case 1: return .and(children)
      default: return .or(children)
      }
    }
    if chance(30) { return .always(chance(2)) }
    let column = chance(5) ? 0 : below(schema.properties.count)
    let type = schema.properties[column].type
    func constant() -> Value { self.constant(column, schema, rows) }
    switch below(type == .string || type == .data ? 6 : 4) {
    case 0, 1:
      let comparisons: [Predicate.Comparison] = [.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual]
      return .compare(column: column, pick(comparisons), constant())
    case 2:
      let (a, b) = (constant(), constant())
      let swap = (PredicateOracle.order(a, b) ?? 0) > 0 && !chance(5)
      return .between(column: column, lower: swap ? b : a, upper: swap ? a : b, includesUpper: chance(2))
    case 3:
      return .within(column: column, (0..<below(chance(2) ? 4 : 20)).map { _ in constant() })
    default:
      var value = constant()
      if case .string(let string) = value {
        let scalars = Array(string.unicodeScalars)
        var part = String.UnicodeScalarView()
        part.append(contentsOf: scalars.dropFirst(below(scalars.count + 1)).prefix(1 + below(4)))
        if chance(2) { value = .string(String(part)) }
      }
      if case .data(let data) = value, chance(2) {
        value = .data(Array(data.dropFirst(below(data.count + 1)).prefix(1 + below(4))))
      }
      return .text(column: column, pick([.prefix, .suffix, .contains]), value)
    }
  }

  private mutating func constant(_ column: Int, _ schema: TypeSchema, _ rows: [TestRow]) -> Value {
    let property = schema.properties[column]
    if chance(15) { return .null }
    if chance(12) {
      switch property.type {
      case .bool, .string, .data, .uuid, .date: break
      default:
        return pick([
          .int(.max), .int(.min), .uint(.max), .double(2.5), .double(-0.0), .double(.infinity), .double(-.infinity),
          .double(.nan), .float(3), .double(1e300), .int(1 << 53 + 1), .double(0x1p63), .double(-0x1p63), .float(.nan),
        ])
      }
    }
    if chance(4) || rows.isEmpty { return value(property.type, spread: below(4)) }
    return pick(rows).values[column]
  }
}

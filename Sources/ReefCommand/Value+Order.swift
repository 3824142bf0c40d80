import ReefEngine

extension Value {
  /// Below 0: this one comes first; 0: equal. The order of two values of one property: nil, then NaN, then numbers; false,
  /// true; text and bytes by byte.
  func order(_ other: Value) -> Int {
    func compare<C: Comparable>(_ a: C, _ b: C) -> Int { a < b ? -1 : (b < a ? 1 : 0) }
    func compare(bytes a: some Sequence<UInt8>, _ b: some Sequence<UInt8>) -> Int {
      a.lexicographicallyPrecedes(b) ? -1 : (b.lexicographicallyPrecedes(a) ? 1 : 0)
    }
    func compare(numbers a: Double, _ b: Double) -> Int {
      a.isNaN || b.isNaN ? compare(a.isNaN ? 0 : 1, b.isNaN ? 0 : 1) : compare(a, b)
    }
    return switch (self, other) {
    case (.null, .null): 0
    case (.null, _): -1
    case (_, .null): 1
    case (.bool(let a), .bool(let b)): compare(a ? 1 : 0, b ? 1 : 0)
    case (.int(let a), .int(let b)): compare(a, b)
    case (.uint(let a), .uint(let b)): compare(a, b)
    case (.float(let a), .float(let b)): compare(numbers: Double(a), Double(b))
    case (.double(let a), .double(let b)), (.date(let a), .date(let b)): compare(numbers: a, b)
    case (.string(let a), .string(let b)): compare(bytes: a.utf8, b.utf8)
    case (.data(let a), .data(let b)): compare(bytes: a, b)
    case (.uuid(let a), .uuid(let b)): a.high == b.high ? compare(a.low, b.low) : compare(a.high, b.high)
    default: 0
    }
  }
}

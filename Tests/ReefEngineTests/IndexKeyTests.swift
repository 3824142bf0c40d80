import Testing

@testable import ReefEngine

/// The order of encoded keys is the order of values, by a comparison that knows nothing of the encoding.
@Suite struct IndexKeyTests {
  @Test(arguments: ValueType.allCases, [false, true])
  func orderOfValues(_ type: ValueType, _ isOptional: Bool) throws {
    var random = TestRandom(seed: freshSeed("orderOfValues \(type)"))
    var values = (0..<300).map { random.value(type, spread: $0 % 4) } + Self.edges(type)
    if isOptional { values.append(.null) }
    var one = IndexKey()
    var two = IndexKey()
    for a in values {
      let fits = one.encode(a, type: type, isOptional: isOptional)
      #expect(fits)
      for b in values {
        _ = two.encode(b, type: type, isOptional: isOptional)
        let expected = Self.order(a, b)
        let found = IndexKey.compare(one, two).signum()
        if one.isOrdered || two.isOrdered {
          #expect(found == expected, "\(a) and \(b)")
        } else {
          // Both are long: equal values have equal keys, and different first bytes decide.
          #expect((found == 0) == (expected == 0), "\(a) and \(b)")
        }
      }
    }
  }

  static func edges(_ type: ValueType) -> [Value] {
    switch type {
    case .float:
      [.float(.nan), .float(-.nan), .float(-0.0), .float(0), .float(-.infinity), .float(.greatestFiniteMagnitude)]
    case .double:
      [.double(.nan), .double(-.nan), .double(-0.0), .double(0), .double(-.infinity), .double(-.leastNonzeroMagnitude)]
    case .string:
      [.string(""), .string("\0"), .string("a"), .string("a\0"), .string("aaaaaaaa"), .string("aaaaaaaa\0")]
    case .data:
      [
        .data([]), .data([0]), .data([255]), .data([UInt8](repeating: 0, count: 8)),
        .data([UInt8](repeating: 0, count: 9)),
      ]
    case .uint64: [.uint(0), .uint(.max), .uint(1 << 63)]
    case .uuid:
      [
        .uuid(UUIDBytes(high: .max, low: 0)), .uuid(UUIDBytes(high: 0, low: .max)),
        .uuid(UUIDBytes(high: 1 << 63, low: 1)),
      ]
    default: []
    }
  }

  /// docs/semantics.md, "Order"
  static func order(_ a: Value, _ b: Value) -> Int {
    func three<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : a == b ? 0 : 1 }
    func real(_ a: Double, _ b: Double) -> Int {
      if a.isNaN || b.isNaN { return three(a.isNaN ? 0 : 1, b.isNaN ? 0 : 1) }
      return three(a, b)
    }
    func bytes(_ a: some Sequence<UInt8>, _ b: some Sequence<UInt8>) -> Int {
      a.lexicographicallyPrecedes(b) ? -1 : a.elementsEqual(b) ? 0 : 1
    }
    switch (a, b) {
    case (.null, .null): return 0
    case (.null, _): return -1
    case (_, .null): return 1
    case (.bool(let a), .bool(let b)): return three(a ? 1 : 0, b ? 1 : 0)
    case (.int(let a), .int(let b)): return three(a, b)
    case (.uint(let a), .uint(let b)): return three(a, b)
    case (.float(let a), .float(let b)): return real(Double(a), Double(b))
    case (.double(let a), .double(let b)), (.date(let a), .date(let b)): return real(a, b)
    case (.string(let a), .string(let b)): return bytes(a.utf8, b.utf8)
    case (.data(let a), .data(let b)): return bytes(a, b)
    case (.uuid(let a), .uuid(let b)): return three(a.high, b.high) != 0 ? three(a.high, b.high) : three(a.low, b.low)
    default: return 2
    }
  }

  @Test func refusesOtherKinds() {
    var key = IndexKey()
    let accepted = [
      key.encode(.null, type: .int64, isOptional: false),
      key.encode(.bool(true), type: .int64, isOptional: false),
      key.encode(.int(1), type: .uint64, isOptional: true),
      key.encode(.double(1), type: .date, isOptional: true),
    ]
    #expect(!accepted.contains(true))
  }

  @Test(arguments: [false, true])
  func longValues(_ isOptional: Bool) {
    let tag = isOptional ? 1 : 0
    var one = IndexKey()
    var two = IndexKey()
    for length in 240...300 {
      one.encode(string: String(repeating: "x", count: length), isOptional: isOptional)
      expectOrder(one.length == min(256, length + tag))
      expectOrder(one.isExact == (length + tag < 256))
      expectOrder(one.isOrdered == (length + tag <= 248))
      two.encode(string: String(repeating: "x", count: length) + "y", isOptional: isOptional)
      expectOrder(IndexKey.compare(one, two) != 0)
      // A short prefix is below all of them, its end above.
      two.encode(string: String(repeating: "x", count: 200), isOptional: isOptional)
      expectOrder(IndexKey.compare(two, one) < 0)
      let isBounded = two.makePrefixEnd()
      expectOrder(isBounded && IndexKey.compare(two, one) > 0)
      // So are the widened bounds.
      two.encode(string: String(repeating: "x", count: length), isOptional: isOptional)
      two.widenToLowerBound()
      expectOrder(two.isOrdered && IndexKey.compare(two, one) <= 0)
      two.encode(string: String(repeating: "x", count: length), isOptional: isOptional)
      let isOpen = !two.widenToUpperBound()
      expectOrder(!isOpen && IndexKey.compare(two, one) > 0)
    }
  }

  @Test func prefixEnds() {
    var key = IndexKey()
    func end(_ bytes: [UInt8]) -> [UInt8]? {
      key.set(bytes)
      return key.makePrefixEnd() ? key.bytes : nil
    }
    #expect(end([97, 98]) == [97, 99])
    #expect(end([97, 255, 255]) == [98])
    #expect(end([255, 255]) == nil)
    #expect(end([]) == nil)
    key.encodeFirstValue(isOptional: true)
    expectOrder(key.bytes == [1])
    key.encodeNil()
    expectOrder(key.bytes == [0])
    key.encodeFirstValue(isOptional: false)
    expectOrder(key.bytes == [])
  }

  /// `#expect` copies what it is given; keys cannot be copied.
  private func expectOrder(_ holds: Bool, _ location: SourceLocation = #_sourceLocation) {
    #expect(holds, sourceLocation: location)
  }
}

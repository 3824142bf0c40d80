import ReefEngine

/// SplitMix64: the same numbers from the same seed, everywhere.
struct TestRandom: RandomNumberGenerator {
  var state: UInt64
  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.mix(state)
  }

  static func mix(_ value: UInt64) -> UInt64 {
    var x = value
    x = (x ^ (x >> 30)) &* 0xBF58_476D_1CE4_E5B9
    x = (x ^ (x >> 27)) &* 0x94D0_49BB_1331_11EB
    return x ^ (x >> 31)
  }

  mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }
  mutating func chance(_ one: Int) -> Bool { below(one) == 0 }
  mutating func pick<T>(_ items: [T]) -> T { items[below(items.count)] }
}

/// A seed for this run, printed so that a failure can be repeated.
func freshSeed(_ name: String) -> UInt64 {
  let seed = UInt64.random(in: 1...UInt64(UInt32.max))
  print("\(name): seed \(seed)")
  return seed
}

extension TestRandom {
  /// A value that fits `type`: often a small or an extreme one, so that widths and ties vary.
  mutating func value(_ type: ValueType, spread: Int) -> Value {
    switch type {
    case .bool: return .bool(chance(2))
    case .int8: return .int(Int64(Int8(truncatingIfNeeded: integer(spread))))
    case .int16: return .int(Int64(Int16(truncatingIfNeeded: integer(spread))))
    case .int32: return .int(Int64(Int32(truncatingIfNeeded: integer(spread))))
    case .int64: return .int(integer(spread))
    case .uint8: return .int(Int64(UInt8(truncatingIfNeeded: integer(spread))))
    case .uint16: return .int(Int64(UInt16(truncatingIfNeeded: integer(spread))))
    case .uint32: return .int(Int64(UInt32(truncatingIfNeeded: integer(spread))))
    case .uint64: return .uint(UInt64(bitPattern: integer(spread)))
    case .float: return .float(Float(real(spread)))
    case .double: return .double(real(spread))
    case .date: return .date(real(spread))
    case .string: return .string(text(spread))
    case .data: return .data(bytes(spread))
    case .uuid:
      return .uuid(UUIDBytes(high: chance(2) ? 7 : UInt64(bitPattern: integer(spread)), low: UInt64(below(5))))
    }
  }

  private mutating func integer(_ spread: Int) -> Int64 {
    switch spread {
    case 0: Int64(below(20)) - 10
    case 1: Int64(below(100_000)) - 50_000
    case 2: Int64(Int32(truncatingIfNeeded: next()))
    default: chance(4) ? pick([.min, .max, .min + 1, .max - 1, 0, -1, 255, 256, 1 << 32]) : Int64(bitPattern: next())
    }
  }

  private mutating func real(_ spread: Int) -> Double {
    if chance(12) { return pick([.nan, .infinity, -.infinity, 0.0, -0.0, .leastNonzeroMagnitude, 1e300, -1e300]) }
    return spread == 0 ? Double(below(20)) - 10 : Double(below(1_000_000)) / 7 - 70_000
  }

  private mutating func text(_ spread: Int) -> String {
    switch spread {
    case 0: return String((0..<3).map { _ in pick(["a", "b", "c"]) }.joined())
    case 1:
      return (0..<below(12)).map { _ in pick(["a", "b", "é", "e\u{301}", "\u{1F600}", "Z", "\u{0}"]) }.joined()
    default:
      if chance(40) { return String(repeating: pick(["long", "lang"]), count: 130 + below(200)) }
      return (0..<below(40)).map { _ in pick(["a", "b", "x", "\u{ffff}"]) }.joined()
    }
  }

  private mutating func bytes(_ spread: Int) -> [UInt8] {
    let count = spread == 0 ? 4 : chance(50) ? 600 + below(500) : below(20)
    return (0..<count).map { _ in pick([0, 1, 127, 128, 255]) }
  }
}

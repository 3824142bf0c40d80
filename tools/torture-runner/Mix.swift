/// Random numbers that a seed repeats.
struct Mix {
  private var state: UInt64
  init(_ seed: UInt64, _ stream: UInt64 = 0) { state = seed &* 0xD134_2543_DE82_EF95 ^ stream &* 0x9E37_79B9_7F4A_7C15 }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }

  /// 0 ..< bound.
  mutating func below(_ bound: Int) -> Int { bound <= 1 ? 0 : Int(next() % UInt64(bound)) }
  mutating func chance(_ one: Int) -> Bool { below(one) == 0 }
  mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: next()) }
  mutating func pick<Element>(_ list: [Element]) -> Element { list[below(list.count)] }
}

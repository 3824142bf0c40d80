import Testing

@testable import ReefEngine

/// The order of codes against a stable sort of the library, for codes that differ in their high bits, their low bits, few
/// and many, and for each way of packing them with their places.
@Suite struct RadixOrderTests {
  @Test(arguments: [0, 1, 2, 24, 25, 255, 256, 257, 300, 1024, 5000, 70_000])
  func ordersAreStable(_ count: Int) {
    var random = TestRandom(seed: freshSeed("ordersAreStable \(count)"))
    for pattern in 0..<12 {
      let codes = codes(count, pattern, &random)
      let expected = codes.indices.sorted { (codes[$0], $0) < (codes[$1], $1) }
      let places = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: count)
      defer { places.deallocate() }
      codes.withUnsafeBufferPointer { RadixOrder.order($0, into: places) }
      if !places.elementsEqual(expected.map { UInt64($0) }) { Issue.record("\(count) codes of pattern \(pattern)") }

      // Some of the places, in an order of their own, which ties keep.
      var some = (0..<UInt32(count)).filter { _ in random.chance(2) }
      some.shuffle(using: &random)
      let ranks = Dictionary(uniqueKeysWithValues: some.enumerated().map { ($0.element, $0.offset) })
      let sorted = some.sorted { a, b in
        let (x, y) = (codes[Int(a)], codes[Int(b)])
        return x != y ? x < y : ranks[a, default: 0] < ranks[b, default: 0]
      }
      some.withUnsafeMutableBufferPointer { some in
        codes.withUnsafeBufferPointer { if let base = $0.baseAddress { RadixOrder.sort(some, by: base) } }
      }
      if some != sorted { Issue.record("\(sorted.count) places of \(count) codes of pattern \(pattern)") }
    }
  }

  private func codes(_ count: Int, _ pattern: Int, _ random: inout TestRandom) -> [UInt64] {
    let bits = random.below(64)
    let high = random.next()
    return (0..<count).map { index in
      switch pattern {
      case 0: random.next()
      case 1: 7
      case 2: random.next() >> UInt64(bits)
      case 3: random.next() << UInt64(bits)
      case 4: high & ~0xffff | random.next() & 0xffff
      case 5: random.chance(2) ? random.next() & 3 : ~(random.next() & 0xfffff)  // all passes tie, twice
      case 6: UInt64(index)
      case 7: .max - UInt64(index) << 20
      case 8: high ^ (random.chance(2) ? 1 << 63 : 0) ^ (random.chance(2) ? 1 : 0)
      case 9: random.chance(3) ? 0 : random.chance(2) ? .max : 1 << 63
      case 10: UInt64(random.below(12)) << 60 | random.next() & 0x3ff  // ties in what is packed, not in the code
      default: Double(Double(random.below(1000)) / 7).bitPattern ^ (1 << 63)
      }
    }
  }
}

import CReefKernels
import Testing

/// Sums of doubles are the true sum, rounded once. The vector way against the plain one, and against whole numbers.
@Suite struct ExactSumTests {
  private static let masks: [[UInt64]] = [
    [.max, .max, .max, .max], [.max, .max, .max, 0], [.max, 0xff, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [.max, 0, 1, 0],
    [0xf7ff, 0, 0, 0], [0, .max, .max, .max], [.max, .max, .max, .max >> 1],
  ]

  private func mask(_ random: inout TestRandom) -> [UInt64] {
    random.chance(2) ? random.pick(Self.masks) : (0..<4).map { _ in random.next() & random.next() }
  }

  private func isSame(_ a: Double, _ b: Double) -> Bool { a == b || a.isNaN && b.isNaN }

  /// Any bits at all, ends of the range, signs, zeros, and leaves after one another.
  @Test func vectorAgreesWithPlain() {
    var random = TestRandom(seed: freshSeed("vectorAgreesWithPlain"))
    for round in 0..<3000 {
      var (vector, plain) = (reef_double_aggregate(), reef_double_aggregate())
      reef_aggregate_begin(&vector)
      reef_aggregate_begin(&plain)
      let kind = random.below(9)
      let center = random.below(2047)
      for _ in 0..<(1 + random.below(3)) {
        let values = (0..<256).map { _ in value(kind, center, &random) }
        let mask = mask(&random)
        reef_aggregate_double(values, mask, &vector)
        reef_aggregate_double_plainly(values, mask, &plain)
      }
      let (a, b) = (reef_aggregate_sum(&vector), reef_aggregate_sum(&plain))
      if !isSame(a, b) || a.sign != b.sign && !a.isNaN { Issue.record("round \(round) kind \(kind): \(a), not \(b)") }
      #expect(vector.least == plain.least && vector.most == plain.most && vector.numbers == plain.numbers)
      #expect(vector.has_nan == plain.has_nan && vector.has_infinity == plain.has_infinity)
      #expect(vector.has_negative_infinity == plain.has_negative_infinity)
    }
  }

  private func value(_ kind: Int, _ center: Int, _ random: inout TestRandom) -> Double {
    let sign: UInt64 = random.chance(2) ? 1 << 63 : 0
    let fraction = random.next() >> 12
    func double(_ exponent: Int) -> Double {
      Double(bitPattern: sign | UInt64(min(max(exponent, 0), 2046)) << 52 | fraction)
    }
    switch kind {
    case 0: return Double(bitPattern: random.next())  // NaN and infinities among them
    case 1: return double(center)
    case 2: return double(center + random.below(50))  // about what two parts hold, and more
    case 3: return random.chance(2) ? double(center) : random.pick([0.0, -0.0])
    case 4: return random.pick([0.0, -0.0])
    case 5: return double(0)  // subnormal
    case 6: return double(2046)
    case 7: return random.chance(200) ? random.pick([.nan, .infinity, -.infinity]) : double(1023)
    default: return random.chance(2) ? double(center) : -Double(bitPattern: UInt64(center) << 52)
    }
  }

  /// Whole numbers of up to 100 bits times a power of two, added in 128 bits.
  @Test func wholeNumbers() {
    var random = TestRandom(seed: freshSeed("wholeNumbers"))
    var inParts = 0
    // What the last leaf left, whatever its magnitudes were.
    var exponent: Int32 = 0
    for round in 0..<3000 {
      let range = random.below(46)
      let scale = Double(sign: .plus, exponent: random.below(1200) - 600, significand: 1)
      let wide = (0..<256).map { _ in
        let number = Int128(Int64(bitPattern: random.next()) >> 11) << Int128(random.below(range + 1))
        return random.chance(20) ? 0 : number
      }
      let values = wide.map { Double($0) * scale }
      let mask = mask(&random)
      var aggregate = reef_double_aggregate()
      reef_aggregate_begin(&aggregate)
      reef_aggregate_double(values, mask, &aggregate)
      let expected = wide.indices.reduce(Int128(0)) { sum, row in
        mask[row >> 6] >> UInt64(row & 63) & 1 != 0 ? sum + wide[row] : sum
      }
      let sum = reef_aggregate_sum(&aggregate)
      if sum != Double(expected) * scale { Issue.record("round \(round): \(sum), not \(Double(expected) * scale)") }

      // The parts by themselves: their sum is not rounded.
      let count = 8 * (1 + random.below(32))
      var parts = [0.0, 0.0]
      var (least, most) = (0.0, 0.0)
      guard reef_sum_parts(values, UInt32(count), &exponent, &parts, &least, &most) != 0 else { continue }
      inParts += 1
      #expect(Int128(parts[0] / scale) + Int128(parts[1] / scale) == wide.prefix(count).reduce(0, +))
      #expect(least == values.prefix(count).min() && most == values.prefix(count).max())
    }
    // Else nothing was tested.
    #expect(inParts > 1000)
  }

  /// The largest values of one sign: the sums of parts come as near to their limit as they can.
  @Test func fullLeaves() {
    var exponent: Int32 = 0
    let values = [1, Double(1).nextDown, -Double(1).nextDown, 0x1.8p-600, 0x1.fffffffffffffp899]
    for value in values {
      let values = [Double](repeating: value, count: 256)
      var parts = [0.0, 0.0]
      var (least, most) = (0.0, 0.0)
      #expect(reef_sum_parts(values, 256, &exponent, &parts, &least, &most) == 1)
      #expect(parts[0] + parts[1] == value * 256 && least == value && most == value)
    }
    var parts = [0.0, 0.0]
    var (least, most) = (0.0, 0.0)
    for value in [Double.nan, .infinity, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude] {
      for place in [0, 7, 100, 255] {
        var values = [Double](repeating: 1, count: 256)
        values[place] = value
        #expect(reef_sum_parts(values, 256, &exponent, &parts, &least, &most) == 0, "\(value) at \(place)")
      }
    }
  }

  @Test func floats() {
    var random = TestRandom(seed: freshSeed("floats"))
    for _ in 0..<500 {
      let values = (0..<256).map { _ in
        random.chance(100)
          ? Float(bitPattern: UInt32(truncatingIfNeeded: random.next())) : Float(random.below(1 << 24)) / 7
      }
      let mask = mask(&random)
      var (a, b) = (reef_double_aggregate(), reef_double_aggregate())
      reef_aggregate_begin(&a)
      reef_aggregate_begin(&b)
      reef_aggregate_float(values, mask, &a)
      reef_aggregate_double_plainly(values.map(Double.init), mask, &b)
      #expect(isSame(reef_aggregate_sum(&a), reef_aggregate_sum(&b)))
      #expect(a.least == b.least && a.most == b.most && a.numbers == b.numbers)
    }
  }
}

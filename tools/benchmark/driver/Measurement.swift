/// What one run of one program gave for one variant of a workload.
struct Measurement: Codable {
  var variant: String
  var value: Double
  var unit: String
  /// Percentiles and the like, averaged by median over the runs as the value is.
  var extra: [String: Double] = [:]
  /// What the program computed: equal for all programs, or the comparison is void.
  var check: UInt64?

  /// Rates are better when they are high, times and sizes when they are low.
  var higherIsBetter: Bool { unit.hasSuffix("/s") }
}

/// Percentiles of samples, by nearest rank.
struct Percentiles {
  var sorted: [Double]
  init(_ samples: [Double]) { sorted = samples.sorted() }

  func at(_ fraction: Double) -> Double {
    guard !sorted.isEmpty else { return .nan }
    return sorted[min(sorted.count - 1, Int(Double(sorted.count) * fraction))]
  }
}

func median(_ values: [Double]) -> Double {
  let sorted = values.sorted()
  guard !sorted.isEmpty else { return .nan }
  let middle = sorted.count / 2
  return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/// Object keys, as ascending disjoint closed ranges: which part of a table a condition can match in.
package struct KeyRanges: Equatable, Sendable {
  package struct Range: Equatable, Sendable {
    package var lower: Int64
    package var upper: Int64
    package init(_ lower: Int64, _ upper: Int64) {
      self.lower = lower
      self.upper = upper
    }
  }
  package private(set) var ranges: [Range]

  package static let all = KeyRanges([Range(.min, .max)])
  package static let none = KeyRanges([])

  private init(_ ranges: [Range]) { self.ranges = ranges }

  package init(_ lower: Int64, _ upper: Int64) { ranges = lower <= upper ? [Range(lower, upper)] : [] }

  package init(keys: [Int64]) { ranges = Self.joined(keys.map { Range($0, $0) }) }

  package var isAll: Bool { self == .all }

  package func contains(_ key: Int64) -> Bool {
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upper < key { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].lower <= key
  }

  package func union(_ other: KeyRanges) -> KeyRanges { KeyRanges(Self.joined(ranges + other.ranges)) }

  package func intersection(_ other: KeyRanges) -> KeyRanges {
    var result: [Range] = []
    var i = 0
    var j = 0
    while i < ranges.count, j < other.ranges.count {
      let a = ranges[i]
      let b = other.ranges[j]
      let lower = max(a.lower, b.lower)
      let upper = min(a.upper, b.upper)
      if lower <= upper { result.append(Range(lower, upper)) }
      if a.upper < b.upper { i += 1 } else { j += 1 }
    }
    return KeyRanges(result)
  }

  package var complement: KeyRanges {
    var result: [Range] = []
    var next: Int64 = .min
    for range in ranges {
      if range.lower > next { result.append(Range(next, range.lower - 1)) }
      guard range.upper < .max else { return KeyRanges(result) }
      next = range.upper + 1
    }
    result.append(Range(next, .max))
    return KeyRanges(result)
  }

  private static func joined(_ ranges: [Range]) -> [Range] {
    var result: [Range] = []
    for range in ranges.sorted(by: { $0.lower < $1.lower }) {
      if let last = result.last, last.upper == .max || range.lower <= last.upper + 1 {
        result[result.count - 1].upper = max(last.upper, range.upper)
      } else {
        result.append(range)
      }
    }
    return result
  }
}

/// Which properties of an object changed. The first 64 need no allocation.
package struct ColumnSet: Hashable, Sendable {
  /// Bit i: column i.
  package private(set) var low: UInt64 = 0
  /// Words for columns 64 and up; no trailing zero words, so that equal sets are equal.
  private var rest: [UInt64] = []

  package init() {}
  package init(_ columns: some Sequence<Int>) { for column in columns { insert(column) } }

  package var isEmpty: Bool { low == 0 && rest.isEmpty }
  package var count: Int { rest.reduce(low.nonzeroBitCount) { $0 + $1.nonzeroBitCount } }

  package mutating func insert(_ column: Int) {
    guard column >= 64 else {
      low |= 1 << UInt64(column)
      return
    }
    let word = column / 64 - 1
    while rest.count <= word { rest.append(0) }
    rest[word] |= 1 << UInt64(column % 64)
  }

  package func contains(_ column: Int) -> Bool {
    guard column >= 64 else { return low >> UInt64(column) & 1 != 0 }
    let word = column / 64 - 1
    return word < rest.count && rest[word] >> UInt64(column % 64) & 1 != 0
  }

  package func isDisjoint(with other: ColumnSet) -> Bool {
    low & other.low == 0 && zip(rest, other.rest).allSatisfy { $0 & $1 == 0 }
  }

  package mutating func formUnion(_ other: ColumnSet) {
    low |= other.low
    while rest.count < other.rest.count { rest.append(0) }
    for index in other.rest.indices { rest[index] |= other.rest[index] }
  }

  /// In ascending order.
  package var columns: [Int] {
    var result: [Int] = []
    for (index, word) in ([low] + rest).enumerated() {
      var left = word
      while left != 0 {
        result.append(index * 64 + left.trailingZeroBitCount)
        left &= left &- 1
      }
    }
    return result
  }
}

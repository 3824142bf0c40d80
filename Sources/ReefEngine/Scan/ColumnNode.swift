import CReefKernels

/// A condition on one column. nil never matches one: conditions that nil does match are complements, or `NullNode`.
class ColumnNode: PredicateNode, @unchecked Sendable {
  let column: Int
  let isOptional: Bool

  init(column: Int, isOptional: Bool) {
    self.column = column
    self.isOptional = isOptional
  }

  override var cost: Int { 20 }
  override var columns: [Int] { [column] }
  /// Whether the value that an absent column stands for matches: false, 0, "".
  var matchesZero: Bool { false }
  /// Rows that match, nil and rows beyond the leaf left to the caller to strike.
  func test(_ column: ColumnView, _ candidates: Selection, count: Int) throws(StoreError) -> Selection {
    .none
  }
  func test(_ column: ColumnView, _ row: Int) throws(StoreError) -> Bool { false }

  final override func select(_ leaf: LeafView, _ candidates: Selection) throws(StoreError) -> Selection {
    let values = try leaf.column(column)
    if values.isAbsent { return !isOptional && matchesZero ? candidates : .none }
    let result = try test(values, candidates, count: leaf.count) & candidates
    guard isOptional, let nulls = values.nulls else { return result }
    return result.subtracting(Selection(nulls))
  }

  final override func matches(_ leaf: LeafView, _ row: Int) throws(StoreError) -> Bool {
    let values = try leaf.column(column)
    if values.isAbsent { return !isOptional && matchesZero }
    if isOptional, values.isNull(row) { return false }
    return try test(values, row)
  }

  /// The answer for a form that does not hold what the schema says: such values read as zero.
  final func zeroes(_ candidates: Selection) -> Selection { matchesZero ? candidates : .none }
}

final class NullNode: PredicateNode, @unchecked Sendable {
  let column: Int
  init(column: Int) { self.column = column }
  override var columns: [Int] { [column] }

  override func select(_ leaf: LeafView, _ candidates: Selection) throws(StoreError) -> Selection {
    let values = try leaf.column(column)
    if values.isAbsent { return candidates }
    guard let nulls = values.nulls else { return .none }
    return Selection(nulls) & candidates
  }

  override func matches(_ leaf: LeafView, _ row: Int) throws(StoreError) -> Bool {
    try leaf.column(column).isNull(row)
  }
}

final class BoolNode: ColumnNode, @unchecked Sendable {
  let matchesFalse: Bool
  let matchesTrue: Bool
  init(column: Int, isOptional: Bool, matchesFalse: Bool, matchesTrue: Bool) {
    self.matchesFalse = matchesFalse
    self.matchesTrue = matchesTrue
    super.init(column: column, isOptional: isOptional)
  }
  override var cost: Int { 4 }
  override var matchesZero: Bool { matchesFalse }

  override func test(
    _ column: ColumnView, _ candidates: Selection, count: Int
  ) throws(StoreError) -> Selection {
    guard column.form == ColumnForm.bits else { return zeroes(candidates) }
    var bits = Selection.none
    for word in 0..<(count &+ 63) / 64 {
      bits.words[word] = column.values.load(fromByteOffset: word &* 8, as: UInt64.self)
    }
    switch (matchesFalse, matchesTrue) {
    case (true, true): return candidates
    case (false, false): return .none
    case (false, true): return bits
    case (true, false): return candidates.subtracting(bits)
    }
  }
  override func test(_ column: ColumnView, _ row: Int) throws(StoreError) -> Bool {
    column.bool(row) ? matchesTrue : matchesFalse
  }
}

final class UUIDNode: ColumnNode, @unchecked Sendable {
  let lower: UUIDBytes
  let upper: UUIDBytes
  init(column: Int, isOptional: Bool, lower: UUIDBytes, upper: UUIDBytes) {
    self.lower = lower
    self.upper = upper
    super.init(column: column, isOptional: isOptional)
  }
  override var cost: Int { 60 }
  override var matchesZero: Bool { contains(UUIDBytes(high: 0, low: 0)) }

  private func contains(_ uuid: UUIDBytes) -> Bool { lower <= uuid && uuid <= upper }

  override func test(
    _ column: ColumnView, _ candidates: Selection, count: Int
  ) throws(StoreError) -> Selection {
    guard column.form == ColumnForm.uuid else { return zeroes(candidates) }
    var result = Selection.none
    _ = candidates.forEach { row in
      if contains(column.uuid(row)) { result.words[row &>> 6] |= 1 &<< UInt64(row & 63) }
      return true
    }
    return result
  }
  override func test(_ column: ColumnView, _ row: Int) throws(StoreError) -> Bool {
    contains(column.uuid(row))
  }
}

extension UUIDBytes: Comparable {
  public static func < (a: UUIDBytes, b: UUIDBytes) -> Bool { a.high == b.high ? a.low < b.low : a.high < b.high }
}

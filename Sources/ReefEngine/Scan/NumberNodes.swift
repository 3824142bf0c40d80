import CReefKernels

/// A range of integers, signed or (UInt64) unsigned; the column's bytes say how wide they are in this leaf.
final class IntegerNode: ColumnNode, @unchecked Sendable {
  let lower: Int64
  let upper: Int64
  init(column: Int, isOptional: Bool, lower: Int64, upper: Int64) {
    self.lower = lower
    self.upper = upper
    super.init(column: column, isOptional: isOptional)
  }
  override var matchesZero: Bool { lower <= 0 && 0 <= upper }

  override func test(
    _ column: ColumnView, _ candidates: Selection, count: Int
  ) throws(StoreError) -> Selection {
    let values = column.values
    let rows = UInt32(truncatingIfNeeded: count)
    switch column.form {
    case ColumnForm.int8:
      guard let (lo, hi) = clamped(to: Int8.self) else { return .none }
      return .made { reef_range_8(values, rows, UInt8(bitPattern: lo), UInt8(bitPattern: hi), $0) }
    case ColumnForm.int16:
      guard let (lo, hi) = clamped(to: Int16.self) else { return .none }
      return .made { reef_range_16(values, rows, UInt16(bitPattern: lo), UInt16(bitPattern: hi), $0) }
    case ColumnForm.int32:
      guard let (lo, hi) = clamped(to: Int32.self) else { return .none }
      return .made { reef_range_32(values, rows, UInt32(bitPattern: lo), UInt32(bitPattern: hi), $0) }
    case ColumnForm.int64:
      return .made { reef_range_64(values, rows, UInt64(bitPattern: lower), UInt64(bitPattern: upper), $0) }
    default:
      return zeroes(candidates)
    }
  }

  private func clamped<Word: FixedWidthInteger>(to: Word.Type) -> (Word, Word)? {
    guard lower <= Int64(Word.max), upper >= Int64(Word.min) else { return nil }
    return (Word(clamping: lower), Word(clamping: upper))
  }

  override func test(_ column: ColumnView, _ row: Int) throws(StoreError) -> Bool {
    let value = column.int(row)
    return lower <= value && value <= upper
  }
}

final class UnsignedNode: ColumnNode, @unchecked Sendable {
  let lower: UInt64
  let upper: UInt64
  init(column: Int, isOptional: Bool, lower: UInt64, upper: UInt64) {
    self.lower = lower
    self.upper = upper
    super.init(column: column, isOptional: isOptional)
  }
  override var matchesZero: Bool { lower == 0 }

  override func test(
    _ column: ColumnView, _ candidates: Selection, count: Int
  ) throws(StoreError) -> Selection {
    guard column.form == ColumnForm.int64 else { return zeroes(candidates) }
    let values = column.values
    return .made { reef_range_64(values, UInt32(truncatingIfNeeded: count), lower, upper, $0) }
  }
  override func test(_ column: ColumnView, _ row: Int) throws(StoreError) -> Bool {
    guard column.form == ColumnForm.int64 else { return matchesZero }
    return lower <= column.bits(row) && column.bits(row) <= upper
  }
}

/// A range of doubles, IEEE: NaN lies in none. Dates likewise.
final class DoubleNode: ColumnNode, @unchecked Sendable {
  let lower: Double
  let upper: Double
  init(column: Int, isOptional: Bool, lower: Double, upper: Double) {
    self.lower = lower
    self.upper = upper
    super.init(column: column, isOptional: isOptional)
  }
  override var cost: Int { 30 }
  override var matchesZero: Bool { lower <= 0 && 0 <= upper }

  override func test(
    _ column: ColumnView, _ candidates: Selection, count: Int
  ) throws(StoreError) -> Selection {
    guard column.form == ColumnForm.int64 else { return zeroes(candidates) }
    let values = column.values
    return .made { reef_range_double(values, UInt32(truncatingIfNeeded: count), lower, upper, $0) }
  }
  override func test(_ column: ColumnView, _ row: Int) throws(StoreError) -> Bool {
    let value = column.double(row)
    return lower <= value && value <= upper
  }
}

final class FloatNode: ColumnNode, @unchecked Sendable {
  let lower: Float
  let upper: Float
  init(column: Int, isOptional: Bool, lower: Float, upper: Float) {
    self.lower = lower
    self.upper = upper
    super.init(column: column, isOptional: isOptional)
  }
  override var matchesZero: Bool { lower <= 0 && 0 <= upper }

  override func test(
    _ column: ColumnView, _ candidates: Selection, count: Int
  ) throws(StoreError) -> Selection {
    guard column.form == ColumnForm.float else { return zeroes(candidates) }
    let values = column.values
    return .made { reef_range_float(values, UInt32(truncatingIfNeeded: count), lower, upper, $0) }
  }
  override func test(_ column: ColumnView, _ row: Int) throws(StoreError) -> Bool {
    let value = column.float(row)
    return lower <= value && value <= upper
  }
}

/// Membership of a number in a set too large to try one by one: a sorted array of codes, searched by halving.
final class NumberSetNode: ColumnNode, @unchecked Sendable {
  let type: ValueType
  let codes: [UInt64]
  init(column: Int, isOptional: Bool, type: ValueType, codes: [UInt64]) {
    self.type = type
    self.codes = Array(Set(codes)).sorted()
    super.init(column: column, isOptional: isOptional)
  }
  override var cost: Int { 500 }
  override var matchesZero: Bool { contains(0) }

  /// Equal numbers have equal codes; NaN has none.
  static func code(_ value: Double) -> UInt64? { value.isNaN ? nil : value == 0 ? 0 : value.bitPattern }

  private func contains(_ code: UInt64) -> Bool {
    var low = 0
    var high = codes.count
    while low < high {
      let middle = (low + high) / 2
      if codes[middle] < code { low = middle + 1 } else { high = middle }
    }
    return low < codes.count && codes[low] == code
  }

  override func test(
    _ column: ColumnView, _ candidates: Selection, count: Int
  ) throws(StoreError) -> Selection {
    var result = Selection.none
    _ = try candidates.forEach { (row) throws(StoreError) in
      if try test(column, row) { result.words[row &>> 6] |= 1 &<< UInt64(row & 63) }
      return true
    }
    return result
  }
  override func test(_ column: ColumnView, _ row: Int) throws(StoreError) -> Bool {
    switch type {
    case .double, .date: Self.code(column.double(row)).map(contains) ?? false
    case .float: Self.code(Double(column.float(row))).map(contains) ?? false
    case .uint64: contains(column.form == ColumnForm.int64 ? column.bits(row) : 0)
    default: contains(column.bits(row))
    }
  }
}

import CReefKernels

/// A condition on the bytes of a String or Data column.
final class BytesNode: ColumnNode, @unchecked Sendable {
  enum Relation: Int32 { case equal, prefix, suffix, contains, less, lessOrEqual }

  let relation: Relation
  /// The complement among the values that are not nil: greater is not less-or-equal.
  let isInverted: Bool
  private let needle: UnsafeMutableRawBufferPointer

  init(column: Int, isOptional: Bool, relation: Relation, isInverted: Bool = false, needle: [UInt8]) {
    self.relation = relation
    self.isInverted = isInverted
    // One byte more, so that an empty needle has an address too.
    self.needle = .allocate(byteCount: needle.count + 1, alignment: 16)
    self.needle.initializeMemory(as: UInt8.self, repeating: 0)
    self.needle.copyBytes(from: needle)
    super.init(column: column, isOptional: isOptional)
  }
  deinit { needle.deallocate() }

  override var cost: Int {
    switch relation {
    case .equal: 200
    case .contains: 800
    default: 500
    }
  }
  override var matchesZero: Bool { matches(UnsafeRawBufferPointer(start: nil, count: 0)) }

  private var length: UInt64 { UInt64(needle.count - 1) }

  private func matches(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let start = bytes.baseAddress ?? UnsafeRawPointer(needle.baseAddress!)
    let count = UInt64(bytes.count)
    return (reef_bytes_match(start, count, relation.rawValue, needle.baseAddress, length) != 0) != isInverted
  }

  override func test(
    _ column: ColumnView, _ candidates: Selection, count: Int
  ) throws(StoreError) -> Selection {
    let few = candidates.count
    if few < 24 { return try testOneByOne(column, candidates) }
    let width: UInt32
    switch column.form {
    case ColumnForm.fixed: width = 0
    case ColumnForm.short: width = 2
    case ColumnForm.long: width = 4
    default: return zeroes(candidates)
    }
    var text = reef_text(
      values: column.values, count: UInt32(truncatingIfNeeded: column.count), width: width,
      value_length: UInt32(truncatingIfNeeded: column.valueLength), byte_count: UInt64(column.byteCount))
    var status: Int32 = 0
    var result = Selection.made {
      status = reef_text_match(&text, relation.rawValue, needle.baseAddress, length, $0)
    }
    guard status == 0 else { throw column.view.damaged("the offsets of a column are not in order") }
    if isInverted { result = candidates.subtracting(result) }
    guard let blobs = column.blobs else { return result }
    let long = Selection(blobs) & candidates
    return result.subtracting(long) | (try testOneByOne(column, long))
  }

  private func testOneByOne(
    _ column: ColumnView, _ candidates: Selection
  ) throws(StoreError) -> Selection {
    var result = Selection.none
    _ = try candidates.forEach { (row) throws(StoreError) in
      if try test(column, row) { result.words[row &>> 6] |= 1 &<< UInt64(row & 63) }
      return true
    }
    return result
  }

  override func test(_ column: ColumnView, _ row: Int) throws(StoreError) -> Bool {
    matches(try column.checkedBytes(row))
  }
}

/// Membership of text in a set too large to try one by one.
final class BytesSetNode: ColumnNode, @unchecked Sendable {
  let sorted: [[UInt8]]
  init(column: Int, isOptional: Bool, values: [[UInt8]]) {
    sorted = Array(Set(values)).sorted { $0.lexicographicallyPrecedes($1) }
    super.init(column: column, isOptional: isOptional)
  }
  override var cost: Int { 5000 }
  override var matchesZero: Bool { sorted.first?.isEmpty ?? false }

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
    let bytes = try column.checkedBytes(row)
    var low = 0
    var high = sorted.count
    while low < high {
      let middle = (low + high) / 2
      let order = sorted[middle].withUnsafeBytes { orderOfBytes($0, bytes) }
      if order == 0 { return true }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return false
  }
}

import CReefKernels

/// A run of rows of one property in two leaves: row i + t of the one against row j + t of the other.
struct ColumnPair {
  let a: ColumnView
  let i: Int
  let b: ColumnView
  let j: Int
  let count: Int
  let isOptional: Bool

  /// Bit t: the values differ.
  func differingRows() throws(StoreError) -> Selection {
    let values = try differingValues()
    guard isOptional, a.nulls != nil || b.nulls != nil || a.isAbsent || b.isAbsent else { return values }
    var result = Selection.none
    for t in 0..<count {
      let (x, y) = (a.isNull(i &+ t), b.isNull(j &+ t))
      if x != y || (!x && values.contains(t)) { result.insert(t) }
    }
    return result
  }

  /// Without regard to nil.
  private func differingValues() throws(StoreError) -> Selection {
    guard a.form == b.form else { return try oneByOne() }
    switch a.form {
    case ColumnForm.int8, ColumnForm.int16, ColumnForm.int32, ColumnForm.int64:
      return differingBytes(width: 1 &<< (Int(a.form) &- 1))
    case ColumnForm.float: return differingBytes(width: 4)
    case ColumnForm.uuid: return differingBytes(width: 16)
    case ColumnForm.fixed where a.valueLength == b.valueLength && a.blobs == nil && b.blobs == nil:
      return differingBytes(width: a.valueLength)
    case ColumnForm.bits:
      var result = Selection.none
      for t in 0..<count where a.bool(i &+ t) != b.bool(j &+ t) { result.insert(t) }
      return result
    case ColumnForm.short, ColumnForm.long: return isSameText ? .none : try oneByOne()
    default: return try oneByOne()
    }
  }

  private func differingBytes(width: Int) -> Selection {
    let (x, y) = (a.values + i &* width, b.values + j &* width)
    let rows = UInt32(truncatingIfNeeded: count)
    return .made { reef_differ(x, y, rows, UInt32(truncatingIfNeeded: width), $0) }
  }

  /// Whether the bytes of the whole run are the same, and cut in the same places.
  private var isSameText: Bool {
    guard a.blobs == nil, b.blobs == nil, let (x, first) = span(a, i), let (y, other) = span(b, j), x.count == y.count,
      orderOfBytes(x, y) == 0
    else { return false }
    let shift = other &- first
    for t in 0..<count where end(b, j &+ t) &- end(a, i &+ t) != shift { return false }
    return true
  }

  private func end(_ column: ColumnView, _ row: Int) -> Int {
    column.form == ColumnForm.short
      ? Int(column.values.load(fromByteOffset: row &* 2, as: UInt16.self))
      : Int(column.values.load(fromByteOffset: row &* 4, as: UInt32.self))
  }

  /// The bytes of the run's rows, and where they begin.
  private func span(_ column: ColumnView, _ row: Int) -> (UnsafeRawBufferPointer, Int)? {
    let start = row == 0 ? 0 : end(column, row &- 1)
    let stop = end(column, row &+ count &- 1)
    guard start <= stop, stop <= column.byteCount else { return nil }
    let bytes = column.values + column.count &* (column.form == ColumnForm.short ? 2 : 4)
    return (UnsafeRawBufferPointer(start: bytes + start, count: stop &- start), start)
  }

  /// Stored in two forms: compares the values themselves. An absent column is zero in every form.
  private func oneByOne() throws(StoreError) -> Selection {
    var result = Selection.none
    let form = a.isAbsent ? b.form : a.form
    switch form {
    case ColumnForm.bits:
      for t in 0..<count where a.bool(i &+ t) != b.bool(j &+ t) { result.insert(t) }
    case ColumnForm.int8, ColumnForm.int16, ColumnForm.int32, ColumnForm.int64:
      for t in 0..<count where a.int(i &+ t) != b.int(j &+ t) { result.insert(t) }
    case ColumnForm.float:
      for t in 0..<count where a.float(i &+ t).bitPattern != b.float(j &+ t).bitPattern { result.insert(t) }
    case ColumnForm.uuid:
      for t in 0..<count where a.uuid(i &+ t) != b.uuid(j &+ t) { result.insert(t) }
    case ColumnForm.fixed, ColumnForm.short, ColumnForm.long:
      for t in 0..<count {
        // The same blob, and it is all of the value: need not be read.
        let blob = a.blobEntry(i &+ t)
        if blob != 0, UInt32(truncatingIfNeeded: blob) == UInt32(truncatingIfNeeded: b.blobEntry(j &+ t)),
          a.bytes(i &+ t).count == b.bytes(j &+ t).count
        {
          continue
        }
        if orderOfBytes(try a.checkedBytes(i &+ t), try b.checkedBytes(j &+ t)) != 0 { result.insert(t) }
      }
    default: break
    }
    return result
  }
}

extension Selection {
  @inlinable mutating func insert(_ row: Int) {
    words[(row &>> 6) & 3] |= 1 &<< UInt64(truncatingIfNeeded: row & 63)
  }
}

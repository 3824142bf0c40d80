import CReefKernels

/// A cluster of up to 256 rows, entered and checked: their keys, and one column node per property.
@usableFromInline package struct LeafView: @unchecked Sendable {
  @usableFromInline package let view: ReadView
  @usableFromInline package let pointer: UnsafeRawPointer
  @usableFromInline package let count: Int
  /// Column entries that the node holds; further columns are absent.
  @usableFromInline package let columnCount: Int
  @usableFromInline package let base: Int64
  /// Form of the deltas from `base`, or 0 where the keys are base, base + 1, …
  @usableFromInline let keyForm: UInt8
  @usableFromInline let keyValues: UnsafeRawPointer

  @inlinable @inline(__always)
  init(
    view: ReadView, pointer: UnsafeRawPointer, count: Int, columnCount: Int, base: Int64, keyForm: UInt8,
    keyValues: UnsafeRawPointer
  ) {
    self.view = view
    self.pointer = pointer
    self.count = count
    self.columnCount = columnCount
    self.base = base
    self.keyForm = keyForm
    self.keyValues = keyValues
  }
}

extension LeafView {
  /// A leaf without rows, for whoever has not entered one yet.
  @inlinable package init(nothingIn view: ReadView) {
    self.init(
      view: view, pointer: view.base, count: 0, columnCount: 0, base: 0, keyForm: 0, keyValues: view.base)
  }
}

extension ReadView {
  @inlinable @inline(__always)
  package func leaf(_ entry: UInt64) throws(StoreError) -> LeafView {
    typealias Field = DataLayout.Leaf
    let node = try node(entry, kind: NodeKind.leaf, length: Field.columns)
    let count = node.count
    guard count <= Field.capacity else { throw damaged("a leaf has too many rows") }
    let keys = node.pointer.load(fromByteOffset: Field.keys, as: UInt64.self)
    var form: UInt8 = 0
    var values = node.pointer
    if keys != 0 {
      let column = try self.node(keys, kind: NodeKind.column, length: DataLayout.Column.payload)
      form = column.form
      guard form >= ColumnForm.int8, form <= ColumnForm.int64,
        DataLayout.Column.payload &+ count &<< Int(form &- 1) <= column.length
      else { throw damaged("a leaf's key column is not sound") }
      values = column.pointer + DataLayout.Column.payload
    }
    return LeafView(
      view: self, pointer: node.pointer, count: count, columnCount: (node.length &- Field.columns) &>> 3,
      base: node.pointer.load(fromByteOffset: Field.base, as: Int64.self), keyForm: form, keyValues: values)
  }
}

// Keys
extension LeafView {
  /// Distance of a row's key from `base`.
  @inlinable @inline(__always)
  func delta(_ row: Int) -> UInt64 {
    switch keyForm {
    case 0: UInt64(truncatingIfNeeded: row)
    case ColumnForm.int8: UInt64(keyValues.load(fromByteOffset: row, as: UInt8.self))
    case ColumnForm.int16: UInt64(keyValues.load(fromByteOffset: row &* 2, as: UInt16.self))
    case ColumnForm.int32: UInt64(keyValues.load(fromByteOffset: row &* 4, as: UInt32.self))
    default: keyValues.load(fromByteOffset: row &* 8, as: UInt64.self)
    }
  }

  @inlinable @inline(__always)
  package func key(_ row: Int) -> Int64 { base &+ Int64(bitPattern: delta(row)) }

  /// Whether the keys are base, base + 1, …
  @inlinable package var isDense: Bool { keyForm == 0 }

  /// The row with this key, or -1.
  @inlinable @inline(__always)
  package func find(_ key: Int64) -> Int {
    let delta = UInt64(bitPattern: key &- base)
    if keyForm == 0 { return delta < UInt64(truncatingIfNeeded: count) ? Int(truncatingIfNeeded: delta) : -1 }
    return key >= base ? Self.findSparse(delta, keyValues, keyForm, count) : -1
  }

  /// Out of line and by scalars, so that the common case is not burdened with it.
  @inline(never) @usableFromInline
  static func findSparse(_ delta: UInt64, _ values: UnsafeRawPointer, _ form: UInt8, _ count: Int) -> Int {
    switch form {
    case ColumnForm.int8:
      delta > 0xff ? -1 : equal(UInt8(truncatingIfNeeded: delta), values, count)
    case ColumnForm.int16:
      delta > 0xffff ? -1 : equal(UInt16(truncatingIfNeeded: delta), values, count)
    case ColumnForm.int32:
      delta > 0xffff_ffff ? -1 : equal(UInt32(truncatingIfNeeded: delta), values, count)
    default: equal(delta, values, count)
    }
  }

  @inline(__always)
  private static func equal<Word: FixedWidthInteger & UnsignedInteger>(
    _ delta: Word, _ values: UnsafeRawPointer, _ count: Int
  ) -> Int {
    let row = search(delta, values, count)
    return row < count && values.load(fromByteOffset: row &* MemoryLayout<Word>.stride, as: Word.self) == delta
      ? row : -1
  }

  /// The first row whose key is `key` or more; `count` where there is none.
  @inlinable package func lowerBound(_ key: Int64) -> Int {
    guard key > base else { return 0 }
    let delta = UInt64(bitPattern: key &- base)
    if keyForm == 0 {
      return delta < UInt64(truncatingIfNeeded: count) ? Int(truncatingIfNeeded: delta) : count
    }
    return firstRow(delta: delta)
  }

  /// One past the last row whose key is `key` or less.
  @inlinable package func upperBound(_ key: Int64) -> Int {
    let row = lowerBound(key)
    return row < count && self.key(row) == key ? row &+ 1 : row
  }

  @usableFromInline
  func firstRow(delta: UInt64) -> Int {
    switch keyForm {
    case ColumnForm.int8:
      delta > 0xff ? count : Self.search(UInt8(truncatingIfNeeded: delta), keyValues, count)
    case ColumnForm.int16:
      delta > 0xffff ? count : Self.search(UInt16(truncatingIfNeeded: delta), keyValues, count)
    case ColumnForm.int32:
      delta > 0xffff_ffff ? count : Self.search(UInt32(truncatingIfNeeded: delta), keyValues, count)
    default: Self.search(delta, keyValues, count)
    }
  }

  /// Branch-free: the number of rows whose delta is less.
  @inline(__always)
  private static func search<Word: FixedWidthInteger & UnsignedInteger>(
    _ delta: Word, _ values: UnsafeRawPointer, _ count: Int
  ) -> Int {
    switch Word.bitWidth {
    case 8: Int(reef_keys_lower8(values, count, UInt8(truncatingIfNeeded: delta)))
    case 16: Int(reef_keys_lower16(values, count, UInt16(truncatingIfNeeded: delta)))
    case 32: Int(reef_keys_lower32(values, count, UInt32(truncatingIfNeeded: delta)))
    default: Int(reef_keys_lower64(values, count, UInt64(truncatingIfNeeded: delta)))
    }
  }

  /// Writes all keys, in order, to `buffer`, which has room for `count`.
  @inlinable package func copyKeys(to buffer: UnsafeMutablePointer<Int64>) {
    switch keyForm {
    case 0: for row in 0..<count { buffer[row] = base &+ Int64(truncatingIfNeeded: row) }
    case ColumnForm.int8:
      for row in 0..<count { buffer[row] = base &+ Int64(keyValues.load(fromByteOffset: row, as: UInt8.self)) }
    case ColumnForm.int16:
      for row in 0..<count { buffer[row] = base &+ Int64(keyValues.load(fromByteOffset: row &* 2, as: UInt16.self)) }
    case ColumnForm.int32:
      for row in 0..<count { buffer[row] = base &+ Int64(keyValues.load(fromByteOffset: row &* 4, as: UInt32.self)) }
    default:
      for row in 0..<count { buffer[row] = base &+ keyValues.load(fromByteOffset: row &* 8, as: Int64.self) }
    }
  }
}

// Columns
extension LeafView {
  /// Entry of a column's node; 0 where every row has the zero value.
  @inlinable @inline(__always)
  package func columnEntry(_ column: Int) -> UInt64 {
    guard UInt(bitPattern: column) < UInt(bitPattern: columnCount) else { return 0 }
    return pointer.load(fromByteOffset: DataLayout.Leaf.columns &+ column &* DataLayout.entrySize, as: UInt64.self)
  }

  @inlinable @inline(__always)
  package func column(_ column: Int) throws(StoreError) -> ColumnView {
    let entry = columnEntry(column)
    return entry == 0 ? ColumnView(absentIn: view) : try view.column(entry, count: count)
  }

  /// Which of these columns (a bit for each) are absent, or sound for all rows of the leaf.
  package func soundColumns(_ columns: UInt64) -> UInt64 {
    var sound: UInt64 = 0
    var left = columns
    while left != 0 {
      let column = left.trailingZeroBitCount
      guard column < columnCount else { break }
      let entry = columnEntry(column)
      if entry == 0 || view.soundColumn(entry, count: count) != nil { sound |= 1 &<< UInt64(column) }
      left &= left &- 1
    }
    return sound
  }
}

/// What a row knows of its leaf's columns, in one word: how many entries there are, and, for rows of an iteration, which
/// of the first columns the iteration has checked for all rows of the leaf.
@usableFromInline package struct RowColumns: Sendable {
  /// Columns that can be told to be checked.
  @usableFromInline static let limit = 40
  @usableFromInline let word: UInt64

  /// Of a row that was found by itself.
  @inlinable @inline(__always)
  package init(count: Int) { word = (UInt64(truncatingIfNeeded: count) & 0x3f_ffff) &<< 40 }

  /// Of the rows of an iteration.
  init(count: Int, checked: UInt64) {
    word = 1 << 63 | (UInt64(truncatingIfNeeded: count) & 0x3f_ffff) << 40 | checked & ((1 << 40) - 1)
  }

  @inlinable var areChecked: Bool { @inline(__always) get { word &>> 63 != 0 } }
  @inlinable var count: UInt { @inline(__always) get { UInt(truncatingIfNeeded: word &>> 40 & 0x3f_ffff) } }

  @inlinable @inline(__always)
  func isChecked(_ column: Int) -> Bool {
    UInt(bitPattern: column) < 40 && word &>> UInt64(truncatingIfNeeded: column) & 1 != 0
  }
}

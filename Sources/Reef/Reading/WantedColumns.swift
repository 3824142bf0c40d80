import Synchronization

/// The columns that rows of iterations are asked for, as learned from those that came before.
///
/// An iteration checks the columns that its loop reads once for all rows of a leaf, but does not know beforehand which
/// they are: its first rows tell. A word holds a table's number and a bit for each of its first columns; tables share four
/// words, and threads set them without a lock. What is forgotten so costs a check and is learned again.
struct WantedColumns: ~Copyable {
  private static let limit = RowColumns.limit
  private let words = InlineArray<4, Atomic<UInt64>> { _ in Atomic(0) }

  private static func tag(_ table: Int) -> UInt64 { (UInt64(truncatingIfNeeded: table) + 1) << UInt64(limit) }
  private static let columns: UInt64 = (1 << UInt64(limit)) - 1

  /// The columns of this table as bits.
  func columns(of table: Int) -> UInt64 {
    let word = words[table & 3].load(ordering: .relaxed)
    return word & ~Self.columns == Self.tag(table) ? word & Self.columns : 0
  }

  func note(_ column: Int, of table: Int) {
    guard column >= 0, column < Self.limit else { return }
    let columns = columns(of: table) | 1 << UInt64(column)
    words[table & 3].store(Self.tag(table) | columns, ordering: .relaxed)
  }
}

/// One object that differs between two versions of a table.
package struct RowChange {
  package enum Kind: Sendable { case inserted, deleted, modified }
  package let kind: Kind
  package let key: Int64
  /// Properties whose values differ; empty unless modified.
  package let columns: ColumnSet
  /// Where the object lies in the old version; nil if inserted.
  package let old: RowPosition?
  /// Where it lies in the new version; nil if deleted.
  package let new: RowPosition?
}

/// The difference of two versions of one table.
///
/// Copy-on-write means that equal refs are equal subtrees, so both trees are walked in lockstep and what they share is
/// skipped: the cost goes with what changed, not with the table. Both versions must be pinned without interruption
/// while it runs: only then does an equal ref mean an equal node.
///
/// A property is modified where its value is another one, to the bit (0.0 is not -0.0, NaN is itself). Storing the value
/// that is already there is no modification, nor is a value that is merely stored in another form.
package struct TableDiff {
  package let old: TableView
  package let new: TableView
  /// Tells which properties exist and which are optional: the newer of the two versions' schemas.
  package let schema: TypeSchema

  package init(from old: TableView, to new: TableView, schema: TypeSchema) {
    self.old = old
    self.new = new
    self.schema = schema
  }

  /// Whether the two share all rows, told without looking at any.
  package var isEmptyAtOnce: Bool {
    old.depth == new.depth
      && UInt32(truncatingIfNeeded: old.rootEntry) == UInt32(truncatingIfNeeded: new.rootEntry)
  }

  /// Calls `body` with each change in key order until it returns false.
  package func forEach(_ body: (RowChange) throws(StoreError) -> Bool) throws(StoreError) {
    var a = DiffCursor(old)
    var b = DiffCursor(new)
    var leaves = LeafDiff(schema: schema)
    while true {
      switch (a.isAtRow, b.isAtRow) {
      case (false, false):
        if a.isAtEnd {
          if b.isAtEnd { return }
          try b.descend()
        } else if b.isAtEnd {
          try a.descend()
        } else if a.ref == b.ref, a.level == b.level {
          DiffCursor.skipShared(&a, &b)
        } else if a.low == b.low {
          // The higher one first: below it may hang what the other side has.
          let (x, y) = (a.level, b.level)
          if x >= y { try a.descend() }
          if y >= x { try b.descend() }
        } else if a.low < b.low {
          try a.descend()
        } else {
          try b.descend()
        }
      case (true, false):
        // Rows below everything that the other side has left are only here.
        if !b.isAtEnd, b.low <= a.low {
          try b.descend()
        } else if try !rest(of: &a, before: b, .deleted, body) {
          return
        }
      case (false, true):
        if !a.isAtEnd, a.low <= b.low {
          try a.descend()
        } else if try !rest(of: &b, before: a, .inserted, body) {
          return
        }
      case (true, true):
        if try !leaves.compare(&a, &b, body) { return }
      }
    }
  }

  /// The rows of the leaf at the head of `cursor` that come before all of `other`.
  private func rest(
    of cursor: inout DiffCursor, before other: DiffCursor, _ kind: RowChange.Kind,
    _ body: (RowChange) throws(StoreError) -> Bool
  ) throws(StoreError) -> Bool {
    guard let leaf = cursor.leaf else { return true }
    var row = cursor.row
    while row < leaf.count {
      let key = leaf.key(row)
      if !other.isAtEnd, key >= other.low { break }
      guard try body(.single(kind, leaf, row, key)) else { return false }
      row &+= 1
    }
    // A row at least, so that damaged keys cannot hold up the walk.
    cursor.advance(rows: max(row &- cursor.row, 1))
    return true
  }
}

extension RowChange {
  static func single(_ kind: Kind, _ leaf: LeafView, _ row: Int, _ key: Int64) -> RowChange {
    let position = RowPosition(leaf: leaf, row: row)
    return RowChange(
      kind: kind, key: key, columns: ColumnSet(), old: kind == .deleted ? position : nil,
      new: kind == .inserted ? position : nil)
  }
}

/// The difference of two versions of one table, as lists of keys in ascending order.
package struct TableChanges: Sendable {
  package var inserted: [Int64] = []
  package var deleted: [Int64] = []
  package var modified: [(key: Int64, columns: ColumnSet)] = []

  package init() {}

  package init(_ diff: TableDiff) throws(StoreError) {
    try diff.forEach { (change) throws(StoreError) in
      switch change.kind {
      case .inserted: inserted.append(change.key)
      case .deleted: deleted.append(change.key)
      case .modified: modified.append((change.key, change.columns))
      }
      return true
    }
  }

  package var isEmpty: Bool { inserted.isEmpty && deleted.isEmpty && modified.isEmpty }
}

extension ReadView {
  /// Positions of the tables that may differ between two versions: those whose nodes are not shared.
  package static func changedTables(from old: ReadView, to new: ReadView) throws(StoreError) -> [Int] {
    var result: [Int] = []
    for index in 0..<max(try old.tableCount, try new.tableCount) {
      let (x, y) = (try old.tableEntry(index), try new.tableEntry(index))
      if UInt32(truncatingIfNeeded: x) != UInt32(truncatingIfNeeded: y) { result.append(index) }
    }
    return result
  }
}

/// Walks the leaves that hold matches, in key order, and only where the condition's key ranges lie.
///
/// A leaf in which several ranges lie comes once for each of them, with the rows of that range.
package struct SelectionCursor {
  private let table: TableView
  private let predicate: CompiledPredicate?
  private var leaves: LeafCursor
  private var range: KeyRanges.Range
  private var nextRange = 1

  package init(_ table: TableView, where predicate: CompiledPredicate? = nil) {
    self.table = table
    self.predicate = predicate
    // Without ranges nothing matches: an empty range begins and ends the walk.
    range = predicate.map { $0.keyRanges.ranges.first ?? KeyRanges.Range(.max, .min) } ?? KeyRanges.Range(.min, .max)
    leaves = table.leaves(from: range.lower)
  }

  /// The next leaf with matches, and its rows that match: never none.
  package mutating func next() throws(StoreError) -> (leaf: LeafView, rows: Selection)? {
    guard range.lower <= range.upper else { return nil }
    while true {
      guard let leaf = try leaves.next() else {
        // Later ranges lie behind the last leaf too.
        return nil
      }
      guard leaf.count > 0 else { continue }
      if leaf.key(0) > range.upper {
        guard beginNextRange() else { return nil }
        continue
      }
      let last = leaf.key(leaf.count &- 1)
      let lower = range.lower == .min ? 0 : leaf.lowerBound(range.lower)
      let upper = last <= range.upper ? leaf.count : leaf.upperBound(range.upper)
      let isOver = last >= range.upper
      var rows = Selection(rows: lower..<max(lower, upper))
      if let predicate, !rows.isEmpty { rows = try predicate.node.select(leaf, rows) }
      if isOver {
        let goesOn = beginNextRange()
        if !rows.isEmpty {
          if !goesOn { range = KeyRanges.Range(.max, .min) }
          return (leaf, rows)
        }
        guard goesOn else { return nil }
      } else if !rows.isEmpty {
        return (leaf, rows)
      }
    }
  }

  /// Asks for the beginning of these columns (a bit for each) of the leaf that probably comes next, and for the leaf
  /// after it. The processor follows a column from there by itself.
  package func prefetch(_ columns: UInt64) {
    if let leaf = leaves.upcoming(0) {
      var left = columns
      while left != 0 {
        leaf.prefetch(left.trailingZeroBitCount)
        left &= left &- 1
      }
    }
    leaves.prefetchUpcoming(1)
  }

  private mutating func beginNextRange() -> Bool {
    guard let ranges = predicate?.keyRanges.ranges, nextRange < ranges.count else { return false }
    range = ranges[nextRange]
    nextRange += 1
    leaves = table.leaves(from: range.lower)
    return true
  }
}

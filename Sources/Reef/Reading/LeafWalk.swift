/// Walks the leaves of a table that hold matches, for the iterator of a result: made once per iteration.
@usableFromInline final class LeafWalk {
  private var cursor: LeafCursor
  private let predicate: CompiledPredicate?
  /// The last key that can match.
  private let end: Int64

  init(_ table: TableView, _ predicate: CompiledPredicate?) {
    let ranges = predicate?.keyRanges.ranges ?? []
    cursor = table.leaves(from: ranges.first?.lower ?? .min)
    end = predicate == nil ? .max : (ranges.last?.upper ?? .min)
    self.predicate = predicate
  }

  /// The next leaf, and which of its rows match, as a bitmap.
  func next() throws(StoreError) -> (leaf: LeafView, rows: SIMD4<UInt64>)? {
    while let leaf = try cursor.next() {
      guard leaf.count > 0 else { continue }
      guard leaf.key(0) <= end else { return nil }
      let rows = try predicate?.select(leaf) ?? Selection(count: leaf.count)
      if !rows.isEmpty { return (leaf, rows.words) }
    }
    return nil
  }
}

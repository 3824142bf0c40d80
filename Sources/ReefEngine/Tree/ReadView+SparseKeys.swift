import CReefKernels

// Finding a row where keys lie anywhere: inner nodes with bounds, leaves with a column of keys.
//
// What a search costs is the cache lines it waits for one after the other. Inner nodes are few and at hand; of a leaf's
// keys a bisection would wait for five lines in turn. So the place is estimated from where the key lies between the
// bounds of the leaf, and the keys around it are fetched at once. Keys that are spread unevenly only cost the bisection.
extension ReadView {
  /// Goes on from an inner node that has bounds.
  @inline(never) @usableFromInline
  func placeByBounds(of key: Int64, entry: UInt64, level: Int) -> RowPlace {
    typealias Inner = DataLayout.Inner
    var (entry, level) = (entry, level)
    var range = KeyRange(low: .min, high: .max)
    while level > 0 {
      guard let node = soundNode(entry) else { return .unsound(self) }
      let count = node.count
      if node.kind == NodeKind.innerKeyed {
        guard count <= Inner.fanOut, Inner.keyedEntries &+ count &* DataLayout.entrySize <= node.length else {
          return .unsound(self)
        }
        let bounds = (node.pointer + Inner.keys).assumingMemoryBound(to: Int64.self)
        let index = Int(reef_keys_upper(bounds, count, key)) &- 1
        guard index >= 0 else { return .absent(self) }
        range.low = bounds[index]
        if index &+ 1 < count { range.high = bounds[index &+ 1] }
        entry = node.pointer.load(
          fromByteOffset: Inner.keyedEntries &+ index &* DataLayout.entrySize, as: UInt64.self)
      } else {
        guard let inner = try? inner(entry) else { return .unsound(self) }
        entry = inner.child(for: key)
      }
      if entry == 0 { return .absent(self) }
      level &-= 1
    }
    guard let node = soundLeaf(entry) else { return .unsound(self) }
    return place(of: key, in: node, range)
  }

  /// In a leaf without known bounds.
  @inline(never) @usableFromInline
  func placeBySearch(of key: Int64, in leaf: NodeView) -> RowPlace {
    place(of: key, in: leaf, KeyRange(low: .min, high: .max))
  }

  /// What an inner node says about the keys of its child: `low ..< high`.
  private struct KeyRange {
    var low: Int64
    var high: Int64

    /// About how many of `count` evenly spread keys are below `key`.
    @inline(__always)
    func estimate(_ key: Int64, _ count: Int) -> Int {
      // Halved, the distances fit a signed number, which converts in one instruction.
      let part = Double(Int64(bitPattern: UInt64(bitPattern: key &- low) &>> 1))
      let whole = Double(Int64(bitPattern: UInt64(bitPattern: high &- low) &>> 1))
      let rows = part / whole * Double(count)
      // Bounds of a damaged file may give anything, not a number included.
      return rows >= 0 && rows < Double(count) ? Int(rows) : 0
    }
  }

  @inline(__always)
  private func place(of key: Int64, in leaf: NodeView, _ range: KeyRange) -> RowPlace {
    typealias Leaf = DataLayout.Leaf
    let base = leaf.pointer.load(fromByteOffset: Leaf.base, as: Int64.self)
    let keys = leaf.pointer.load(fromByteOffset: Leaf.keys, as: UInt64.self)
    let delta = UInt64(bitPattern: key &- base)
    let count = leaf.count
    let row: Int
    if keys == 0 {
      row = delta < UInt64(truncatingIfNeeded: count) ? Int(truncatingIfNeeded: delta) : -1
    } else {
      guard let column = soundNode(keys), column.kind == NodeKind.column, column.form >= ColumnForm.int8,
        column.form <= ColumnForm.int64,
        DataLayout.Column.payload &+ count &<< Int(column.form &- 1) <= column.length
      else { return .unsound(self) }
      guard key >= base else { return .absent(self) }
      let values = column.pointer + DataLayout.Column.payload
      switch column.form {
      case ColumnForm.int64: row = Self.row(of: delta, values, count, range.estimate(key, count))
      default: row = LeafView.findSparse(delta, values, column.form, count)
      }
    }
    return row < 0
      ? .absent(self)
      : RowPlace(leaf: leaf.pointer, row: row, columnCount: (leaf.length &- Leaf.columns) &>> 3)
  }

  /// Keys looked at around the estimate: the standard deviation of 256 random keys is 8.
  private static var window: Int { 32 }

  @inline(__always)
  private static func row(of delta: UInt64, _ values: UnsafeRawPointer, _ count: Int, _ estimate: Int) -> Int {
    let start = max(0, min(estimate &- window / 2, count &- window))
    let length = min(window, count)
    let from = values + start &* 8
    reef_index_prefetch(from, window &* 8 &+ 64)
    let row = start &+ Int(reef_keys_lower64(from, length, delta))
    if row < count, values.load(fromByteOffset: row &* 8, as: UInt64.self) == delta { return row }
    return LeafView.findSparse(delta, values, ColumnForm.int64, count)
  }

  /// Enters a leaf; nil where it is not sound.
  @inlinable @inline(__always)
  func soundLeaf(_ entry: UInt64) -> NodeView? {
    guard let node = soundNode(entry), node.kind == NodeKind.leaf, node.length >= DataLayout.Leaf.columns,
      node.count <= DataLayout.Leaf.capacity
    else { return nil }
    return node
  }
}

/// Object keys of rows in stored order. As long as they count up by one, as they mostly do where a whole table of dense
/// keys is sorted, they take no memory.
struct RowKeys {
  private var first: Int64 = 0
  private var consecutive = 0
  private var list: [Int64] = []

  init() {}

  /// These keys, in this order.
  init(_ keys: [Int64]) { list = keys }

  var count: Int { list.isEmpty ? consecutive : list.count }
  var last: Int64? { list.last ?? (consecutive > 0 ? self[consecutive - 1] : nil) }
  /// The first of keys that all count up by one.
  var start: Int64? { list.isEmpty && consecutive > 0 ? first : nil }

  @inline(__always)
  subscript(_ index: Int) -> Int64 {
    list.isEmpty ? first &+ Int64(truncatingIfNeeded: index) : list[index]
  }

  mutating func append(_ leaf: LeafView, _ rows: Selection) {
    if list.isEmpty, leaf.isDense, rows == Selection(count: leaf.count),
      consecutive == 0 || leaf.base == first &+ Int64(truncatingIfNeeded: consecutive)
    {
      if consecutive == 0 { first = leaf.base }
      consecutive += leaf.count
      return
    }
    if list.isEmpty { list = (0..<consecutive).map { self[$0] } }
    _ = rows.forEach { row in
      list.append(leaf.key(row))
      return true
    }
  }
}

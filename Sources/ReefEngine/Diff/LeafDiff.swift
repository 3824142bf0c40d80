/// Compares two leaves that cover the same keys: finds runs of rows that both have, and in a run compares column by
/// column, most of which are shared or equal at a glance.
struct LeafDiff {
  let schema: TypeSchema
  private let keyColumn: Int
  /// Columns that differ in the run at hand, and in which of its rows.
  private var differing: [(column: Int, rows: Selection)] = []

  init(schema: TypeSchema) {
    self.schema = schema
    if case .integer(let column) = schema.keyKind { keyColumn = column } else { keyColumn = -1 }
  }

  /// Both heads are rows: goes on to the end of either leaf. False where `body` wants no more.
  mutating func compare(
    _ a: inout DiffCursor, _ b: inout DiffCursor, _ body: (RowChange) throws(StoreError) -> Bool
  ) throws(StoreError) -> Bool {
    guard let x = a.leaf, let y = b.leaf else { return true }
    var i = a.row
    var j = b.row
    while i < x.count, j < y.count {
      let (p, q) = (x.key(i), y.key(j))
      if p < q {
        guard try body(.single(.deleted, x, i, p)) else { return false }
        i &+= 1
      } else if p > q {
        guard try body(.single(.inserted, y, j, q)) else { return false }
        j &+= 1
      } else {
        let run = Self.commonKeys(x, i, y, j)
        guard try compareRun(x, i, y, j, run, body) else { return false }
        i &+= run
        j &+= run
      }
    }
    a.advance(rows: i &- a.row)
    b.advance(rows: j &- b.row)
    return true
  }

  /// How many rows from `i` and `j` on have the same keys; at least one.
  private static func commonKeys(_ x: LeafView, _ i: Int, _ y: LeafView, _ j: Int) -> Int {
    let most = min(x.count &- i, y.count &- j)
    if x.isDense, y.isDense { return most }
    var run = 1
    while run < most, x.key(i &+ run) == y.key(j &+ run) { run &+= 1 }
    return run
  }

  private mutating func compareRun(
    _ x: LeafView, _ i: Int, _ y: LeafView, _ j: Int, _ run: Int, _ body: (RowChange) throws(StoreError) -> Bool
  ) throws(StoreError) -> Bool {
    differing.removeAll(keepingCapacity: true)
    var any = Selection.none
    let columns = min(schema.properties.count, max(x.columnCount, y.columnCount))
    for column in 0..<columns where column != keyColumn {
      let (p, q) = (x.columnEntry(column), y.columnEntry(column))
      if UInt32(truncatingIfNeeded: p) == UInt32(truncatingIfNeeded: q), i == j || p == 0 { continue }
      let property = schema.properties[column]
      let pair = ColumnPair(
        a: try x.column(column), i: i, b: try y.column(column), j: j, count: run, isOptional: property.isOptional)
      let rows = try pair.differingRows()
      if !rows.isEmpty {
        differing.append((column, rows))
        any = any | rows
      }
    }
    guard !any.isEmpty else { return true }
    let found = differing
    return try any.forEach { (row) throws(StoreError) in
      var columns = ColumnSet()
      for (column, rows) in found where rows.contains(row) { columns.insert(column) }
      return try body(
        RowChange(
          kind: .modified, key: x.key(i &+ row), columns: columns, old: RowPosition(leaf: x, row: i &+ row),
          new: RowPosition(leaf: y, row: j &+ row)))
    }
  }
}

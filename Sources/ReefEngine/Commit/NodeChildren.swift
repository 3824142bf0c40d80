/// Where a node refers to others: the one place that knows the entries of every kind of node, for checksums, for the
/// mark pass, and for checking.
package enum NodeChildren {
  /// Calls `body` with the place of each entry that is not empty. The node's header has been checked; the counts in it
  /// are checked here against its length. Places may be unaligned. False: the node is not sound.
  package static func forEach<E: Error>(
    _ node: UnsafeRawPointer, _ body: (UnsafeRawPointer) throws(E) -> Void
  ) throws(E) -> Bool {
    let header = node.load(as: UInt64.self)
    let length = Int(header &>> 32)
    let count = Int(header &>> 16 & 0x1ff)
    switch UInt8(truncatingIfNeeded: header) {
    case NodeKind.root:
      let tables = Int(node.load(fromByteOffset: DataLayout.Root.tableCount, as: UInt32.self))
      guard DataLayout.Root.tables &+ tables &* 8 <= length else { return false }
      try entries(node, DataLayout.Root.schema, 3, body)
      try entries(node, DataLayout.Root.tables, tables, body)
    case NodeKind.table:
      guard length >= DataLayout.Table.indexes else { return false }
      let indexes = Int(node.load(fromByteOffset: DataLayout.Table.indexCount, as: UInt32.self))
      guard DataLayout.Table.indexes &+ indexes &* 16 <= length else { return false }
      try entries(node, DataLayout.Table.root, 1, body)
      try entries(node, DataLayout.Table.keyIndexRoot, 1, body)
      for index in 0..<indexes { try entries(node, DataLayout.Table.indexes &+ index &* 16, 1, body) }
    case NodeKind.innerDense:
      guard DataLayout.Inner.denseEntries &+ count &* 8 <= length else { return false }
      try entries(node, DataLayout.Inner.denseEntries, count, body)
    case NodeKind.innerKeyed:
      guard DataLayout.Inner.keyedEntries &+ count &* 8 <= length, count <= DataLayout.Inner.fanOut else {
        return false
      }
      try entries(node, DataLayout.Inner.keyedEntries, count, body)
    case NodeKind.leaf:
      guard length >= DataLayout.Leaf.columns else { return false }
      try entries(node, DataLayout.Leaf.keys, 1, body)
      try entries(node, DataLayout.Leaf.columns, (length &- DataLayout.Leaf.columns) / 8, body)
    case NodeKind.column:
      if UInt8(truncatingIfNeeded: header &>> 8) & ColumnForm.hasBlobs != 0 { return try blobs(node, header, body) }
    case NodeKind.indexInner:
      guard let (first, number) = IndexNodeChildren.place(node) else { return false }
      try entries(node, first, number, body)
    case NodeKind.blob, NodeKind.indexLeaf: break
    default: return false
    }
    return true
  }

  @inline(__always)
  private static func entries<E: Error>(
    _ node: UnsafeRawPointer, _ offset: Int, _ count: Int, _ body: (UnsafeRawPointer) throws(E) -> Void
  ) throws(E) {
    for index in 0..<count {
      let place = node + (offset &+ index &* 8)
      if place.loadUnaligned(as: UInt64.self) & 0xffff_ffff != 0 { try body(place) }
    }
  }

  /// Cells of a column that are descriptors of blob nodes.
  private static func blobs<E: Error>(
    _ node: UnsafeRawPointer, _ header: UInt64, _ body: (UnsafeRawPointer) throws(E) -> Void
  ) throws(E) -> Bool {
    let length = Int(header &>> 32)
    let count = Int(header &>> 16 & 0x1ff)
    let form = UInt8(truncatingIfNeeded: header &>> 8)
    var start = DataLayout.Column.payload
    if form & ColumnForm.hasNulls != 0 { start += DataLayout.Column.bitmapSize }
    let bitmap = start
    start += DataLayout.Column.bitmapSize
    let width: Int
    switch form & ColumnForm.mask {
    case ColumnForm.short: width = 2
    case ColumnForm.long: width = 4
    default: return false
    }
    guard count <= DataLayout.Leaf.capacity, start + count * width <= length else { return false }
    let bytes = start + count * width
    func end(_ row: Int) -> Int {
      width == 2
        ? Int(node.load(fromByteOffset: start + row * 2, as: UInt16.self))
        : Int(node.load(fromByteOffset: start + row * 4, as: UInt32.self))
    }
    for row in 0..<count {
      let word = node.load(fromByteOffset: bitmap + row >> 6 * 8, as: UInt64.self)
      if word >> UInt64(row & 63) & 1 == 0 { continue }
      let from = row == 0 ? 0 : end(row - 1)
      guard end(row) - from == 16, bytes + end(row) <= length else { return false }
      let place = node + bytes + from
      if place.loadUnaligned(as: UInt64.self) & 0xffff_ffff != 0 { try body(place) }
    }
    return true
  }
}

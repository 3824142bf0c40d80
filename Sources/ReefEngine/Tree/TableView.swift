/// One table of one version: its counters and the tree of its rows.
@usableFromInline package struct TableView: @unchecked Sendable {
  @usableFromInline package let view: ReadView
  /// Rows, as the table's node says. Not proven: reserve no memory by it without a bound.
  @usableFromInline package let count: Int
  /// Levels of inner nodes above the leaves.
  @usableFromInline package let depth: Int
  /// Entry of the topmost inner node, or of the only leaf where `depth` is 0; 0 while the table is empty.
  @usableFromInline package let rootEntry: UInt64
  @usableFromInline package let nextKey: Int64
  /// Columns that the writer knew.
  @usableFromInline package let columns: Int
  @usableFromInline package let keyIndexRoot: UInt64
  @usableFromInline package let keyIndexDepth: Int
  @usableFromInline package let indexCount: Int
  /// The table's node; nil where this version does not have the table.
  @usableFromInline package let pointer: UnsafeRawPointer?

  /// A tree of fan-out 64 and more than ten levels would hold more leaves than there are refs; a deeper one is damage.
  @inlinable package static var maximumDepth: Int { 12 }

  @inlinable package init(view: ReadView, entry: UInt64) throws(StoreError) {
    self.view = view
    guard entry & 0xffff_ffff != 0 else {
      count = 0
      depth = 0
      rootEntry = 0
      nextKey = 0
      columns = 0
      keyIndexRoot = 0
      keyIndexDepth = 0
      indexCount = 0
      pointer = nil
      return
    }
    typealias Field = DataLayout.Table
    let node = try view.node(entry, kind: NodeKind.table, length: Field.indexes)
    let at = node.pointer
    let count = at.load(fromByteOffset: Field.count, as: UInt64.self)
    let depth = at.load(fromByteOffset: Field.depth, as: UInt32.self)
    let keyIndexDepth = at.load(fromByteOffset: Field.keyIndexDepth, as: UInt32.self)
    let indexCount = Int(at.load(fromByteOffset: Field.indexCount, as: UInt32.self))
    guard count <= UInt64(Int.max), depth <= UInt32(Self.maximumDepth), keyIndexDepth <= UInt32(Self.maximumDepth),
      Field.indexes &+ indexCount &* 16 <= node.length
    else { throw view.damaged("a table node is not sound") }
    self.count = Int(truncatingIfNeeded: count)
    self.depth = Int(depth)
    self.rootEntry = at.load(fromByteOffset: Field.root, as: UInt64.self)
    self.nextKey = at.load(fromByteOffset: Field.nextKey, as: Int64.self)
    self.columns = Int(at.load(fromByteOffset: Field.columns, as: UInt32.self))
    self.keyIndexRoot = at.load(fromByteOffset: Field.keyIndexRoot, as: UInt64.self)
    self.keyIndexDepth = Int(keyIndexDepth)
    self.indexCount = indexCount
    self.pointer = at
  }

  /// Root entry and depth of the `position`-th secondary index, in the order of indexed properties; (0, 0) where there
  /// is none.
  @inlinable package func index(_ position: Int) throws(StoreError) -> (root: UInt64, depth: Int) {
    guard let pointer, position >= 0, position < indexCount else { return (0, 0) }
    let at = pointer + (DataLayout.Table.indexes &+ position &* 16)
    let depth = at.load(fromByteOffset: 8, as: UInt64.self)
    guard depth <= UInt64(Self.maximumDepth) else { throw view.damaged("an index is too deep") }
    return (at.load(as: UInt64.self), Int(truncatingIfNeeded: depth))
  }
}

/// Where a row lies.
@usableFromInline package struct RowPosition: @unchecked Sendable {
  @usableFromInline package let leaf: LeafView
  @usableFromInline package let row: Int

  @inlinable @inline(__always)
  package init(leaf: LeafView, row: Int) {
    self.leaf = leaf
    self.row = row
  }

  @inlinable package var key: Int64 { leaf.key(row) }
}

extension TableView {
  /// The row with this object key.
  @inlinable @inline(__always)
  package func find(key: Int64) throws(StoreError) -> RowPosition? {
    guard let leaf = try leaf(for: key) else { return nil }
    let row = leaf.find(key)
    return row >= 0 ? RowPosition(leaf: leaf, row: row) : nil
  }

  /// The leaf that holds the row with this key, if there is such a row.
  @inlinable @inline(__always)
  package func leaf(for key: Int64) throws(StoreError) -> LeafView? {
    var entry = rootEntry
    var level = depth
    while level > 0, entry != 0 {
      entry = try view.inner(entry).child(for: key)
      level &-= 1
    }
    return entry == 0 ? nil : try view.leaf(entry)
  }
}

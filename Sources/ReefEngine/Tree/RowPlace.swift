/// Where a row lies, as little as a search can return: two words, nothing to retain.
@usableFromInline package struct RowPlace {
  @usableFromInline package let leaf: UnsafeRawPointer
  /// Place in the leaf; see `absent` and `unsound`.
  @usableFromInline package let row: Int32
  /// Column entries that the leaf holds.
  @usableFromInline package let columnCount: UInt32

  @inlinable @inline(__always)
  package init(leaf: UnsafeRawPointer, row: Int, columnCount: Int) {
    self.leaf = leaf
    self.row = Int32(truncatingIfNeeded: row)
    self.columnCount = UInt32(truncatingIfNeeded: columnCount)
  }

  /// There is no such row.
  @inlinable @inline(__always)
  package static func absent(_ view: ReadView) -> RowPlace { RowPlace(leaf: view.base, row: -1, columnCount: 0) }
  /// A node on the way is not sound: `TableView.find(key:)` tells why.
  @inlinable @inline(__always)
  package static func unsound(_ view: ReadView) -> RowPlace { RowPlace(leaf: view.base, row: -2, columnCount: 0) }

  @inlinable package var exists: Bool { @inline(__always) get { row >= 0 } }
  @inlinable package var isSound: Bool { @inline(__always) get { row != -2 } }
}

extension ReadView {
  /// The row with this key in the tree of `depth` inner levels under `root`.
  ///
  /// The same as `TableView.find(key:)`, for the one purpose that thousands of lookups follow one another: a step is a
  /// handful of instructions without a call, so that the processor fetches the nodes of several lookups at once. Every
  /// node is checked as it is there (it lies in the file, is of the right kind, and holds what is read from it).
  @inlinable @inline(__always)
  package func place(of key: Int64, root: UInt64, depth: Int) -> RowPlace {
    typealias Inner = DataLayout.Inner
    typealias Leaf = DataLayout.Leaf
    var entry = root
    var level = depth
    while level > 0 {
      guard let node = soundNode(entry) else { return .unsound(self) }
      if node.kind == NodeKind.innerDense {
        guard Inner.denseEntries &+ node.count &* DataLayout.entrySize <= node.length, node.form < 64 else {
          return .unsound(self)
        }
        let base = node.pointer.load(fromByteOffset: Inner.denseBase, as: Int64.self)
        let index = UInt64(bitPattern: key &- base) &>> UInt64(node.form)
        guard key >= base, index < UInt64(truncatingIfNeeded: node.count) else { return .absent(self) }
        entry = node.pointer.load(
          fromByteOffset: Inner.denseEntries &+ Int(truncatingIfNeeded: index) &* DataLayout.entrySize,
          as: UInt64.self)
      } else {
        return placeByBounds(of: key, entry: entry, level: level)
      }
      if entry == 0 { return .absent(self) }
      level &-= 1
    }
    guard let node = soundLeaf(entry) else { return .unsound(self) }
    if node.pointer.load(fromByteOffset: Leaf.keys, as: UInt64.self) == 0 {
      let base = node.pointer.load(fromByteOffset: Leaf.base, as: Int64.self)
      let delta = UInt64(bitPattern: key &- base)
      guard delta < UInt64(truncatingIfNeeded: node.count) else { return .absent(self) }
      return RowPlace(
        leaf: node.pointer, row: Int(truncatingIfNeeded: delta), columnCount: (node.length &- Leaf.columns) &>> 3)
    }
    return placeBySearch(of: key, in: node)
  }

  /// Enters a node; nil where it does not lie in the file.
  @inlinable @inline(__always)
  func soundNode(_ entry: UInt64) -> NodeView? {
    let offset = (entry & 0xffff_ffff) &<< UInt64(DataLayout.grainShift)
    guard offset &+ UInt64(DataLayout.Node.size) <= limit else { return provenNode(entry) }
    let pointer = base + Int(truncatingIfNeeded: offset)
    let head = pointer.load(as: UInt64.self)
    guard offset &+ head &>> 32 <= limit else { return nil }
    return NodeView(pointer: pointer, head: head)
  }
}

import CReefKernels

/// Walks the leaves of a table in key order, either way, from any key. No allocation, neither to make nor to move it.
///
/// It ends on any file: the nodes it may visit are bounded by what the file can hold, and leaves must come in order.
@usableFromInline package struct LeafCursor {
  @usableFromInline struct Level {
    @usableFromInline var node: InnerView
    @usableFromInline var next: Int
    @inlinable @inline(__always) init(node: InnerView, next: Int) {
      self.node = node
      self.next = next
    }
  }

  @usableFromInline package let table: TableView
  @usableFromInline let start: Int64
  @usableFromInline let step: Int
  @usableFromInline var stack: InlineArray<12, Level>
  /// Levels of the stack in use; -1 before the first leaf.
  @usableFromInline var top: Int
  @usableFromInline var budget: UInt64
  @usableFromInline var last: Int64?

  @inlinable init(_ table: TableView, start: Int64, step: Int) {
    self.table = table
    self.start = start
    self.step = step
    let none = InnerView(entries: table.view.base, keys: nil, count: 0, base: 0, shift: 0)
    stack = InlineArray(repeating: Level(node: none, next: 0))
    top = -1
    // Each node takes at least one grain and hangs in a tree once. Unlimited (a limit of 0) where nodes are proven.
    budget = (table.view.limit &- 1) &>> UInt64(DataLayout.grainShift)
  }

  /// The next leaf; nil at the end. The first may hold rows before the start: skip them with `lowerBound` or
  /// `upperBound`.
  @inlinable package mutating func next() throws(StoreError) -> LeafView? {
    if top < 0 {
      top = 0
      guard table.rootEntry != 0 else { return nil }
      if table.depth == 0 { return try enterLeaf(table.rootEntry) }
      try push(table.rootEntry)
    }
    while top > 0 {
      let index = stack[top &- 1].next
      guard UInt(bitPattern: index) < UInt(bitPattern: stack[top &- 1].node.count) else {
        top &-= 1
        continue
      }
      stack[top &- 1].next = index &+ step
      let entry = stack[top &- 1].node.entry(index)
      if entry == 0 { continue }
      if top == table.depth { return try enterLeaf(entry) }
      try push(entry)
    }
    return nil
  }

  /// Entry of the leaf that comes `ahead` leaves after the next one, where it has the same parent; else 0.
  private func upcomingEntry(_ ahead: Int) -> UInt64 {
    guard top > 0, top == table.depth else { return 0 }
    let index = stack[top &- 1].next &+ ahead &* step
    let node = stack[top &- 1].node
    return UInt(bitPattern: index) < UInt(bitPattern: node.count) ? node.entry(index) : 0
  }

  /// A look ahead, without moving.
  package func upcoming(_ ahead: Int) -> LeafView? {
    let entry = upcomingEntry(ahead)
    return entry == 0 ? nil : try? table.view.leaf(entry)
  }

  /// Fetches a leaf that is yet to come.
  package func prefetchUpcoming(_ ahead: Int) {
    let offset = (upcomingEntry(ahead) & 0xffff_ffff) &<< UInt64(DataLayout.grainShift)
    reef_prefetch(table.view.base + Int(truncatingIfNeeded: offset))
  }

  @inlinable mutating func push(_ entry: UInt64) throws(StoreError) {
    try spend()
    let node = try table.view.inner(entry)
    let index = node.index(for: start)
    stack[top] = Level(node: node, next: step > 0 ? max(index, 0) : min(index, node.count &- 1))
    top &+= 1
  }

  @inlinable @inline(__always)
  mutating func enterLeaf(_ entry: UInt64) throws(StoreError) -> LeafView {
    try spend()
    let leaf = try table.view.leaf(entry)
    guard leaf.count > 0 else { return leaf }
    let first = leaf.key(0)
    let end = leaf.key(leaf.count &- 1)
    if let last {
      guard step > 0 ? first > last : end < last else { throw table.view.damaged("leaves are not in key order") }
    }
    guard first <= end else { throw table.view.damaged("the keys of a leaf are not in order") }
    last = step > 0 ? end : first
    return leaf
  }

  @inlinable @inline(__always)
  mutating func spend() throws(StoreError) {
    guard budget > 0 else { throw table.view.damaged("a tree leads back into itself") }
    budget &-= 1
  }
}

/// Walks the rows of a table in key order, either way, from any key.
@usableFromInline package struct RowCursor {
  @usableFromInline var leaves: LeafCursor
  @usableFromInline var leaf: LeafView?
  @usableFromInline var row = 0

  @inlinable init(_ leaves: LeafCursor) { self.leaves = leaves }

  /// The next row; nil at the end.
  @inlinable package mutating func next() throws(StoreError) -> RowPosition? {
    while true {
      if let leaf, UInt(bitPattern: row) < UInt(bitPattern: leaf.count) {
        defer { row &+= leaves.step }
        return RowPosition(leaf: leaf, row: row)
      }
      guard let leaf = try leaves.next() else { return nil }
      self.leaf = leaf
      row = leaves.step > 0 ? leaf.lowerBound(leaves.start) : leaf.upperBound(leaves.start) &- 1
    }
  }
}

extension TableView {
  /// Leaves in ascending order, beginning with the one that covers `key`.
  @inlinable package func leaves(from key: Int64 = .min) -> LeafCursor { LeafCursor(self, start: key, step: 1) }

  /// Leaves in descending order, beginning with the one that covers `key`.
  @inlinable package func leavesBackward(from key: Int64 = .max) -> LeafCursor {
    LeafCursor(self, start: key, step: -1)
  }

  /// Rows in ascending order whose keys are `key` or more.
  @inlinable package func rows(from key: Int64 = .min) -> RowCursor { RowCursor(leaves(from: key)) }

  /// Rows in descending order whose keys are `key` or less.
  @inlinable package func rowsBackward(from key: Int64 = .max) -> RowCursor { RowCursor(leavesBackward(from: key)) }

  /// Calls `body` with each leaf in key order until it returns false.
  @inlinable package func forEachLeaf(_ body: (LeafView) throws(StoreError) -> Bool) throws(StoreError) {
    var cursor = leaves()
    while let leaf = try cursor.next() {
      guard try body(leaf) else { return }
    }
  }

  /// The row at a position in key order, found by counting leaf by leaf.
  @inlinable package func row(at offset: Int) throws(StoreError) -> RowPosition? {
    guard offset >= 0 else { return nil }
    var left = offset
    var cursor = leaves()
    while let leaf = try cursor.next() {
      if left < leaf.count { return RowPosition(leaf: leaf, row: left) }
      left &-= leaf.count
    }
    return nil
  }
}

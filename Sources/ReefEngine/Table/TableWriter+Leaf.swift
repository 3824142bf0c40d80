/// The open leaf: opening, packing, splitting.
extension TableWriter {
  static var capacity: Int { DataLayout.Leaf.capacity }

  @inline(__always) func covers(_ key: Int64) -> Bool {
    state.pointee.isOpen && key >= state.pointee.low && key <= state.pointee.high
  }

  /// Makes the leaf that `key` belongs into the open one; a new one where the tree has none, or where the one it has is
  /// full and `key` comes after all of it.
  func open(_ space: inout Space, for key: Int64) throws(StoreError) {
    if covers(key) { return }
    try flush(&space)
    state.pointee.isOpen = false
    while true {
      var low = Int64.min
      var high = Int64.max
      switch try locate(space, key, low: &low, high: &high) {
      case .empty: return startLeaf(low: key, high: .max)
      case .leaf(let node):
        let leaf = try leafView(space, node)
        if leaf.count >= Self.capacity, leaf.count > 0, key > leaf.key(leaf.count - 1) {
          return startLeaf(low: key, high: high)
        }
        state.pointee.rows = try scratch.load(leaf)
        state.pointee.isOpen = true
        state.pointee.isNew = false
        state.pointee.isDirty = false
        state.pointee.low = low
        state.pointee.high = high
        return
      case .gap(let level):
        if try takesSlot(space, level, key) {
          let node = path[level].node
          let shift = Self.shift(height: 1)
          let slot = Self.base(node) &+ Int64(path[level].index) &<< Self.shift(node)
          let start = slot &+ Int64(bitPattern: (UInt64(bitPattern: key &- slot) &>> UInt64(shift)) &<< UInt64(shift))
          let (end, overflow) = start.addingReportingOverflow(1 << Int64(shift) &- 1)
          return startLeaf(low: start, high: min(high, overflow ? .max : end))
        }
        // Up to where the next node begins, not farther: what comes after lies there already.
        if path[level].index == DataLayout.Inner.fanOut { return startLeaf(low: key, high: high) }
        try ownPath(&space, levels: level + 1)
        try makeKeyed(&space, level: level)
      }
    }
  }

  /// Whether a dense node should get a child for a key it does not cover: the next one after a well-filled leaf, or a
  /// place that deletes left empty. Otherwise keys are sparse here.
  private func takesSlot(_ space: borrowing Space, _ level: Int, _ key: Int64) throws(StoreError) -> Bool {
    let node = path[level].node
    let index = path[level].index
    let count = Self.count(node)
    let shift = Self.shift(node)
    guard index >= 0, index < DataLayout.Inner.fanOut, shift < 62 else { return false }
    let slot = Self.base(node) &+ Int64(index) &<< shift
    guard key >= slot, UInt64(bitPattern: key &- slot) < 1 << UInt64(shift) else { return false }
    if index < count { return true }
    // Rightmost leaf below the node.
    var entry = Self.entries(node)[count - 1]
    var below = depth - level - 1
    while below > 0 {
      let inner = try enterInner(space, entry)
      guard Self.count(inner) > 0 else { return false }
      entry = Self.entries(inner)[Self.count(inner) - 1]
      below -= 1
    }
    let leaf = try space.enter(entry, kind: NodeKind.leaf)
    return Self.count(leaf) >= Self.capacity / 2
  }

  private func startLeaf(low: Int64, high: Int64) {
    scratch.arena.pointee.used = 0
    scratch.clearNulls()
    state.pointee.rows = 0
    state.pointee.isOpen = true
    state.pointee.isNew = true
    state.pointee.isDirty = false
    state.pointee.low = low
    state.pointee.high = high
  }

  /// A checked view of a leaf in the transaction's own state.
  @inline(__always)
  func leafView(_ space: borrowing Space, _ node: UnsafeRawPointer) throws(StoreError) -> LeafView {
    try view(space).leaf(UInt64(space.ref(of: node)))
  }
  @inline(__always)
  func view(_ space: borrowing Space) -> ReadView {
    ReadView(base: UnsafeRawPointer(space.base), limit: space.limit, root: 0, version: space.version)
  }

  /// Packs the open leaf into the tree, in pieces where a column grew too long.
  func flush(_ space: inout Space) throws(StoreError) {
    guard state.pointee.isOpen, state.pointee.isDirty else { return }
    try pack(&space, splitAt: nil)
  }

  /// Packs rows before `splitAt` into the leaf's place and the others into a new one; closes the leaf when it splits.
  func pack(_ space: inout Space, splitAt: Int?) throws(StoreError) {
    let rows = state.pointee.rows
    state.pointee.isDirty = false
    if rows == 0 {
      if !state.pointee.isNew {
        if case .leaf(let node) = try locate(space, state.pointee.low) {
          let leaf = try leafView(space, node)
          try retireLeaf(&space, leaf, node)
          try removeLeaf(&space)
        }
      }
      state.pointee.isOpen = false
      return
    }
    var pieces: [(from: Int, count: Int)] = []
    if let splitAt {
      divide(0, splitAt, into: &pieces)
      divide(splitAt, rows, into: &pieces)
    } else {
      divide(0, rows, into: &pieces)
    }
    var isFirst = !state.pointee.isNew
    for piece in pieces {
      let first = scratch.keys[piece.from]
      if isFirst {
        try replaceLeaf(&space, piece)
      } else {
        let leaf = try LeafBuilder.leaf(&space, scratch, from: piece.from, count: piece.count)
        try insertLeaf(
          &space, low: first, lastKey: scratch.keys[piece.from + piece.count - 1],
          entry: UInt64(space.ref(of: leaf)))
      }
      isFirst = false
    }
    // What a new leaf may cover depends on the node it came to lie under: it is looked up again.
    if pieces.count > 1 || state.pointee.isNew { state.pointee.isOpen = false }
    state.pointee.isNew = false
  }

  private func divide(_ from: Int, _ to: Int, into pieces: inout [(from: Int, count: Int)]) {
    if to - from > 1 {
      for column in bytesColumns {
        var total = 0
        for row in from..<to { total += scratch.bytes(scratch.cell(column, row).pointee).count }
        if total > LeafBuilder.columnLimit {
          let middle = (from + to) / 2
          divide(from, middle, into: &pieces)
          divide(middle, to, into: &pieces)
          return
        }
      }
    }
    if to > from { pieces.append((from, to - from)) }
  }

  /// Puts a packed leaf in the place of the open leaf's old node.
  private func replaceLeaf(_ space: inout Space, _ piece: (from: Int, count: Int)) throws(StoreError) {
    let first = scratch.keys[piece.from]
    guard case .leaf(let old) = try locate(space, state.pointee.low) else {
      throw space.damaged("a leaf of \(schema.name) is gone")
    }
    let leaf = try LeafBuilder.leaf(&space, scratch, from: piece.from, count: piece.count)
    let depth = depth
    try ownPath(&space, levels: depth)
    setEntry(above: depth, UInt64(space.ref(of: leaf)))
    lowerEdge(to: first)
    try retireLeaf(&space, try leafView(space, old), old)
  }

  /// Retires a leaf and its columns. Blob nodes live on: whoever drops a value retires its blob.
  private func retireLeaf(
    _ space: inout Space, _ leaf: LeafView, _ node: UnsafeMutableRawPointer
  ) throws(StoreError) {
    let keys = node.load(fromByteOffset: DataLayout.Leaf.keys, as: UInt64.self)
    if keys & 0xffff_ffff != 0 { space.retire(try space.enter(keys, kind: NodeKind.column)) }
    for column in 0..<leaf.columnCount {
      let entry = leaf.columnEntry(column)
      if entry & 0xffff_ffff != 0 { space.retire(try space.enter(entry, kind: NodeKind.column)) }
    }
    space.retire(node)
  }
}

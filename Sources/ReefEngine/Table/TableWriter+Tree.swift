/// The inner nodes. Dense nodes need no separators: child i covers `base + (i << shift)` onward, and children may be
/// absent. A node stays dense while keys come in order without gaps, and turns keyed for good when they do not.
extension TableWriter {
  enum Place {
    case leaf(UnsafeMutableRawPointer)
    case empty
    /// A dense node at this level of the path has no child for the key; `path[level].index` is where it would be.
    case gap(level: Int)
  }

  static func shift(height: Int) -> Int { 8 + 6 * (height - 1) }

  static func isDense(_ node: UnsafeRawPointer) -> Bool { node.load(as: UInt8.self) == NodeKind.innerDense }
  static func count(_ node: UnsafeRawPointer) -> Int {
    Int(node.load(fromByteOffset: DataLayout.Node.shape, as: UInt16.self) & 0x1ff)
  }
  static func setCount(_ node: UnsafeMutableRawPointer, _ count: Int) {
    node.storeBytes(of: UInt16(count), toByteOffset: DataLayout.Node.shape, as: UInt16.self)
  }
  static func entries(_ node: UnsafeMutableRawPointer) -> UnsafeMutablePointer<UInt64> {
    (node + (isDense(node) ? DataLayout.Inner.denseEntries : DataLayout.Inner.keyedEntries))
      .assumingMemoryBound(to: UInt64.self)
  }
  static func keys(_ node: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Int64> {
    (node + DataLayout.Inner.keys).assumingMemoryBound(to: Int64.self)
  }
  static func base(_ node: UnsafeRawPointer) -> Int64 {
    node.load(fromByteOffset: DataLayout.Inner.denseBase, as: Int64.self)
  }
  static func shift(_ node: UnsafeRawPointer) -> Int64 {
    Int64(node.load(fromByteOffset: DataLayout.Node.form, as: UInt8.self) & 63)
  }

  static var denseLength: Int { DataLayout.Inner.denseEntries + DataLayout.Inner.fanOut * DataLayout.entrySize }
  static var keyedLength: Int { DataLayout.Inner.keyedEntries + DataLayout.Inner.fanOut * DataLayout.entrySize }

  @inline(__always)
  func enterInner(_ space: borrowing Space, _ entry: UInt64) throws(StoreError) -> UnsafeMutableRawPointer {
    let offset = (entry & 0xffff_ffff) &<< UInt64(DataLayout.grainShift)
    let limit = space.fileLimit
    guard offset >= UInt64(DataLayout.extentSize), offset &+ UInt64(Self.denseLength) <= limit else {
      throw space.damaged("a ref leads out of the file")
    }
    let node = space.pointer(UInt32(truncatingIfNeeded: entry))
    if space.limit == 0, space.provenNode(entry) == nil {
      throw ReadView(base: UnsafeRawPointer(space.base), limit: 0, root: 0, version: 0).unproven("an inner node")
    }
    let header = node.load(as: UInt64.self)
    let length = Int(header &>> 32)
    let kind = UInt8(truncatingIfNeeded: header)
    guard header &>> 16 & 0x1ff <= UInt64(DataLayout.Inner.fanOut),
      kind == NodeKind.innerDense && length >= Self.denseLength
        || kind == NodeKind.innerKeyed && length >= Self.keyedLength,
      offset &+ UInt64(length) <= limit
    else { throw space.damaged("an inner node of \(schema.name) is not sound") }
    return node
  }

  /// Walks to the leaf that covers `key`, noting the path, and the range of keys that leaf covers.
  @inline(__always)
  func locate(
    _ space: borrowing Space, _ key: Int64, low: inout Int64, high: inout Int64
  ) throws(StoreError) -> Place {
    var entry = root
    state.pointee.isFound = false
    if entry & 0xffff_ffff == 0 { return .empty }
    let depth = depth
    var level = 0
    while level < depth {
      let node = try enterInner(space, entry)
      let count = Self.count(node)
      var index: Int
      if Self.isDense(node) {
        let base = Self.base(node)
        let shift = Self.shift(node)
        index = key < base ? -1 : Int(min(UInt64(bitPattern: key &- base) &>> UInt64(shift), UInt64(count)))
        path[level] = PathStep(node: node, index: index)
        if index < 0 || index >= count { return .gap(level: level) }
        low = max(low, base &+ Int64(index) &<< shift)
        let (end, overflow) = base.addingReportingOverflow((Int64(index) &+ 1) &<< shift)
        if !overflow { high = min(high, end &- 1) }
      } else {
        let keys = Self.keys(node)
        guard count > 0 else { throw space.damaged("an inner node of \(schema.name) is empty") }
        index = 0
        var length = count
        while length > 1 {
          let half = length &>> 1
          index = keys[index &+ half] <= key ? index &+ half : index
          length &-= half
        }
        path[level] = PathStep(node: node, index: index)
        if keys[index] <= key { low = max(low, keys[index]) }
        if index &+ 1 < count { high = min(high, keys[index &+ 1] &- 1) }
      }
      entry = Self.entries(node)[index]
      if entry & 0xffff_ffff == 0 { return .gap(level: level) }
      level &+= 1
    }
    let leaf = try space.enter(entry, kind: NodeKind.leaf)
    return .leaf(leaf)
  }

  @inline(__always)
  func locate(_ space: borrowing Space, _ key: Int64) throws(StoreError) -> Place {
    var low = Int64.min
    var high = Int64.max
    return try locate(space, key, low: &low, high: &high)
  }

  /// Makes the first `levels` nodes of the path the transaction's own.
  @inline(__always)
  func ownPath(_ space: inout Space, levels: Int) throws(StoreError) {
    var level = 0
    while level < levels {
      let old = path[level].node
      if !space.isOwned(old) {
        let node = try space.own(old)
        path[level].node = node
        setEntry(above: level, UInt64(space.ref(of: node)))
      }
      level &+= 1
    }
  }

  /// Points the parent of path level `level` (the leaf where `level` is the depth) to another node.
  @inline(__always)
  func setEntry(above level: Int, _ entry: UInt64) {
    if level == 0 {
      setRoot(entry)
    } else {
      Self.entries(path[level &- 1].node)[path[level &- 1].index] = entry
    }
  }

  /// Turns a dense node of the (owned) path into a keyed one.
  func makeKeyed(_ space: inout Space, level: Int) throws(StoreError) {
    let old = path[level].node
    let node = try space.allocate(
      kind: NodeKind.innerKeyed, form: 0, shape: 0, length: Self.keyedLength)
    let from = Self.entries(old)
    var count = 0
    for index in 0..<Self.count(old) where from[index] & 0xffff_ffff != 0 {
      Self.keys(node)[count] = Self.base(old) &+ Int64(index) &<< Self.shift(old)
      Self.entries(node)[count] = from[index]
      count += 1
    }
    Self.setCount(node, count)
    setEntry(above: level, UInt64(space.ref(of: node)))
    path[level].node = node
    space.retire(old)
  }

  /// An inner node with one child.
  func inner(
    _ space: inout Space, height: Int, key: Int64, lastKey: Int64, entry: UInt64
  ) throws(StoreError) -> UInt64 {
    let shift = Self.shift(height: height)
    let isDense = shift < 62 && UInt64(bitPattern: lastKey &- key) < 1 << UInt64(shift)
    let node = try space.allocate(
      kind: isDense ? NodeKind.innerDense : NodeKind.innerKeyed, form: isDense ? UInt8(shift) : 0, shape: 1,
      length: isDense ? Self.denseLength : Self.keyedLength)
    // Base of a dense node, first key of a keyed one: the same place.
    node.storeBytes(of: key, toByteOffset: DataLayout.Inner.denseBase, as: Int64.self)
    Self.entries(node)[0] = entry
    return UInt64(space.ref(of: node))
  }

  /// Puts a new leaf into the tree.
  func insertLeaf(_ space: inout Space, low: Int64, lastKey: Int64, entry: UInt64) throws(StoreError) {
    switch try locate(space, low) {
    case .empty: setRoot(entry, depth: 0)
    case .leaf: try addSibling(&space, level: depth, key: low, lastKey: lastKey, entry: entry)
    case .gap(let level):
      try ownPath(&space, levels: level + 1)
      let node = path[level].node
      let index = path[level].index
      let height = depth - level
      let count = Self.count(node)
      let slotFits =
        index >= 0 && index < DataLayout.Inner.fanOut
        && lastKey &- (Self.base(node) &+ Int64(index) &<< Self.shift(node)) < 1 << Self.shift(node)
        && low >= Self.base(node) &+ Int64(index) &<< Self.shift(node)
      if slotFits {
        let slot = Self.base(node) &+ Int64(index) &<< Self.shift(node)
        var child = entry
        for below in 1..<max(1, height) {
          // A chain of single children down to the leaf, each aligned to its own slot.
          let first = alignedSlot(low, from: slot, height: below)
          child = try inner(&space, height: below, key: first, lastKey: lastKey, entry: child)
        }
        Self.entries(node)[index] = child
        if index == count { Self.setCount(node, count + 1) }
      } else if index == count, count == DataLayout.Inner.fanOut {
        var child = entry
        for below in 1...height {
          child = try inner(&space, height: below, key: low, lastKey: lastKey, entry: child)
        }
        try addSibling(&space, level: level, key: low, lastKey: lastKey, entry: child)
      } else {
        try makeKeyed(&space, level: level)
        try insertLeaf(&space, low: low, lastKey: lastKey, entry: entry)
      }
    }
  }

  /// The multiple of a node's child width, counted from `slot`, that `key` lies in: bases of chained nodes line up.
  private func alignedSlot(_ key: Int64, from slot: Int64, height: Int) -> Int64 {
    let shift = UInt64(Self.shift(height: height))
    return slot &+ Int64(bitPattern: (UInt64(bitPattern: key &- slot) &>> shift) &<< shift)
  }

  /// Inserts a subtree right after path level `level` (the leaf where `level` is the depth), splitting upwards.
  private func addSibling(
    _ space: inout Space, level: Int, key: Int64, lastKey: Int64, entry: UInt64
  ) throws(StoreError) {
    if level == 0 { return try newRoot(&space, key: key, lastKey: lastKey, entry: entry) }
    let above = level - 1
    try ownPath(&space, levels: level)
    let height = depth - above
    if Self.isDense(path[above].node) {
      let node = path[above].node
      let count = Self.count(node)
      let shift = Self.shift(node)
      let isNext =
        path[above].index == count - 1
        && UInt64(bitPattern: key &- Self.base(node)) == UInt64(count) << UInt64(shift)
        && UInt64(bitPattern: lastKey &- key) < 1 << UInt64(shift)
      if isNext, count < DataLayout.Inner.fanOut {
        Self.entries(node)[count] = entry
        Self.setCount(node, count + 1)
        return
      }
      if isNext {
        let sibling = try inner(&space, height: height, key: key, lastKey: lastKey, entry: entry)
        return try addSibling(&space, level: above, key: key, lastKey: lastKey, entry: sibling)
      }
      let child = Self.entries(node)[path[above].index]
      try makeKeyed(&space, level: above)
      let keyed = path[above].node
      for index in 0..<Self.count(keyed) where Self.entries(keyed)[index] == child { path[above].index = index }
    }
    let node = path[above].node
    let count = Self.count(node)
    let at = path[above].index + 1
    if count < DataLayout.Inner.fanOut {
      insert(node, count, at: at, key: key, entry: entry)
      return
    }
    if at == count {
      // Keys that come in order leave full nodes behind.
      let sibling = try inner(&space, height: height, key: key, lastKey: lastKey, entry: entry)
      return try addSibling(&space, level: above, key: key, lastKey: lastKey, entry: sibling)
    }
    let half = count / 2
    let right = try space.allocate(
      kind: NodeKind.innerKeyed, form: 0, shape: UInt16(count - half), length: Self.keyedLength)
    Self.keys(right).update(from: Self.keys(node) + half, count: count - half)
    Self.entries(right).update(from: Self.entries(node) + half, count: count - half)
    Self.setCount(node, half)
    if at <= half {
      insert(node, half, at: at, key: key, entry: entry)
    } else {
      insert(right, count - half, at: at - half, key: key, entry: entry)
    }
    try addSibling(
      &space, level: above, key: Self.keys(right)[0], lastKey: Int64.max, entry: UInt64(space.ref(of: right)))
  }

  private func insert(_ node: UnsafeMutableRawPointer, _ count: Int, at: Int, key: Int64, entry: UInt64) {
    let keys = Self.keys(node)
    let entries = Self.entries(node)
    (keys + at + 1).update(from: keys + at, count: count - at)
    (entries + at + 1).update(from: entries + at, count: count - at)
    keys[at] = key
    entries[at] = entry
    Self.setCount(node, count + 1)
  }

  private func newRoot(_ space: inout Space, key: Int64, lastKey: Int64, entry: UInt64) throws(StoreError) {
    let old = root
    let height = depth + 1
    guard height < TableView.maximumDepth else { throw space.damaged("table \(schema.name) is too deep") }
    let node = try depth == 0 ? space.enter(old, kind: NodeKind.leaf) : enterInner(space, old)
    // A leaf's base, a dense node's base and a keyed node's first key lie in the same place.
    let first = node.load(fromByteOffset: DataLayout.Leaf.base, as: Int64.self)
    let shift = Self.shift(height: height)
    let isDense =
      shift < 62 && UInt64(bitPattern: key &- first) == 1 << UInt64(shift)
      && UInt64(bitPattern: lastKey &- key) < 1 << UInt64(shift)
    let top = try space.allocate(
      kind: isDense ? NodeKind.innerDense : NodeKind.innerKeyed, form: isDense ? UInt8(shift) : 0, shape: 2,
      length: isDense ? Self.denseLength : Self.keyedLength)
    top.storeBytes(of: first, toByteOffset: DataLayout.Inner.denseBase, as: Int64.self)
    if !isDense { Self.keys(top)[1] = key }
    Self.entries(top)[0] = old
    Self.entries(top)[1] = entry
    setRoot(UInt64(space.ref(of: top)), depth: height)
  }

  /// Takes the leaf that the path leads to out of the tree; nodes left without children go with it.
  func removeLeaf(_ space: inout Space) throws(StoreError) {
    var level = depth
    try ownPath(&space, levels: level)
    while level > 0 {
      let node = path[level - 1].node
      let index = path[level - 1].index
      var count = Self.count(node)
      let entries = Self.entries(node)
      if Self.isDense(node) {
        entries[index] = 0
        while count > 0, entries[count - 1] & 0xffff_ffff == 0 { count -= 1 }
      } else {
        (entries + index).update(from: entries + index + 1, count: count - index - 1)
        let keys = Self.keys(node)
        (keys + index).update(from: keys + index + 1, count: count - index - 1)
        count -= 1
      }
      Self.setCount(node, count)
      if count > 0 { break }
      space.retire(node)
      level -= 1
    }
    if level == 0 {
      setRoot(0, depth: 0)
      return
    }
    while depth > 0 {
      let top = try enterInner(space, root)
      guard Self.count(top) == 1 else { return }
      setRoot(Self.entries(top)[0], depth: depth - 1)
      space.retire(top)
    }
  }
}

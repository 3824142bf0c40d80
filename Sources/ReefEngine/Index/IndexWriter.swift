/// Changes one index within a transaction: copy-on-write, in place where the transaction already owns a node.
///
/// A change builds its new nodes bottom-up beside the old ones and links them with its last store, which cannot fail:
/// when the disk is full half-way, the new nodes are given back and the index is as it was.
package struct IndexWriter {
  /// Entry of the topmost node, checksum not yet filled in; 0: empty.
  package internal(set) var root: UInt64
  /// Levels of inner nodes above the leaves.
  package internal(set) var depth: Int

  package init(root: UInt64 = 0, depth: Int = 0) {
    self.root = root
    self.depth = depth
  }

  /// The way from the root to a leaf. Level 0 is the leaf.
  struct Path {
    var nodes = InlineArray<13, UnsafeMutableRawPointer?>(repeating: nil)
    /// Inner nodes: the child taken. Leaf: the place of the entry.
    var places = InlineArray<13, Int>(repeating: 0)
    /// No inner node had a child to the right of the one taken.
    var isLast = true
  }

  /// New nodes of a change, and those they replace.
  struct Change {
    var made = InlineArray<40, UInt32>(repeating: 0)
    var madeCount = 0
    var replaced = InlineArray<40, UInt32>(repeating: 0)
    var replacedCount = 0

    mutating func replace(_ node: UnsafeRawPointer, _ space: borrowing Space) {
      replaced[replacedCount] = space.ref(of: node)
      replacedCount += 1
    }

    /// The change is linked: what it replaced may go.
    func finish(_ space: inout Space) {
      for index in 0..<replacedCount { space.retire(space.pointer(replaced[index])) }
    }

    /// The change failed before it was linked.
    func abandon(_ space: inout Space) {
      for index in 0..<madeCount { space.retire(space.pointer(made[index])) }
    }

    mutating func make(_ shape: IndexShape, _ space: inout Space) throws(StoreError) -> UnsafeMutableRawPointer {
      let node = try space.allocate(
        kind: shape.kind, form: shape.form, shape: UInt16(truncatingIfNeeded: shape.count), length: shape.length)
      made[madeCount] = space.ref(of: node)
      madeCount += 1
      return node
    }

    mutating func build(_ pieces: IndexPieces, _ shape: IndexShape, _ space: inout Space) throws(StoreError)
      -> UnsafeMutableRawPointer
    {
      let node = try make(shape, &space)
      pieces.write(shape, to: node)
      return node
    }
  }

  static var maximumLength: Int { DataLayout.Index.maximumLength }

  /// Enters a node that may be changed or copied.
  @inline(__always)
  static func enter(_ entry: UInt64, level: Int, _ space: borrowing Space) throws(StoreError) -> IndexNode {
    let node = try space.enter(entry, kind: level == 0 ? NodeKind.indexLeaf : NodeKind.indexInner)
    guard let result = IndexNode(node), result.shape.length <= maximumLength, level > 0 || result.count > 0,
      space.isOwned(node) || result.hasSoundEnds
    else { throw space.damaged("an index node is not sound") }
    return result
  }

  /// Goes to the leaf that the pair belongs into; the place in the leaf is how many entries are below it.
  func descend(_ key: EncodedKey, _ objectKey: Int64, _ space: borrowing Space) throws(StoreError) -> (IndexNode, Path)
  {
    var path = Path()
    var entry = root
    var level = depth
    guard level <= DataLayout.Index.maximumDepth else { throw space.damaged("an index is too deep") }
    while level > 0 {
      let node = try Self.enter(entry, level: level, space)
      let child = node.rank(key, objectKey, through: true)
      path.nodes[level] = UnsafeMutableRawPointer(mutating: node.base)
      path.places[level] = child
      if child < node.count { path.isLast = false }
      entry = node.children[child]
      level &-= 1
    }
    let leaf = try Self.enter(entry, level: 0, space)
    path.nodes[0] = UnsafeMutableRawPointer(mutating: leaf.base)
    path.places[0] = leaf.rank(key, objectKey, through: false)
    return (leaf, path)
  }

  /// An inner node of the path, which `descend` has checked.
  @inline(__always)
  static func node(_ path: borrowing Path, _ level: Int, _ space: borrowing Space) throws(StoreError) -> IndexNode {
    guard let base = path.nodes[level], let node = IndexNode(base) else {
      throw space.damaged("an index node changed under its writer")
    }
    return node
  }

  @inline(__always)
  static func entry(_ node: UnsafeRawPointer, _ space: borrowing Space) -> UInt64 { UInt64(space.ref(of: node)) }

  /// Makes every ancestor from `level` on lead to `child`: in the first one that the transaction owns by a store,
  /// below it by copies. Links the change.
  mutating func link(
    _ child: UInt64, from level: Int, _ path: borrowing Path, _ change: inout Change, _ space: inout Space
  ) throws(StoreError) {
    var child = child
    var level = level
    while level <= depth {
      let node = try Self.node(path, level, space)
      let offset = node.shape.children + path.places[level] * 8
      if space.isOwned(node.base) {
        (UnsafeMutableRawPointer(mutating: node.base) + offset).storeBytes(of: child, as: UInt64.self)
        return
      }
      let copy = try change.make(node.shape, &space)
      (copy + DataLayout.Node.size).copyMemory(
        from: node.base + DataLayout.Node.size, byteCount: node.shape.length - DataLayout.Node.size)
      node.shape.writeHeader(to: copy)
      (copy + offset).storeBytes(of: child, as: UInt64.self)
      change.replace(node.base, space)
      child = Self.entry(copy, space)
      level += 1
    }
    root = child
  }
}

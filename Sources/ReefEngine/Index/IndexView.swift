import CReefKernels

/// One index of one version, for reading: a B+tree of (encoded value, object key), in the order of values and then of
/// object keys.
///
/// A plain value, valid while its version is pinned. Every node is checked where it is entered; what a damaged file
/// says ends in `StoreError.damaged`, never in a trap, and every loop is bounded.
package struct IndexView {
  package let view: ReadView
  /// Entry of the topmost node; 0: empty.
  package let root: UInt64
  /// Levels of inner nodes above the leaves.
  package let depth: Int

  package init(view: ReadView, root: UInt64, depth: Int) {
    self.view = view
    self.root = root
    self.depth = depth
  }

  package var isEmpty: Bool { root & 0xffff_ffff == 0 }

  /// The object key of the first entry with exactly these bytes. Where `key.isExact` is false that is a candidate
  /// only: others may follow (`cursor(at:)`), and the row's value decides.
  package func find(_ key: EncodedKey) throws(StoreError) -> Int64? {
    guard !isEmpty else { return nil }
    var entry = root
    var level = depth
    guard level <= DataLayout.Index.maximumDepth else { throw view.damaged("an index is too deep") }
    // What follows the leaf that the search ends in, should it end behind its last entry.
    var following: (entry: UInt64, level: Int) = (0, 0)
    while level > 0 {
      let node = try enter(entry, level: level)
      let at = node.rank(key, .min, through: true)
      level &-= 1
      if at < node.count { following = (node.children[at &+ 1], level) }
      entry = node.children[at]
    }
    var leaf = try enter(entry, level: 0)
    var (index, isEqual) = leaf.first(key)
    if index == leaf.count, following.entry != 0 {
      (entry, level) = following
      while level > 0 {
        entry = try enter(entry, level: level).children[0]
        level &-= 1
      }
      leaf = try enter(entry, level: 0)
      (index, isEqual) = leaf.first(key)
    }
    return isEqual ? leaf.objectKeys[index] : nil
  }

  package func find(_ key: borrowing IndexKey) throws(StoreError) -> Int64? {
    try key.withEncoded { (key) throws(StoreError) in try find(key) }
  }

  /// Whether this very pair is in the index.
  package func contains(_ key: EncodedKey, _ objectKey: Int64) throws(StoreError) -> Bool {
    guard !isEmpty else { return false }
    var entry = root
    var level = depth
    guard level <= DataLayout.Index.maximumDepth else { throw view.damaged("an index is too deep") }
    while level > 0 {
      let node = try enter(entry, level: level)
      entry = node.children[node.rank(key, objectKey, through: true)]
      level &-= 1
    }
    let leaf = try enter(entry, level: 0)
    let at = leaf.rank(key, objectKey, through: false)
    return leaf.isEqual(at, key) && leaf.objectKeys[at] == objectKey
  }

  /// Enters a node: its kind is that of its level, its parts add up to its length, and a leaf is not empty.
  @inline(__always)
  func enter(_ entry: UInt64, level: Int) throws(StoreError) -> IndexNode {
    let offset = Int(truncatingIfNeeded: entry & 0xffff_ffff) &<< DataLayout.grainShift
    // The misses of a search would follow one another; asked for together they overlap. The heads only: of what lies
    // behind them a search needs one line or two, and the lines that can be under way at a time are few.
    reef_index_prefetch(view.base + offset, 768)
    let node = try view.node(entry)
    if node.kind == (level == 0 ? NodeKind.indexLeaf : NodeKind.indexInner),
      let shape = IndexShape(node.pointer, head: node.head), level > 0 || shape.count > 0
    {
      return IndexNode(base: node.pointer, shape: shape)
    }
    throw view.damaged("an index node is not sound")
  }
}

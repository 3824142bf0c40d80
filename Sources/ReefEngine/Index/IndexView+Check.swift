/// What a walk over a whole index found.
package struct IndexStatistics: Equatable, Sendable {
  package var entries = 0
  package var leaves = 0
  package var innerNodes = 0
  package var leafBytes = 0
  package var innerBytes = 0
}

extension IndexView {
  /// Walks the whole index and proves its invariants: entries ascend strictly; every separator is above all entries to
  /// its left and not above any to its right; all leaves lie on one level; the parts of every node are sound.
  @discardableResult
  package func check() throws(StoreError) -> IndexStatistics {
    guard depth <= DataLayout.Index.maximumDepth else { throw view.damaged("an index is too deep") }
    var walk = Walk()
    if !isEmpty { try check(root, level: depth, &walk) }
    return walk.statistics
  }

  private struct Walk: ~Copyable {
    var statistics = IndexStatistics()
    var last = IndexKey()
    var lastObjectKey = Int64.min
    var isFirst = true
    /// The last key seen is a separator: the next entry may equal it.
    var isSeparator = false
    var next = IndexKey()
  }

  private func check(_ entry: UInt64, level: Int, _ walk: inout Walk) throws(StoreError) {
    let node = try enter(entry, level: level)
    guard node.hasSoundEnds, node.shape.length <= DataLayout.Index.maximumLength else {
      throw view.damaged("an index node is not sound")
    }
    if level == 0 {
      walk.statistics.leaves += 1
      walk.statistics.leafBytes += node.shape.length
      walk.statistics.entries += node.count
      for index in 0..<node.count { try step(node, index, isSeparator: false, &walk) }
      return
    }
    walk.statistics.innerNodes += 1
    walk.statistics.innerBytes += node.shape.length
    for child in 0...node.count {
      if child > 0 { try step(node, child - 1, isSeparator: true, &walk) }
      try check(node.children[child], level: level - 1, &walk)
    }
  }

  private func step(_ node: IndexNode, _ index: Int, isSeparator: Bool, _ walk: inout Walk) throws(StoreError) {
    node.copyKey(index, to: &walk.next)
    let objectKey = node.objectKeys[index]
    if !walk.isFirst {
      var order = IndexKey.compare(walk.last, walk.next)
      if order == 0 { order = walk.lastObjectKey < objectKey ? -1 : walk.lastObjectKey == objectKey ? 0 : 1 }
      guard order < 0 || (order == 0 && walk.isSeparator && !isSeparator) else {
        throw view.damaged("an index is out of order")
      }
    }
    swap(&walk.last, &walk.next)
    walk.lastObjectKey = objectKey
    walk.isSeparator = isSeparator
    walk.isFirst = false
  }
}

extension IndexKey {
  /// Negative, 0 or positive, as the first key is below, equal to or above the second.
  package static func compare(_ one: borrowing IndexKey, _ two: borrowing IndexKey) -> Int {
    one.withEncoded { one in
      two.withEncoded { two in
        let shared = commonPrefix(one, two)
        if shared == one.length || shared == two.length { return one.length - two.length }
        return one.head(shared) < two.head(shared) ? -1 : 1
      }
    }
  }
}

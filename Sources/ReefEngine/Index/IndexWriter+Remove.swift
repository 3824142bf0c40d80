extension IndexWriter {
  /// Removes a pair; false where it is not there.
  package mutating func remove(_ key: EncodedKey, _ objectKey: Int64, space: inout Space) throws(StoreError) -> Bool {
    if root & 0xffff_ffff == 0 { return false }
    let (leaf, path) = try descend(key, objectKey, space)
    let place = path.places[0]
    guard leaf.isEqual(place, key), leaf.objectKeys[place] == objectKey else { return false }
    var change = Change()
    do throws(StoreError) {
      try remove(leaf, path, &change, &space)
    } catch {
      change.abandon(&space)
      throw error
    }
    change.finish(&space)
    return true
  }

  /// What the parent of a node that lost an entry has to do.
  private enum Outcome {
    /// Nothing: the node was changed in place.
    case done
    case replace(UInt64)
    case remove
    /// The node and a neighbour became one: the child at `index` becomes `entry`, the next one goes.
    case merge(index: Int, entry: UInt64)
  }

  private mutating func remove(
    _ leaf: IndexNode, _ path: Path, _ change: inout Change, _ space: inout Space
  ) throws(StoreError) {
    var outcome = try shrink(leaf, path, level: 0, removing: path.places[0], child: 0, &change, &space)
    var level = 1
    while level <= depth {
      let node = try Self.node(path, level, space)
      switch outcome {
      case .done:
        return
      case .replace(let entry):
        return try link(entry, from: level, path, &change, &space)
      case .remove:
        let child = path.places[level]
        if node.count == 0 {
          change.replace(node.base, space)
        } else {
          outcome = try shrink(
            node, path, level: level, removing: max(0, child - 1), child: child, &change, &space)
        }
      case .merge(let index, let entry):
        outcome = try shrink(
          node, path, level: level, removing: index, child: index + 1, &change, &space, setting: (index, entry))
      }
      level += 1
    }
    switch outcome {
    case .done, .merge: break
    case .replace(let entry): root = entry
    case .remove:
      root = 0
      depth = 0
    }
    collapse(&change, &space)
  }

  /// Takes an entry out of a node (of inner nodes a separator and a child), and joins it with a neighbour if it got
  /// small and both fit into one.
  private func shrink(
    _ node: IndexNode, _ path: borrowing Path, level: Int, removing index: Int, child: Int, _ change: inout Change,
    _ space: inout Space, setting: (child: Int, entry: UInt64)? = nil
  ) throws(StoreError) -> Outcome {
    if level == 0, node.count == 1 {
      change.replace(node.base, space)
      return .remove
    }
    let shape = node.shape(removing: index)
    let isOwned = space.isOwned(node.base)
    let result: UnsafeMutableRawPointer
    if isOwned {
      result = UnsafeMutableRawPointer(mutating: node.base)
      node.remove(at: index, child: child, as: shape, from: result)
    } else {
      var pieces = IndexPieces(isLeaf: level == 0)
      if level == 0 {
        pieces.append(.range(node, 0, index))
        pieces.append(.range(node, index + 1, node.count))
      } else {
        pieces.append(.range(node, 0, child))
        pieces.append(.range(node, child + 1, node.count + 1))
      }
      // Dropping child 0 drops the separator behind it; the pieces begin at child 1 and leave that one out.
      result = try change.build(pieces, shape, &space)
    }
    if let setting {
      (result + (shape.children + setting.child * 8)).storeBytes(of: setting.entry, as: UInt64.self)
    }
    if shape.length <= Self.maximumLength / 3, level < depth,
      let merged = merge(IndexNode(base: result, shape: shape), path, level: level, &change, &space)
    {
      change.replace(node.base, space)
      if !isOwned { change.replace(result, space) }
      return merged
    }
    if isOwned { return .done }
    change.replace(node.base, space)
    return .replace(Self.entry(result, space))
  }

  /// Joins a small node with the neighbour to its right or left. Nil where they do not fit, or where there is no room
  /// to do it: it only saves space.
  private func merge(
    _ node: IndexNode, _ path: borrowing Path, level: Int, _ change: inout Change, _ space: inout Space
  ) -> Outcome? {
    do throws(StoreError) {
      let parent = try Self.node(path, level + 1, space)
      let own = path.places[level + 1]
      for left in [own, own - 1] where left >= 0 && left < parent.count {
        let other = try Self.enter(parent.children[left == own ? own + 1 : left], level: level, space)
        let (first, second) = left == own ? (node, other) : (other, node)
        if first.shape.length + second.shape.length > Self.maximumLength * 2 { continue }
        var key = IndexKey()
        parent.copyKey(left, to: &key)
        let merged = try key.withEncoded { (key) throws(StoreError) -> UnsafeMutableRawPointer? in
          var pieces = IndexPieces(isLeaf: level == 0)
          if level == 0 {
            pieces.append(.range(first, 0, first.count))
            pieces.append(.range(second, 0, second.count))
          } else {
            pieces.append(.range(first, 0, first.count + 1))
            pieces.append(.one(key, parent.objectKeys[left], child: second.children[0]))
            pieces.append(.range(second, 1, second.count + 1))
          }
          let shape = pieces.bestShape()
          guard shape.length <= Self.maximumLength * 7 / 8 else { return nil }
          return try change.build(pieces, shape, &space)
        }
        if let merged {
          change.replace(other.base, space)
          return .merge(index: left, entry: Self.entry(merged, space))
        }
      }
    } catch {
      return nil
    }
    return nil
  }

  /// A root with a single child gives way to it.
  private mutating func collapse(_ change: inout Change, _ space: inout Space) {
    while depth > 0 {
      guard let node = try? Self.enter(root, level: depth, space), node.count == 0 else { return }
      change.replace(node.base, space)
      root = node.children[0]
      depth -= 1
    }
  }
}

extension IndexWriter {
  /// Inserts a pair. Returns nil when it was inserted, else the object key of what is there already: the same pair or,
  /// where `unique`, any entry with these bytes. (Where `key.isExact` is false, equal bytes are only a suspicion:
  /// compare the rows of all candidates, and if none is equal insert with `unique: false`.)
  package mutating func insert(
    _ key: EncodedKey, _ objectKey: Int64, unique: Bool = false, space: inout Space
  ) throws(StoreError) -> Int64? {
    if root & 0xffff_ffff == 0 { return try insertFirst(key, objectKey, &space) }
    let (leaf, path) = try descend(key, objectKey, space)
    let place = path.places[0]
    if leaf.isEqual(place, key) {
      if unique || leaf.objectKeys[place] == objectKey { return leaf.objectKeys[place] }
    } else if unique {
      if place > 0, leaf.isEqual(place - 1, key) { return leaf.objectKeys[place - 1] }
      // At the edge of a leaf, equal bytes may lie in its neighbour.
      if place == 0 || place == leaf.count, let other = try find(key, space) { return other }
    }
    if let shape = leaf.shape(adding: key), space.isOwned(leaf.base), shape.length <= Self.maximumLength,
      shape.length <= space.capacity(of: leaf.base)
    {
      leaf.insert(
        key, objectKey, child: 0, at: place, as: shape, into: UnsafeMutableRawPointer(mutating: leaf.base))
      return nil
    }
    var change = Change()
    do throws(StoreError) {
      try insert(key, objectKey, leaf, path, &change, &space)
    } catch {
      change.abandon(&space)
      throw error
    }
    change.finish(&space)
    return nil
  }

  private mutating func insertFirst(
    _ key: EncodedKey, _ objectKey: Int64, _ space: inout Space
  ) throws(StoreError) -> Int64? {
    var pieces = IndexPieces(isLeaf: true)
    pieces.append(.one(key, objectKey))
    var change = Change()
    root = Self.entry(try change.build(pieces, pieces.bestShape(), &space), space)
    depth = 0
    return nil
  }

  private func find(_ key: EncodedKey, _ space: borrowing Space) throws(StoreError) -> Int64? {
    let view = ReadView(base: UnsafeRawPointer(space.base), limit: space.limit, root: 0, version: 0)
    return try IndexView(view: view, root: root, depth: depth).find(key)
  }

  /// What became of the node of one level: what stands in its place (0: the node itself, unchanged) and, if it was
  /// split, what lies to the right of a separator, whose bytes are in a buffer of the caller.
  private struct Outcome {
    var left: UInt64
    var right: UInt64 = 0
    var objectKey: Int64 = .min
  }

  private mutating func insert(
    _ key: EncodedKey, _ objectKey: Int64, _ leaf: IndexNode, _ path: Path, _ change: inout Change,
    _ space: inout Space
  ) throws(StoreError) {
    var pieces = IndexPieces(isLeaf: true)
    pieces.append(.range(leaf, 0, path.places[0]))
    pieces.append(.one(key, objectKey))
    pieces.append(.range(leaf, path.places[0], leaf.count))
    var separator = IndexKey()
    var outcome = try replace(
      leaf, pieces, leaf.shape(adding: key), at: path.places[0], isLast: path.isLast, &separator, &change, &space)

    var level = 1
    while outcome.right != 0 {
      if level > depth { return try growRoot(outcome, separator, &change, &space) }
      let node = try Self.node(path, level, space)
      var raised = IndexKey()
      let next = try separator.withEncoded { (key) throws(StoreError) in
        try insertChild(key, outcome, node, path, level, &raised, &change, &space)
      }
      guard let next else { return }
      outcome = next
      swap(&separator, &raised)
      level += 1
    }
    if outcome.left != 0 { try link(outcome.left, from: level, path, &change, &space) }
  }

  /// Puts what became of a child into its parent. Nil: in place, and so the change is linked.
  private mutating func insertChild(
    _ separator: EncodedKey, _ outcome: Outcome, _ node: IndexNode, _ path: borrowing Path, _ level: Int,
    _ raised: inout IndexKey, _ change: inout Change, _ space: inout Space
  ) throws(StoreError) -> Outcome? {
    let child = path.places[level]
    let shape = node.shape(adding: separator)
    if let shape, space.isOwned(node.base), shape.length <= Self.maximumLength,
      shape.length <= space.capacity(of: node.base)
    {
      let target = UnsafeMutableRawPointer(mutating: node.base)
      if outcome.left != 0 {
        (target + (node.shape.children + child * 8)).storeBytes(of: outcome.left, as: UInt64.self)
      }
      node.insert(separator, outcome.objectKey, child: outcome.right, at: child, as: shape, into: target)
      return nil
    }
    var pieces = IndexPieces(isLeaf: false)
    pieces.append(.range(node, 0, child + 1))
    pieces.append(.one(separator, outcome.objectKey, child: outcome.right))
    pieces.append(.range(node, child + 1, node.count + 1))
    return try replace(
      node, pieces, shape, at: child + 1, isLast: path.isLast, &raised, &change, &space, left: outcome.left)
  }

  /// Builds one or two nodes of `pieces` in place of `node`. Entry `place` of the pieces is new; where `left` is not
  /// 0, child `place` − 1 becomes it.
  private func replace(
    _ node: IndexNode, _ pieces: IndexPieces, _ shape: IndexShape?, at place: Int, isLast: Bool,
    _ separator: inout IndexKey, _ change: inout Change, _ space: inout Space, left: UInt64 = 0
  ) throws(StoreError) -> Outcome {
    let maximum = Self.maximumLength
    var whole = shape.flatMap { $0.length <= maximum ? $0 : nil }
    if whole == nil {
      // Full, or another prefix or form is called for. Packed anew it may fit; if only just, a split is due.
      let best = pieces.bestShape()
      if best.length <= (shape == nil ? maximum : maximum * 7 / 8) { whole = best }
    }
    if let whole {
      let new = try change.build(pieces, whole, &space)
      if left != 0 { Self.setChild(new, whole, place - 1, left) }
      change.replace(node.base, space)
      return Outcome(left: Self.entry(new, space))
    }

    let cut = self.cut(pieces, at: place, isLast: isLast && place == pieces.total - 1)
    let (low, high) = (pieces.slice(0, cut), pieces.slice(cut, pieces.total))
    var outcome = Outcome(left: 0)
    if pieces.isLeaf {
      outcome.objectKey = Self.separate(pieces, cut, &separator)
    } else {
      outcome.objectKey = pieces.copyKey(cut, to: &separator)
    }
    let highShape = high.bestShape()
    let new = try change.build(high, highShape, &space)
    if left != 0, place - 1 >= cut { Self.setChild(new, highShape, place - 1 - cut, left) }
    outcome.right = Self.entry(new, space)

    let lowShape = low.bestShape()
    let isUnchanged = place == cut && cut == pieces.total - 1 && left == 0
    if !isUnchanged || lowShape.length + 64 < node.shape.length {
      let new = try change.build(low, lowShape, &space)
      if left != 0, place - 1 < cut { Self.setChild(new, lowShape, place - 1, left) }
      change.replace(node.base, space)
      outcome.left = Self.entry(new, space)
    }
    return outcome
  }

  /// Where to split: ascending inserts leave full nodes behind, others two of about equal size. Where a key that does
  /// not share the node's prefix would make both too long, it sorts before or behind all others and goes alone.
  private func cut(_ pieces: IndexPieces, at place: Int, isLast: Bool) -> Int {
    if isLast { return pieces.total - 1 }
    let maximum = Self.maximumLength
    let middle = pieces.middle()
    if pieces.slice(0, middle).bestShape().length <= maximum,
      pieces.slice(middle, pieces.total).bestShape().length <= maximum
    {
      return middle
    }
    return place <= (pieces.isLeaf ? 0 : 1) ? 1 : pieces.total - 1
  }

  /// The shortest key that is above entry `cut` − 1 and not above entry `cut`, but a whole head if there is one.
  private static func separate(_ pieces: IndexPieces, _ cut: Int, _ separator: inout IndexKey) -> Int64 {
    var last = IndexKey()
    _ = pieces.copyKey(cut - 1, to: &last)
    let objectKey = pieces.copyKey(cut, to: &separator)
    let shared = last.withEncoded { last in separator.withEncoded { IndexKey.commonPrefix(last, $0) } }
    if shared == separator.length { return objectKey }
    separator.truncate(max(shared + 1, min(DataLayout.Index.headSize, separator.length)))
    return .min
  }

  private static func setChild(_ node: UnsafeMutableRawPointer, _ shape: IndexShape, _ child: Int, _ entry: UInt64) {
    (node + (shape.children + child * 8)).storeBytes(of: entry, as: UInt64.self)
  }

  private mutating func growRoot(
    _ outcome: Outcome, _ separator: borrowing IndexKey, _ change: inout Change, _ space: inout Space
  ) throws(StoreError) {
    guard depth < DataLayout.Index.maximumDepth else { throw space.damaged("an index is too deep") }
    let left = outcome.left == 0 ? root : outcome.left
    let node = try separator.withEncoded { (key) throws(StoreError) in
      var pieces = IndexPieces(isLeaf: false)
      pieces.append(.one(key, .min, child: left))
      pieces.append(.one(key, outcome.objectKey, child: outcome.right))
      return try change.build(pieces, pieces.bestShape(), &space)
    }
    root = Self.entry(node, space)
    depth += 1
  }
}

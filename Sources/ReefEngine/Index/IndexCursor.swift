/// A position between two entries of an index, and the way there: steps forwards and backwards without allocating.
///
/// Valid while the version is pinned; in a transaction, until the index is written to.
package struct IndexCursor {
  let index: IndexView
  /// Entries of the inner nodes on the way, by level − 1, and which child was taken.
  private var nodes = InlineArray<12, UInt64>(repeating: 0)
  private var taken = InlineArray<12, Int>(repeating: 0)
  /// The leaf that the position is in; nil: the index is empty.
  private var leaf: IndexNode?
  /// The entry behind the position; may be the leaf's count.
  private var at = 0

  init(_ index: IndexView) {
    self.index = index
  }

  /// Where a descent goes at each node.
  fileprivate enum Target {
    case first, last
    case key(EncodedKey, Int64, through: Bool)
  }

  fileprivate mutating func seek(_ target: Target) throws(StoreError) {
    guard !index.isEmpty else { return }
    guard index.depth <= DataLayout.Index.maximumDepth else { throw index.view.damaged("an index is too deep") }
    try descend(from: index.root, level: index.depth, target)
    guard let leaf else { return }
    switch target {
    case .first: at = 0
    case .last: at = leaf.count
    case .key(let key, let objectKey, let through): at = leaf.rank(key, objectKey, through: through)
    }
  }

  private mutating func descend(from entry: UInt64, level: Int, _ target: Target) throws(StoreError) {
    var entry = entry
    var level = level
    while level > 0 {
      let node = try index.enter(entry, level: level)
      let child =
        switch target {
        case .first: 0
        case .last: node.count
        case .key(let key, let objectKey, _): node.rank(key, objectKey, through: true)
        }
      level &-= 1
      nodes[level] = entry
      taken[level] = child
      entry = node.children[child]
    }
    leaf = try index.enter(entry, level: 0)
  }

  /// Goes to the neighbouring leaf; false at the end. Leaves have to be in order: a damaged tree that leads round in
  /// circles is found at the second visit.
  private mutating func turn(forward: Bool) throws(StoreError) -> Bool {
    guard let old = leaf else { return false }
    var level = 0
    while level < index.depth {
      let node = try index.enter(nodes[level], level: level &+ 1)
      let next = taken[level] &+ (forward ? 1 : -1)
      if next >= 0, next <= node.count {
        taken[level] = next
        try descend(from: node.children[next], level: level, forward ? .first : .last)
        guard let new = leaf else { return false }
        let order = new.compare(0, with: old, 0)
        guard forward ? order > 0 : order < 0 else { throw index.view.damaged("index leaves are out of order") }
        at = forward ? 0 : new.count
        return true
      }
      level &+= 1
    }
    return false
  }

  // MARK: Stepping

  /// The object key of the entry behind the position, after stepping over it; nil at the end.
  package mutating func next() throws(StoreError) -> Int64? {
    guard var leaf else { return nil }
    if at >= leaf.count {
      guard try turn(forward: true), let new = self.leaf else { return nil }
      leaf = new
    }
    at &+= 1
    return leaf.objectKeys[at &- 1]
  }

  /// The object key of the entry before the position, after stepping back over it; nil at the start.
  package mutating func previous() throws(StoreError) -> Int64? {
    guard var leaf else { return nil }
    if at <= 0 {
      guard try turn(forward: false), let new = self.leaf else { return nil }
      leaf = new
    }
    at &-= 1
    return leaf.objectKeys[at]
  }

  /// Copies the bytes of the entry that the last `next()` stepped over (`previous()`: with `behind`).
  package func copyKey(to key: inout IndexKey, behind: Bool = false) {
    let entry = behind ? at : at &- 1
    if let leaf, entry >= 0, entry < leaf.count { leaf.copyKey(entry, to: &key) }
  }

  /// All entries from the position on that lie in one leaf and before `end`; nil at the end. Steps over them.
  ///
  /// The fastest way through a range: the object keys are read in place, and the end is looked for once a leaf.
  package mutating func nextRun(before end: IndexBound? = nil) throws(StoreError) -> UnsafeBufferPointer<Int64>? {
    guard var leaf else { return nil }
    if at >= leaf.count {
      guard try turn(forward: true), let new = self.leaf else { return nil }
      leaf = new
    }
    let stop = end.map { leaf.rank($0.key, $0.objectKey, through: $0.isAfter) } ?? leaf.count
    guard stop > at else { return nil }
    defer { at = stop }
    return UnsafeBufferPointer(start: leaf.objectKeys + at, count: stop &- at)
  }

  /// The same backwards: the run ends at the position and begins at or after `start`. Its order is still ascending.
  package mutating func previousRun(after start: IndexBound? = nil) throws(StoreError) -> UnsafeBufferPointer<Int64>? {
    guard var leaf else { return nil }
    if at <= 0 {
      guard try turn(forward: false), let new = self.leaf else { return nil }
      leaf = new
    }
    let first = start.map { leaf.rank($0.key, $0.objectKey, through: $0.isAfter) } ?? 0
    guard first < at else { return nil }
    defer { at = first }
    return UnsafeBufferPointer(start: leaf.objectKeys + first, count: at &- first)
  }
}

/// A place between two entries: before everything with these bytes, or after it.
package struct IndexBound {
  package let key: EncodedKey
  package let isAfter: Bool
  package static func before(_ key: EncodedKey) -> IndexBound { IndexBound(key: key, isAfter: false) }
  package static func after(_ key: EncodedKey) -> IndexBound { IndexBound(key: key, isAfter: true) }
  var objectKey: Int64 { isAfter ? .max : .min }
}

extension IndexView {
  /// A cursor before the first entry.
  package func start() throws(StoreError) -> IndexCursor {
    var cursor = IndexCursor(self)
    try cursor.seek(.first)
    return cursor
  }

  /// A cursor after the last entry.
  package func end() throws(StoreError) -> IndexCursor {
    var cursor = IndexCursor(self)
    try cursor.seek(.last)
    return cursor
  }

  /// A cursor at a bound: `.before(key)` is the lower bound, `.after(key)` the upper.
  package func cursor(at bound: IndexBound) throws(StoreError) -> IndexCursor {
    var cursor = IndexCursor(self)
    try cursor.seek(.key(bound.key, bound.objectKey, through: bound.isAfter))
    return cursor
  }

  /// Number of entries between two bounds (nil: open). Costs a step per leaf.
  package func count(from lower: IndexBound?, to upper: IndexBound?) throws(StoreError) -> Int {
    var cursor: IndexCursor
    if let lower { cursor = try self.cursor(at: lower) } else { cursor = try start() }
    var count = 0
    while let run = try cursor.nextRun(before: upper) { count &+= run.count }
    return count
  }

  /// Number of entries with exactly these bytes.
  package func count(equal key: EncodedKey) throws(StoreError) -> Int {
    try count(from: .before(key), to: .after(key))
  }
}

/// A compiled condition: answers for a whole leaf at once, and for one row.
///
/// Classes rather than an enum, so that a leaf costs one virtual call per node and no reference counting of payloads.
/// Immutable once made.
class PredicateNode: @unchecked Sendable {
  /// Rough nanoseconds per leaf: cheap conditions run first and spare the others.
  var cost: Int { 1 }
  /// Only rows with these keys can match.
  var keyRanges: KeyRanges { .all }

  /// Columns that the condition reads.
  var columns: [Int] { [] }

  /// The rows among `candidates` that match.
  func select(_ leaf: LeafView, _ candidates: Selection) throws(StoreError) -> Selection { candidates }

  func matches(_ leaf: LeafView, _ row: Int) throws(StoreError) -> Bool { true }
}

final class ConstantNode: PredicateNode, @unchecked Sendable {
  let answer: Bool
  init(_ answer: Bool) { self.answer = answer }
  override var cost: Int { 0 }
  override var keyRanges: KeyRanges { answer ? .all : .none }
  override func select(_ leaf: LeafView, _ candidates: Selection) throws(StoreError) -> Selection {
    answer ? candidates : .none
  }
  override func matches(_ leaf: LeafView, _ row: Int) throws(StoreError) -> Bool { answer }
}

/// A condition on the object key.
final class KeyNode: PredicateNode, @unchecked Sendable {
  let keys: KeyRanges
  init(_ keys: KeyRanges) { self.keys = keys }
  override var keyRanges: KeyRanges { keys }

  override func select(_ leaf: LeafView, _ candidates: Selection) throws(StoreError) -> Selection {
    guard leaf.count > 0 else { return .none }
    var result = Selection.none
    let last = leaf.key(leaf.count &- 1)
    var index = firstRange(endingAtOrAfter: leaf.key(0))
    while index < keys.ranges.count, keys.ranges[index].lower <= last {
      let lower = leaf.lowerBound(keys.ranges[index].lower)
      let upper = leaf.upperBound(keys.ranges[index].upper)
      if lower < upper { result = result | Selection(rows: lower..<upper) }
      index += 1
    }
    return result & candidates
  }

  override func matches(_ leaf: LeafView, _ row: Int) throws(StoreError) -> Bool {
    keys.contains(leaf.key(row))
  }

  private func firstRange(endingAtOrAfter key: Int64) -> Int {
    var low = 0
    var high = keys.ranges.count
    while low < high {
      let middle = (low + high) / 2
      if keys.ranges[middle].upper < key { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

final class NotNode: PredicateNode, @unchecked Sendable {
  let child: PredicateNode
  init(_ child: PredicateNode) { self.child = child }
  override var cost: Int { child.cost }
  override var columns: [Int] { child.columns }
  override func select(_ leaf: LeafView, _ candidates: Selection) throws(StoreError) -> Selection {
    candidates.subtracting(try child.select(leaf, candidates))
  }
  override func matches(_ leaf: LeafView, _ row: Int) throws(StoreError) -> Bool {
    try !child.matches(leaf, row)
  }
}

final class AndNode: PredicateNode, @unchecked Sendable {
  let children: [PredicateNode]
  private let unretained: UnretainedNodes
  private let total: Int
  private let keys: KeyRanges
  init(_ children: [PredicateNode]) {
    self.children = children.sorted { $0.cost < $1.cost }
    total = children.reduce(0) { $0 + $1.cost }
    keys = children.reduce(.all) { $0.intersection($1.keyRanges) }
    unretained = UnretainedNodes(self.children)
  }
  deinit { unretained.deallocate() }
  override var cost: Int { total }
  override var columns: [Int] { children.flatMap(\.columns) }
  override var keyRanges: KeyRanges { keys }
  override func select(_ leaf: LeafView, _ candidates: Selection) throws(StoreError) -> Selection {
    var left = candidates
    for child in unretained {
      left = try child.select(leaf, left)
      if left.isEmpty { break }
    }
    return left
  }
  override func matches(_ leaf: LeafView, _ row: Int) throws(StoreError) -> Bool {
    for child in unretained where try !child.matches(leaf, row) { return false }
    return true
  }
}

final class OrNode: PredicateNode, @unchecked Sendable {
  let children: [PredicateNode]
  private let unretained: UnretainedNodes
  private let total: Int
  private let keys: KeyRanges
  init(_ children: [PredicateNode]) {
    self.children = children.sorted { $0.cost < $1.cost }
    total = children.reduce(0) { $0 + $1.cost }
    keys = children.reduce(.none) { $0.isAll ? .all : $0.union($1.keyRanges) }
    unretained = UnretainedNodes(self.children)
  }
  deinit { unretained.deallocate() }
  override var cost: Int { total }
  override var columns: [Int] { children.flatMap(\.columns) }
  override var keyRanges: KeyRanges { keys }
  override func select(_ leaf: LeafView, _ candidates: Selection) throws(StoreError) -> Selection {
    var left = candidates
    for child in unretained {
      left = left.subtracting(try child.select(leaf, left))
      if left.isEmpty { break }
    }
    return candidates.subtracting(left)
  }
  override func matches(_ leaf: LeafView, _ row: Int) throws(StoreError) -> Bool {
    for child in unretained where try child.matches(leaf, row) { return true }
    return false
  }
}

/// Nodes that somebody else keeps alive. A retain and a release cost ten nanoseconds, which is what a leaf's kernel
/// takes; an owning array would cost them for every child and every leaf.
struct UnretainedNodes: Sequence {
  private let nodes: UnsafeMutableBufferPointer<Unmanaged<PredicateNode>>

  init(_ nodes: [PredicateNode]) {
    self.nodes = .allocate(capacity: nodes.count)
    _ = self.nodes.initialize(from: nodes.map(Unmanaged.passUnretained))
  }
  func deallocate() { nodes.deallocate() }

  struct Iterator: IteratorProtocol {
    fileprivate let nodes: UnsafeMutableBufferPointer<Unmanaged<PredicateNode>>
    fileprivate var index = 0
    @inline(__always)
    mutating func next() -> UnretainedNode? {
      guard index < nodes.count else { return nil }
      defer { index &+= 1 }
      return UnretainedNode(nodes[index])
    }
  }
  @inline(__always)
  func makeIterator() -> Iterator { Iterator(nodes: nodes) }
}

struct UnretainedNode {
  private let node: Unmanaged<PredicateNode>
  init(_ node: Unmanaged<PredicateNode>) { self.node = node }
  init(_ node: PredicateNode) { self.node = .passUnretained(node) }

  @inline(__always)
  func select(_ leaf: LeafView, _ candidates: Selection) throws(StoreError) -> Selection {
    // The closure may not throw a type of its own, so it hands the error out.
    var failure: StoreError?
    let result = node._withUnsafeGuaranteedRef { (node) -> Selection in
      do throws(StoreError) { return try node.select(leaf, candidates) } catch { failure = error }
      return .none
    }
    if let failure { throw failure }
    return result
  }
  @inline(__always)
  func matches(_ leaf: LeafView, _ row: Int) throws(StoreError) -> Bool {
    var failure: StoreError?
    let result = node._withUnsafeGuaranteedRef { (node) -> Bool in
      do throws(StoreError) { return try node.matches(leaf, row) } catch { failure = error }
      return false
    }
    if let failure { throw failure }
    return result
  }
}

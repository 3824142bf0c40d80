/// One side of a difference: what of its tree has not been looked at yet, in key order.
///
/// Its head is either a subtree not entered yet, known by its entry, its level and a lower bound of its keys, or a row
/// of the leaf it has entered.
struct DiffCursor {
  private struct Level {
    var node: InnerView
    var next: Int
  }

  let table: TableView
  private var stack: InlineArray<12, Level>
  private var top = 0
  private var budget: UInt64
  /// Entry of the subtree at the head; 0 where the head is a row, or nothing is left.
  private(set) var entry: UInt64
  /// Levels of inner nodes in the subtree at the head: 0 is a leaf.
  private(set) var level: Int
  /// The keys of the head are this or more; that of the row, exactly.
  private(set) var low: Int64 = .min
  private(set) var leaf: LeafView?
  private(set) var row = 0

  init(_ table: TableView) {
    self.table = table
    let none = InnerView(entries: table.view.base, keys: nil, count: 0, base: 0, shift: 0)
    stack = InlineArray(repeating: Level(node: none, next: 0))
    budget = (table.view.limit &- 1) &>> UInt64(DataLayout.grainShift)
    entry = table.rootEntry
    level = table.depth
  }

  var isAtEnd: Bool { entry == 0 && leaf == nil }
  var isAtRow: Bool { leaf != nil }
  var ref: UInt32 { UInt32(truncatingIfNeeded: entry) }

  /// Replaces the subtree at the head by its parts.
  mutating func descend() throws(StoreError) {
    guard budget > 0 else { throw table.view.damaged("a tree leads back into itself") }
    budget &-= 1
    if level == 0 {
      let leaf = try table.view.leaf(entry)
      entry = 0
      if leaf.count == 0 { return toNextSubtree() }
      self.leaf = leaf
      row = 0
      low = leaf.key(0)
    } else {
      stack[top] = Level(node: try table.view.inner(entry), next: 0)
      top &+= 1
      toNextSubtree()
    }
  }

  /// Goes on behind `count` rows of the leaf.
  mutating func advance(rows count: Int) {
    guard let leaf else { return }
    row &+= count
    if row < leaf.count {
      low = leaf.key(row)
    } else {
      self.leaf = nil
      toNextSubtree()
    }
  }

  /// Goes on behind the subtree at the head.
  mutating func toNextSubtree() {
    entry = 0
    while top > 0 {
      let index = stack[top &- 1].next
      guard index < stack[top &- 1].node.count else {
        top &-= 1
        continue
      }
      stack[top &- 1].next = index &+ 1
      entry = stack[top &- 1].node.entry(index)
      if entry == 0 { continue }
      level = table.depth &- top
      low = stack[top &- 1].node.lowKey(index)
      return
    }
  }

  /// Both heads are the same subtree: goes on behind it, and behind the siblings that follow and are the same too.
  static func skipShared(_ a: inout DiffCursor, _ b: inout DiffCursor) {
    if a.top > 0, b.top > 0 {
      let (x, y) = (a.stack[a.top &- 1], b.stack[b.top &- 1])
      var i = x.next
      var j = y.next
      while i < x.node.count, j < y.node.count,
        UInt32(truncatingIfNeeded: x.node.entry(i)) == UInt32(truncatingIfNeeded: y.node.entry(j))
      {
        i &+= 1
        j &+= 1
      }
      a.stack[a.top &- 1].next = i
      b.stack[b.top &- 1].next = j
    }
    a.toNextSubtree()
    b.toNextSubtree()
  }
}

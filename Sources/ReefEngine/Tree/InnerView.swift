/// An inner node of a table's tree, entered and checked.
///
/// Dense nodes need no separators: child i covers `base + (i << shift) ..< base + ((i + 1) << shift)`. Keyed nodes hold
/// the lower bound of each child.
@usableFromInline package struct InnerView: @unchecked Sendable {
  @usableFromInline let entries: UnsafeRawPointer
  /// Lower bounds; nil in dense nodes.
  @usableFromInline let keys: UnsafeRawPointer?
  @usableFromInline package let count: Int
  @usableFromInline package let base: Int64
  @usableFromInline package let shift: UInt64

  @inlinable @inline(__always)
  init(entries: UnsafeRawPointer, keys: UnsafeRawPointer?, count: Int, base: Int64, shift: UInt64) {
    self.entries = entries
    self.keys = keys
    self.count = count
    self.base = base
    self.shift = shift
  }

  @inlinable @inline(__always)
  package func entry(_ index: Int) -> UInt64 {
    entries.load(fromByteOffset: index &* DataLayout.entrySize, as: UInt64.self)
  }

  /// Entry of the child that covers `key`; 0 where there is none.
  @inlinable @inline(__always)
  package func child(for key: Int64) -> UInt64 {
    let index = index(for: key)
    return UInt(bitPattern: index) < UInt(bitPattern: count) ? entry(index) : 0
  }

  /// Position of the child that covers `key`: below 0 before the first, `count` (dense) beyond the last.
  @inlinable @inline(__always)
  package func index(for key: Int64) -> Int {
    guard let keys else {
      guard key >= base else { return -1 }
      let index = UInt64(bitPattern: key &- base) &>> shift
      return index < UInt64(truncatingIfNeeded: count) ? Int(truncatingIfNeeded: index) : count
    }
    guard count > 0, keys.load(as: Int64.self) <= key else { return -1 }
    var low = 0
    var length = count
    while length > 1 {
      let half = length &>> 1
      low = keys.load(fromByteOffset: (low &+ half) &* 8, as: Int64.self) <= key ? low &+ half : low
      length &-= half
    }
    return low
  }

  /// Lower bound of the keys under child `index`.
  @inlinable @inline(__always)
  package func lowKey(_ index: Int) -> Int64 {
    guard let keys else { return base &+ Int64(truncatingIfNeeded: UInt64(truncatingIfNeeded: index) &<< shift) }
    return keys.load(fromByteOffset: index &* 8, as: Int64.self)
  }
}

extension ReadView {
  @inlinable @inline(__always)
  package func inner(_ entry: UInt64) throws(StoreError) -> InnerView {
    typealias Field = DataLayout.Inner
    let node = try node(entry)
    let count = node.count
    guard count <= Field.fanOut else { throw damaged("an inner node has too many children") }
    if node.kind == NodeKind.innerDense {
      guard Field.denseEntries &+ count &* DataLayout.entrySize <= node.length, node.form < 64 else {
        throw damaged("an inner node is too short")
      }
      return InnerView(
        entries: node.pointer + Field.denseEntries, keys: nil, count: count,
        base: node.pointer.load(fromByteOffset: Field.denseBase, as: Int64.self), shift: UInt64(node.form))
    }
    guard node.kind == NodeKind.innerKeyed, Field.keyedEntries &+ count &* DataLayout.entrySize <= node.length else {
      throw damaged("a node is not of the kind expected here")
    }
    return InnerView(
      entries: node.pointer + Field.keyedEntries, keys: node.pointer + Field.keys, count: count, base: 0, shift: 0)
  }
}

import CXXHash
import ReefSystem

/// Bounds a walk down a tree that may be damaged: a way down has no more nodes than a tree is deep, and all ways together
/// no more than fit into the file. A cycle ends at the first, a node that many lead to at the second.
struct TreeWalk {
  private var left: UInt64

  init(limit: UInt64) { left = limit / TreeWalk.smallestBlock }

  private static let smallestBlock: UInt64 = 32
  /// Root, table, thirteen levels, leaf or index, column, long value: with room.
  static let maximumDepth = 64

  @inline(__always)
  mutating func enters(depth: Int) -> Bool {
    guard depth < TreeWalk.maximumDepth, left > 0 else { return false }
    left &-= 1
    return true
  }
}

/// Checksums of nodes, kept by whoever refers to them: the upper half of an entry is the checksum of the node that the
/// lower half leads to. A stale node, whole in itself, is told apart from the one that belongs there.
///
/// Only stores on disk have them: what lies in memory is gone with what could damage it.
package enum Checks {
  /// Bytes of a node that count: its used length.
  @inline(__always)
  static func sum(_ node: UnsafeRawPointer) -> UInt64 {
    let length = Int(node.load(fromByteOffset: DataLayout.Node.length, as: UInt32.self))
    return XXH3_64bits(node, length) & 0xffff_ffff
  }

  @inline(__always)
  package static func entry(_ entry: UInt64, node: UnsafeRawPointer) -> UInt64 {
    entry & 0xffff_ffff | sum(node) << 32
  }

  /// Fills the checksums of everything the transaction made below `entry`, bottom up, and returns the entry with its
  /// own. Whatever is older has its checksum already.
  package static func seal(_ entry: UInt64, _ space: borrowing Space) throws(StoreError) -> UInt64 {
    let node = space.pointer(UInt32(truncatingIfNeeded: entry))
    guard space.isOwned(node) else { return entry }
    return try seal(entry, base: space.base, limit: space.fileLimit, stamp: space.stamp, path: space.file.path)
  }

  static func seal(
    _ entry: UInt64, base: UnsafeMutableRawPointer, limit: UInt64, stamp: UInt64, path: String
  ) throws(StoreError) -> UInt64 {
    var walk = TreeWalk(limit: limit)
    return try seal(entry, base: base, limit: limit, stamp: stamp, path: path, &walk, depth: 0)
  }

  private static func seal(
    _ entry: UInt64, base: UnsafeMutableRawPointer, limit: UInt64, stamp: UInt64, path: String,
    _ walk: inout TreeWalk, depth: Int
  ) throws(StoreError) -> UInt64 {
    let offset = Int(entry & 0xffff_ffff) << DataLayout.grainShift
    guard UInt64(offset) + 16 <= limit else { throw .damaged(path: path, what: "a ref leads out of the file") }
    let node = base + offset
    if node.load(fromByteOffset: DataLayout.Node.stamp, as: UInt64.self) != stamp { return entry }
    // A damaged file may have nodes with the stamp of a transaction that never made them.
    let length = UInt64(node.load(fromByteOffset: DataLayout.Node.length, as: UInt32.self))
    guard length >= 16, UInt64(offset) + length <= limit, walk.enters(depth: depth) else {
      throw .damaged(path: path, what: "a node made by this transaction is not sound")
    }
    let isSound = try NodeChildren.forEach(node) { place throws(StoreError) in
      let child = place.loadUnaligned(as: UInt64.self)
      let sealed = try seal(child, base: base, limit: limit, stamp: stamp, path: path, &walk, depth: depth + 1)
      if sealed != child {
        UnsafeMutableRawPointer(mutating: place).storeBytes(of: sealed, as: UInt64.self)
      }
    }
    guard isSound else { throw .damaged(path: path, what: "a node made by this transaction is not sound") }
    return self.entry(entry, node: node)
  }

  /// Whether a head slot's tree is really there: every node made after the durable version, and every older one that
  /// they refer to, has the checksum its parent knows.
  static func holds(_ slot: RootSlot, after version: UInt64, in data: MappedFile) -> Bool {
    let limit = slot.extents << UInt64(DataLayout.extentShift)
    var walk = TreeWalk(limit: limit)
    return holds(slot.root, base: data.base, limit: limit, after: version, &walk, depth: 0)
  }

  private static func holds(
    _ entry: UInt64, base: UnsafeRawPointer, limit: UInt64, after version: UInt64, _ walk: inout TreeWalk, depth: Int
  ) -> Bool {
    let offset = (entry & 0xffff_ffff) << UInt64(DataLayout.grainShift)
    guard walk.enters(depth: depth), offset >= UInt64(DataLayout.extentSize), offset + 16 <= limit else { return false }
    let node = base + Int(offset)
    let length = UInt64(node.load(fromByteOffset: DataLayout.Node.length, as: UInt32.self))
    guard length >= 16, offset + length <= limit, sum(node) == entry >> 32 else { return false }
    let made = node.load(fromByteOffset: DataLayout.Node.stamp, as: UInt64.self) & DataLayout.versionMask
    if made <= version { return true }
    var isWhole = true
    let isSound = NodeChildren.forEach(node) { place in
      if isWhole {
        isWhole = holds(
          place.loadUnaligned(as: UInt64.self), base: base, limit: limit, after: version, &walk, depth: depth + 1)
      }
    }
    return isSound && isWhole
  }
}

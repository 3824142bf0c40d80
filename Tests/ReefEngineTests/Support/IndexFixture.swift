import Foundation
import ReefSystem

@testable import ReefEngine

/// A real allocator over a file in memory, and transactions on it: no session, no other process.
final class IndexFixture {
  let file: MappedFile
  let lock: UnsafeMutableRawPointer
  var space: Space

  init(megabytes: Int = 256) throws {
    file = try MappedFile(adopting: File.inMemory(name: "index-test"), path: "index-test", reserve: megabytes << 20)
    try file.makeWritable()
    try file.allocate(offset: 0, length: DataLayout.extentSize)
    let size = 64 << 20
    lock = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 4096)
    lock.initializeMemory(as: UInt8.self, repeating: 0, count: LockLayout.initialSize)
    space = Space(file: file, lock: lock, growLock: { $0 <= size })
    space.setControl(LockLayout.Control.extentCount, 1)
    space.setControl(LockLayout.Control.listGeneration, 1)
    begin(1)
  }
  deinit { lock.deallocate() }

  func begin(_ version: UInt64) {
    space.version = version
    space.stamp = 1 << DataLayout.epochShift | version
  }

  /// The next transaction: nodes made so far are nobody's own any more.
  func nextVersion() { begin(space.version + 1) }

  func view(_ writer: IndexWriter) -> IndexView {
    IndexView(
      view: ReadView(base: file.base, limit: space.limit, root: 0, version: space.version), root: writer.root,
      depth: writer.depth)
  }

  /// Blocks in use, but neither waiting nor in a magazine: what the allocator thinks is live.
  func liveBlocks() -> [UInt32] {
    var live: Set<UInt32> = []
    for extent in 1..<space.extentCount {
      let descriptor = space.descriptor(extent)
      guard descriptor.load(as: UInt8.self) == ExtentState.slab else { continue }
      let index = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.sizeClass, as: UInt8.self))
      let geometry = SizeClasses.shared.geometry[index]
      for block in 0..<geometry.blocks where space.bitmap(extent)[block >> 6] >> UInt64(block & 63) & 1 != 0 {
        let offset = extent << DataLayout.extentShift + geometry.first + block * geometry.size
        live.insert(UInt32(offset >> DataLayout.grainShift))
      }
    }
    for index in 0..<SizeClasses.shared.count {
      let state = space.classState(index)
      let filled = Int(state.load(fromByteOffset: LockLayout.ClassState.filled, as: UInt32.self))
      for at in 0..<filled {
        live.remove(state.load(fromByteOffset: LockLayout.ClassState.magazine + at * 4, as: UInt32.self))
      }
    }
    for index in 0..<Int(space.control(LockLayout.Control.poolCount)) {
      live.remove(space.waiting(index).load(fromByteOffset: LockLayout.Waiting.ref, as: UInt32.self))
    }
    return live.sorted()
  }

  /// Refs of all nodes of an index.
  func nodes(_ writer: IndexWriter) throws -> [UInt32] {
    var refs: [UInt32] = []
    func visit(_ entry: UInt64, _ level: Int) throws {
      refs.append(UInt32(truncatingIfNeeded: entry))
      let node = try view(writer).enter(entry, level: level)
      if level > 0 { for child in 0...node.count { try visit(node.children[child], level - 1) } }
    }
    if writer.root != 0 { try visit(writer.root, writer.depth) }
    return refs.sorted()
  }

  func insert(_ writer: inout IndexWriter, _ key: [UInt8], _ objectKey: Int64, unique: Bool = false) throws -> Int64? {
    try withKey(key) { key throws(StoreError) in
      try writer.insert(key, objectKey, unique: unique, space: &space)
    }
  }

  func remove(_ writer: inout IndexWriter, _ key: [UInt8], _ objectKey: Int64) throws -> Bool {
    try withKey(key) { key throws(StoreError) in try writer.remove(key, objectKey, space: &space) }
  }
}

/// Lends bytes as an encoded key. They must be shorter than the longest key.
func withKey<R>(_ bytes: [UInt8], _ body: (EncodedKey) throws(StoreError) -> R) throws(StoreError) -> R {
  var key = IndexKey()
  key.set(bytes)
  return try key.withEncoded { (key) throws(StoreError) in try body(key) }
}

extension IndexKey {
  mutating func set(_ bytes: [UInt8]) { bytes.withUnsafeBytes { encode(bytes: $0) } }

  var bytes: [UInt8] {
    withEncoded { key in [UInt8](UnsafeRawBufferPointer(start: key.bytes, count: key.length)) }
  }
}

/// A pair of an index, in the order that the index must have.
struct IndexPair: Comparable, Hashable {
  var key: [UInt8]
  var objectKey: Int64

  static func < (a: IndexPair, b: IndexPair) -> Bool {
    if a.key == b.key { return a.objectKey < b.objectKey }
    return a.key.lexicographicallyPrecedes(b.key)
  }
}

/// What an index should hold: a sorted array.
struct IndexModel {
  var pairs: [IndexPair] = []

  func lowerBound(_ pair: IndexPair) -> Int {
    var (low, high) = (0, pairs.count)
    while low < high {
      let middle = (low + high) / 2
      if pairs[middle] < pair { low = middle + 1 } else { high = middle }
    }
    return low
  }
  func lowerBound(_ key: [UInt8]) -> Int { lowerBound(IndexPair(key: key, objectKey: .min)) }
  func upperBound(_ key: [UInt8]) -> Int {
    let last = IndexPair(key: key, objectKey: .max)
    let at = lowerBound(last)
    return at < pairs.count && pairs[at] == last ? at + 1 : at
  }

  mutating func insert(_ pair: IndexPair) -> Bool {
    let at = lowerBound(pair)
    if at < pairs.count, pairs[at] == pair { return false }
    pairs.insert(pair, at: at)
    return true
  }
  mutating func remove(_ pair: IndexPair) -> Bool {
    let at = lowerBound(pair)
    guard at < pairs.count, pairs[at] == pair else { return false }
    pairs.remove(at: at)
    return true
  }
}

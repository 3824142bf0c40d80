import CReefKernels
import Glibc

/// A leaf or inner node of an index, entered: its parts lie within its length, and every later access stays there.
struct IndexNode {
  let base: UnsafeRawPointer
  let shape: IndexShape

  @inline(__always)
  init(base: UnsafeRawPointer, shape: IndexShape) {
    self.base = base
    self.shape = shape
  }

  /// A node whose header was checked before, or was written by this transaction.
  @inline(__always)
  init?(_ node: UnsafeRawPointer) {
    guard let shape = IndexShape(node, head: node.load(as: UInt64.self)) else { return nil }
    self.init(base: node, shape: shape)
  }

  /// Entries of a leaf; separators of an inner node.
  var count: Int { @inline(__always) get { shape.count } }
  var heads: UnsafePointer<UInt64> {
    @inline(__always) get { (base + shape.heads).assumingMemoryBound(to: UInt64.self) }
  }
  var objectKeys: UnsafePointer<Int64> {
    @inline(__always) get { (base + shape.objectKeys).assumingMemoryBound(to: Int64.self) }
  }
  /// Inner nodes: count + 1 of them; child i + 1 holds what is not below separator i.
  var children: UnsafePointer<UInt64> {
    @inline(__always) get { (base + shape.children).assumingMemoryBound(to: UInt64.self) }
  }
  var ends: UnsafePointer<UInt16> {
    @inline(__always) get { (base + shape.ends).assumingMemoryBound(to: UInt16.self) }
  }
  var prefixBytes: UnsafeRawPointer { @inline(__always) get { base + DataLayout.Index.prefix } }

  /// Length of a key without the prefix, and where the bytes beyond its head lie. Clamped into the node, whatever a
  /// damaged file says.
  @inline(__always)
  func rest(_ index: Int) -> (length: Int, tail: Int) {
    if shape.isUniform { return (shape.rest, shape.tails &+ index &* max(0, shape.rest &- 8)) }
    let end = ends[index]
    let before = index == 0 ? 0 : Int(ends[index &- 1] &>> UInt16(DataLayout.Index.endShift))
    let stop = min(Int(end &>> UInt16(DataLayout.Index.endShift)), shape.tailBytes)
    let start = min(before, stop)
    return (min(Int(end & 15), 8) &+ stop &- start, shape.tails &+ start)
  }

  @inline(__always) func keyLength(_ index: Int) -> Int { shape.prefix &+ rest(index).length }

  /// The bytes of a key, put together again in `key`.
  func copyKey(_ index: Int, to key: inout IndexKey) {
    let (rest, tail) = rest(index)
    let length = min(shape.prefix &+ rest, DataLayout.Index.maximumKey)
    key.withBuffer { buffer in
      buffer.copyMemory(from: prefixBytes, byteCount: shape.prefix)
      (buffer + shape.prefix).storeBytes(of: heads[index].bigEndian, as: UInt64.self)
      let beyond = length &- shape.prefix &- 8
      if beyond > 0 { (buffer + (shape.prefix &+ 8)).copyMemory(from: base + tail, byteCount: beyond) }
      buffer.storeZeros(at: length)
    }
    key.length = length
  }
}

// MARK: Search

extension IndexNode {
  /// How many heads from `start` on, and before it, are below `head`; at or below it where `through`.
  @inline(__always)
  func rank(head: UInt64, from start: Int = 0, through: Bool = false) -> Int {
    through
      ? start &+ reef_index_upper(heads + start, count &- start, head)
      : start &+ reef_index_lower(heads + start, count &- start, head)
  }

  /// Compares key `index`, whose head equals that of `key`, with `key`: negative where it is below.
  @inline(__always)
  func compareRest(_ index: Int, _ key: EncodedKey) -> Int {
    let wanted = key.length &- shape.prefix
    let (length, tail) = rest(index)
    if wanted <= 8 || length <= 8 { return length &- wanted }
    let order = memcmp(base + tail, key.bytes + (shape.prefix &+ 8), min(wanted, length) &- 8)
    return order != 0 ? Int(order) : length &- wanted
  }

  /// Where `key` lies relative to all keys of this node, judged by the prefix: 0 if it shares it.
  @inline(__always)
  func comparePrefix(_ key: EncodedKey) -> Int {
    let prefix = shape.prefix
    if prefix == 0 { return 0 }
    let order = memcmp(key.bytes, prefixBytes, min(prefix, key.length))
    return order != 0 ? Int(order) : (key.length < prefix ? -1 : 0)
  }

  /// How many entries are below (key, objectKey); at or below where `through`.
  @inline(__always)
  func rank(_ key: EncodedKey, _ objectKey: Int64, through: Bool) -> Int {
    let order = comparePrefix(key)
    if order != 0 { return order < 0 ? 0 : count }
    let head = key.head(shape.prefix)
    let low = rank(head: head)
    if low == count || heads[low] != head { return low }
    return rankTied(key, objectKey, through: through, head: head, from: low)
  }

  /// The same among entries with one head, from the first of them.
  func rankTied(_ key: EncodedKey, _ objectKey: Int64, through: Bool, head: UInt64, from low: Int) -> Int {
    func precedes(_ index: Int) -> Bool {
      let order = compareRest(index, key)
      if order != 0 { return order < 0 }
      return through ? objectKeys[index] <= objectKey : objectKeys[index] < objectKey
    }
    if !precedes(low) { return low }
    var at = low &+ 1
    if at == count || heads[at] != head { return at }
    var left = rank(head: head, from: at, through: true) &- at
    while left > 0 {
      let half = (left &+ 1) &>> 1
      if precedes(at &+ half &- 1) { at = at &+ half }
      left = left &- half
    }
    return at
  }

  /// The first entry whose bytes are not below those of `key`, and whether they are equal.
  @inline(__always)
  func first(_ key: EncodedKey) -> (index: Int, isEqual: Bool) {
    let order = comparePrefix(key)
    if order != 0 { return (order < 0 ? 0 : count, false) }
    let head = key.head(shape.prefix)
    let low = rank(head: head)
    if low == count || heads[low] != head { return (low, false) }
    let rest = compareRest(low, key)
    if rest >= 0 { return (low, rest == 0) }
    let index = rankTied(key, .min, through: false, head: head, from: low)
    return (index, hasBytes(index, key))
  }

  /// Whether the bytes at `index` (which may be the count) are those of `key`; the prefix is known to be shared.
  @inline(__always)
  private func hasBytes(_ index: Int, _ key: EncodedKey) -> Bool {
    index < count && heads[index] == key.head(shape.prefix) && compareRest(index, key) == 0
  }

  /// Whether the entry at `index` (which may be the count) has the bytes of `key`.
  @inline(__always)
  func isEqual(_ index: Int, _ key: EncodedKey) -> Bool { comparePrefix(key) == 0 && hasBytes(index, key) }

  /// Compares two entries of leaves, which may be different ones.
  func compare(_ index: Int, with other: IndexNode, _ otherIndex: Int) -> Int {
    var key = IndexKey()
    other.copyKey(otherIndex, to: &key)
    return key.withEncoded { key in
      let order = comparePrefix(key)
      if order != 0 { return -order }
      let head = key.head(shape.prefix)
      if heads[index] != head { return heads[index] < head ? -1 : 1 }
      let rest = compareRest(index, key)
      if rest != 0 { return rest }
      let (one, two) = (objectKeys[index], other.objectKeys[otherIndex])
      return one < two ? -1 : one == two ? 0 : 1
    }
  }
}

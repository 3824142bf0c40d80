import Glibc

/// A stretch of entries that goes into a new node: a range of an existing one, or a single new entry.
///
/// Entries of inner nodes are children, each with the separator to its left. The first entry of a node has none, so a
/// range that is not first in its node-to-be begins at child 1 or later.
struct IndexPiece {
  var node: IndexNode?
  var from = 0
  var to = 1
  // A single entry
  var key: EncodedKey?
  var objectKey: Int64 = 0
  var child: UInt64 = 0

  static func range(_ node: IndexNode, _ from: Int, _ to: Int) -> IndexPiece {
    IndexPiece(node: node, from: from, to: to)
  }
  static func one(_ key: EncodedKey, _ objectKey: Int64, child: UInt64 = 0) -> IndexPiece {
    IndexPiece(key: key, objectKey: objectKey, child: child)
  }
  var count: Int { to &- from }
}

/// The content of a node to be: pieces in order. Knows the shape that suits it best, and writes it.
struct IndexPieces {
  let isLeaf: Bool
  private(set) var pieces = InlineArray<4, IndexPiece>(repeating: IndexPiece(node: nil, from: 0, to: 0))
  private(set) var used = 0
  /// Entries, or children.
  private(set) var total = 0

  init(isLeaf: Bool) { self.isLeaf = isLeaf }

  mutating func append(_ piece: IndexPiece) {
    guard piece.count > 0 else { return }
    pieces[used] = piece
    used += 1
    total += piece.count
  }

  func slice(_ from: Int, _ to: Int) -> IndexPieces {
    var result = IndexPieces(isLeaf: isLeaf)
    var start = 0
    for index in 0..<used {
      var piece = pieces[index]
      let count = piece.count
      let (low, high) = (max(from, start), min(to, start + count))
      if low < high {
        if piece.node != nil {
          piece.to = piece.from + high - start
          piece.from += low - start
        }
        result.append(piece)
      }
      start += count
    }
    return result
  }

  /// Copies key number `index` (of inner nodes: the separator left of child `index`, not 0) and returns its object key.
  func copyKey(_ index: Int, to key: inout IndexKey) -> Int64 {
    var start = 0
    for at in 0..<used {
      let piece = pieces[at]
      if index < start + piece.count {
        if let node = piece.node {
          let place = piece.from + index - start - (isLeaf ? 0 : 1)
          node.copyKey(place, to: &key)
          return node.objectKeys[place]
        }
        if let own = piece.key { key.copy(own) }
        return piece.objectKey
      }
      start += piece.count
    }
    return 0
  }

  /// The entry before which about half of the bytes lie; not the first.
  func middle() -> Int {
    let fixed = isLeaf ? 18 : 26
    var sum = 0
    forEachLength { sum += fixed + $0 }
    var (half, at, middle) = (0, 0, 0)
    forEachLength { length in
      half += fixed + length
      at += 1
      if middle == 0, half * 2 >= sum { middle = at }
    }
    return max(1, min(total - 1, middle + (isLeaf ? 0 : 1)))
  }

  private func forEachLength(_ body: (Int) -> Void) {
    forEachKeys { node, from, to, key in
      if let node {
        for index in from..<max(from, to) { body(node.rest(index).length) }
      } else if let key {
        body(key.length)
      }
    }
  }

  /// Calls `body` with every range of keys and every single key that the node will hold.
  private func forEachKeys(_ body: (IndexNode?, Int, Int, EncodedKey?) -> Void) {
    for index in 0..<used {
      let piece = pieces[index]
      if let node = piece.node {
        if isLeaf {
          body(node, piece.from, piece.to, nil)
        } else {
          body(node, index == 0 ? piece.from : piece.from - 1, piece.to - 1, nil)
        }
      } else if isLeaf || index > 0 {
        body(nil, 0, 1, piece.key)
      }
    }
  }

  /// The shape that holds all this in the fewest bytes.
  func bestShape() -> IndexShape {
    let count = isLeaf ? total : total - 1
    var shortest = Int.max
    var longest = 0
    forEachKeys { node, from, to, key in
      if let key {
        shortest = min(shortest, key.length)
        longest = max(longest, key.length)
      } else if let node, from < to {
        for index in from..<(node.shape.isUniform ? from + 1 : to) {
          let length = node.keyLength(index)
          shortest = min(shortest, length)
          longest = max(longest, length)
        }
      }
    }
    var shared = 0
    // Few short keys are not worth it: the next one may not share the prefix.
    if count >= 8 || (count >= 2 && longest > 64) {
      var first = IndexKey()
      var last = IndexKey()
      _ = copyKey(isLeaf ? 0 : 1, to: &first)
      _ = copyKey(total - 1, to: &last)
      shared = first.withEncoded { first in last.withEncoded { IndexKey.commonPrefix(first, $0) } }
    }
    if count == 0 { shortest = 0 }
    let isUniform = shortest == longest
    // Heads are eight bytes wide whatever is in them.
    let prefix = isUniform ? max(0, min(shared, longest - 8)) : shared
    var shape = IndexShape(
      isLeaf: isLeaf, isUniform: isUniform, count: count, prefix: prefix, rest: isUniform ? longest - prefix : 0,
      tailBytes: 0)
    if isUniform {
      shape.tailBytes = count * max(0, shape.rest - 8)
    } else {
      forEachKeys { node, from, to, key in
        if let key {
          shape.tailBytes += shape.tail(of: key.length)
        } else if let node, from < to {
          if node.shape.isUniform {
            shape.tailBytes += (to - from) * shape.tail(of: node.keyLength(from))
          } else {
            for index in from..<to { shape.tailBytes += shape.tail(of: node.keyLength(index)) }
          }
        }
      }
    }
    return shape
  }

  /// Writes the node. `shape` must have room for exactly this: `bestShape()`, or that of a source node plus or minus
  /// an entry, which is copied without taking keys apart.
  func write(_ shape: IndexShape, to target: UnsafeMutableRawPointer) {
    shape.writeHeader(to: target)
    var writer = IndexNodeWriter(target, shape)
    var scratch = IndexKey()
    if shape.prefix > 0 {
      _ = copyKey(isLeaf ? 0 : 1, to: &scratch)
      scratch.withEncoded { writer.writePrefix($0) }
    }
    for index in 0..<used {
      let piece = pieces[index]
      guard let node = piece.node else {
        if !isLeaf { writer.appendChild(piece.child) }
        if isLeaf || index > 0, let key = piece.key { writer.append(key, piece.objectKey) }
        continue
      }
      if !isLeaf { writer.appendChildren(node.children + piece.from, piece.count) }
      let from = isLeaf || index == 0 ? piece.from : piece.from - 1
      let to = isLeaf ? piece.to : piece.to - 1
      if from >= to { continue }
      if node.shape.prefix == shape.prefix, node.shape.isUniform == shape.isUniform, node.shape.rest == shape.rest {
        writer.append(node, from, to)
      } else {
        for place in from..<to {
          node.copyKey(place, to: &scratch)
          scratch.withEncoded { writer.append($0, node.objectKeys[place]) }
        }
      }
    }
  }
}

extension IndexKey {
  static func commonPrefix(_ one: EncodedKey, _ two: EncodedKey) -> Int {
    let limit = min(one.length, two.length)
    var at = 0
    while at < limit {
      let difference = one.head(at) ^ two.head(at)
      if difference != 0 { return min(limit, at + difference.leadingZeroBitCount / 8) }
      at += 8
    }
    return limit
  }
}

/// Fills the parts of a node from their beginnings on.
private struct IndexNodeWriter {
  let node: UnsafeMutableRawPointer
  let shape: IndexShape
  var count = 0
  var children = 0
  var tail = 0

  init(_ node: UnsafeMutableRawPointer, _ shape: IndexShape) {
    self.node = node
    self.shape = shape
  }

  func writePrefix(_ key: EncodedKey) {
    (node + DataLayout.Index.prefix).copyMemory(from: key.bytes, byteCount: min(shape.prefix, key.length))
  }

  mutating func appendChild(_ entry: UInt64) {
    (node + (shape.children + children * 8)).storeBytes(of: entry, as: UInt64.self)
    children += 1
  }

  mutating func appendChildren(_ entries: UnsafePointer<UInt64>, _ count: Int) {
    (node + (shape.children + children * 8)).copyMemory(from: entries, byteCount: count * 8)
    children += count
  }

  mutating func append(_ key: EncodedKey, _ objectKey: Int64) {
    (node + (shape.heads + count * 8)).storeBytes(of: key.head(shape.prefix), as: UInt64.self)
    (node + (shape.objectKeys + count * 8)).storeBytes(of: objectKey, as: Int64.self)
    let beyond = shape.tail(of: key.length)
    if beyond > 0 {
      (node + (shape.tails + tail)).copyMemory(from: key.bytes + (shape.prefix + 8), byteCount: beyond)
      tail += beyond
    }
    if !shape.isUniform {
      let end = tail << DataLayout.Index.endShift | min(8, key.length - shape.prefix)
      (node + (shape.ends + count * 2)).storeBytes(of: UInt16(truncatingIfNeeded: end), as: UInt16.self)
    }
    count += 1
  }

  /// Takes over entries of a node with the same prefix and form.
  mutating func append(_ source: IndexNode, _ from: Int, _ to: Int) {
    let number = to - from
    (node + (shape.heads + count * 8)).copyMemory(from: source.heads + from, byteCount: number * 8)
    (node + (shape.objectKeys + count * 8)).copyMemory(from: source.objectKeys + from, byteCount: number * 8)
    let start = source.rest(from).tail
    let last = source.rest(to - 1)
    let bytes = last.tail + max(0, last.length - 8) - start
    if bytes > 0 { (node + (shape.tails + tail)).copyMemory(from: source.base + start, byteCount: bytes) }
    if !shape.isUniform {
      let shift = (tail - (start - source.shape.tails)) << DataLayout.Index.endShift
      let target = (node + shape.ends).assumingMemoryBound(to: UInt16.self) + count
      let ends = source.ends + from
      for index in 0..<number { target[index] = UInt16(truncatingIfNeeded: Int(ends[index]) &+ shift) }
    }
    tail += bytes
    count += number
  }
}

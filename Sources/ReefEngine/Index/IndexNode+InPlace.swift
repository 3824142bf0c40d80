import Glibc

/// Changes within a block: the parts of a node move apart or together.
extension IndexNode {
  /// The shape of this node with one more entry of this key; nil where prefix or form would have to change.
  @inline(__always)
  func shape(adding key: EncodedKey) -> IndexShape? {
    var shape = shape
    guard shape.count < 511, comparePrefix(key) == 0 else { return nil }
    if shape.isUniform {
      // A node without keys takes the length of the first.
      if shape.count == 0 {
        shape.rest = key.length &- shape.prefix
      } else if key.length &- shape.prefix != shape.rest {
        return nil
      }
    }
    shape.count &+= 1
    shape.tailBytes &+= shape.tail(of: key.length)
    return shape
  }

  /// The shape of this node without entry (or separator) `index`.
  @inline(__always)
  func shape(removing index: Int) -> IndexShape {
    var shape = shape
    shape.count &-= 1
    shape.tailBytes &-= max(0, rest(index).length &- 8)
    return shape
  }

  /// Inserts a key (and, in inner nodes, the child to its right) at `index`. The block must have room for `new`.
  func insert(
    _ key: EncodedKey, _ objectKey: Int64, child: UInt64, at index: Int, as new: IndexShape,
    into node: UnsafeMutableRawPointer
  ) {
    let old = shape
    let tail = old.tail(of: key.length)
    let place = index == old.count ? old.tails &+ old.tailBytes : rest(index).tail
    let before = place &- old.tails
    // From the last part to the first, each part's upper half first: everything moves up, nothing is overwritten.
    memmove(node + (new.tails &+ before &+ tail), base + place, old.tailBytes &- before)
    memmove(node + new.tails, base + old.tails, before)
    if !new.isUniform {
      let ends = UnsafeMutablePointer(mutating: self.ends)
      for entry in index..<old.count { ends[entry] = ends[entry] &+ UInt16(tail &<< DataLayout.Index.endShift) }
      memmove(node + (new.ends &+ index &* 2 &+ 2), base + (old.ends &+ index &* 2), (old.count &- index) &* 2)
      memmove(node + new.ends, base + old.ends, index &* 2)
    }
    if !new.isLeaf {
      memmove(
        node + (new.children &+ index &* 8 &+ 16), base + (old.children &+ index &* 8 &+ 8),
        (old.count &- index) &* 8)
      memmove(node + new.children, base + old.children, index &* 8 &+ 8)
    }
    memmove(
      node + (new.objectKeys &+ index &* 8 &+ 8), base + (old.objectKeys &+ index &* 8), (old.count &- index) &* 8)
    memmove(node + new.objectKeys, base + old.objectKeys, index &* 8)
    memmove(node + (new.heads &+ index &* 8 &+ 8), base + (old.heads &+ index &* 8), (old.count &- index) &* 8)

    (node + (new.heads &+ index &* 8)).storeBytes(of: key.head(new.prefix), as: UInt64.self)
    (node + (new.objectKeys &+ index &* 8)).storeBytes(of: objectKey, as: Int64.self)
    if !new.isLeaf { (node + (new.children &+ index &* 8 &+ 8)).storeBytes(of: child, as: UInt64.self) }
    if tail > 0 { memcpy(node + (new.tails &+ before), key.bytes + (new.prefix &+ 8), tail) }
    if !new.isUniform {
      let end = (before &+ tail) &<< DataLayout.Index.endShift | min(8, key.length &- new.prefix)
      (node + (new.ends &+ index &* 2)).storeBytes(of: UInt16(truncatingIfNeeded: end), as: UInt16.self)
    }
    new.writeHeader(to: node)
  }

  /// Removes entry `index`; of an inner node separator `index` and child `child`, which is one of the two beside it.
  func remove(at index: Int, child: Int, as new: IndexShape, from node: UnsafeMutableRawPointer) {
    let old = shape
    let (length, place) = rest(index)
    let tail = max(0, length &- 8)
    let left = old.count &- index &- 1
    // From the first part to the last: everything moves down.
    memmove(node + (new.heads &+ index &* 8), base + (old.heads &+ index &* 8 &+ 8), left &* 8)
    memmove(node + new.objectKeys, base + old.objectKeys, index &* 8)
    memmove(node + (new.objectKeys &+ index &* 8), base + (old.objectKeys &+ index &* 8 &+ 8), left &* 8)
    if !new.isLeaf {
      memmove(node + new.children, base + old.children, child &* 8)
      memmove(
        node + (new.children &+ child &* 8), base + (old.children &+ child &* 8 &+ 8), (old.count &- child) &* 8)
    }
    if !new.isUniform {
      let ends = UnsafeMutablePointer(mutating: self.ends)
      for entry in index..<old.count { ends[entry] = ends[entry] &- UInt16(tail &<< DataLayout.Index.endShift) }
      memmove(node + new.ends, base + old.ends, index &* 2)
      memmove(node + (new.ends &+ index &* 2), base + (old.ends &+ index &* 2 &+ 2), left &* 2)
    }
    let before = place &- old.tails
    memmove(node + new.tails, base + old.tails, before)
    memmove(node + (new.tails &+ before), base + (place &+ tail), old.tailBytes &- before &- tail)
    new.writeHeader(to: node)
  }

  /// Whether the ends in this node are in order: those of a damaged node must not be used to move bytes.
  var hasSoundEnds: Bool {
    if shape.isUniform { return true }
    var last = 0
    var sound = true
    for index in 0..<count {
      let end = Int(ends[index] &>> UInt16(DataLayout.Index.endShift))
      let head = Int(ends[index] & 15)
      sound = sound && end >= last && (end == last ? head <= 8 : head == 8)
      last = end
    }
    return sound && last == shape.tailBytes
  }
}

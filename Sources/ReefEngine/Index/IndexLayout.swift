/// Offsets within index nodes. Drawn in `docs/format.md`; `FormatDrawingTests` compares the two.
///
///     16        18     20          22         24
///     ┌─────────┬──────┬───────────┬──────────┬────────┬───────┬─────────────┬──────────┬───────┬───────┐
///     │ prefix  │ rest │ tail      │ reserved │ prefix │ heads │ object keys │ children │ ends  │ tails │
///     │ length  │      │ bytes     │          │ bytes  │ 8·n   │ 8·n         │ 8·(n+1)  │ 2·n   │       │
///     └─────────┴──────┴───────────┴──────────┴────────┴───────┴─────────────┴──────────┴───────┴───────┘
///                                              padded to 8        inner only ^            ^ not if uniform
///
/// `n` is the count in the node header: entries of a leaf, separators of an inner node (which has n + 1 children).
extension DataLayout {
  package enum Index {
    /// Bytes that all keys of the node begin with, stored once.
    package static var prefixLength: Int { 16 }
    /// Uniform nodes: length of every key without the prefix.
    package static var rest: Int { 18 }
    package static var tailBytes: Int { 20 }
    package static var reserved: Int { 22 }
    package static var prefix: Int { 24 }
    /// Bytes of a key in `heads`, as a big-endian number: comparing numbers compares bytes.
    package static var headSize: Int { 8 }
    /// A node never grows beyond. Twice as much costs one level less, but a find waits for more cache lines and a
    /// small commit copies more.
    package static var maximumLength: Int { 16 + 2048 }
    /// Levels of inner nodes above the leaves.
    package static var maximumDepth: Int { 12 }
    /// An encoded key of this length is cut off: its last 8 bytes are a hash of the whole value.
    package static var maximumKey: Int { 256 }
    /// Bytes of a cut-off key that are the value's own, and so in order.
    package static var orderedKey: Int { 248 }
    /// Forms: every key has the same length, and no `ends` are stored.
    package static var uniform: UInt8 { 1 }
    /// An end is tail end << 4 | bytes of the key in its head (0…8).
    package static var endShift: Int { 4 }
  }
}

/// Where the parts of an index node lie, from the few numbers in its header.
struct IndexShape: Equatable {
  var isLeaf: Bool
  var isUniform: Bool
  var count: Int
  var prefix: Int
  /// Uniform only.
  var rest: Int
  /// All tails together.
  var tailBytes: Int

  var heads: Int { @inline(__always) get { DataLayout.Index.prefix &+ (prefix &+ 7) & ~7 } }
  var objectKeys: Int { @inline(__always) get { heads &+ count &* 8 } }
  var children: Int { @inline(__always) get { objectKeys &+ count &* 8 } }
  var ends: Int { @inline(__always) get { isLeaf ? children : children &+ (count &+ 1) &* 8 } }
  var tails: Int { @inline(__always) get { isUniform ? ends : ends &+ count &* 2 } }
  var length: Int { @inline(__always) get { tails &+ tailBytes } }

  /// Bytes that one more key of this length takes in the tails.
  @inline(__always) func tail(of keyLength: Int) -> Int { max(0, keyLength &- prefix &- 8) }

  var kind: UInt8 { isLeaf ? NodeKind.indexLeaf : NodeKind.indexInner }
  var form: UInt8 { isUniform ? DataLayout.Index.uniform : 0 }

  /// Writes everything before the prefix bytes, except the stamp.
  func writeHeader(to node: UnsafeMutableRawPointer) {
    let header =
      UInt64(kind) | UInt64(form) &<< 8 | UInt64(count) &<< 16 | UInt64(UInt32(truncatingIfNeeded: length)) &<< 32
    node.storeBytes(of: header, as: UInt64.self)
    let second =
      UInt64(UInt16(truncatingIfNeeded: prefix)) | UInt64(UInt16(truncatingIfNeeded: rest)) &<< 16
      | UInt64(UInt16(truncatingIfNeeded: tailBytes)) &<< 32
    node.storeBytes(of: second, toByteOffset: DataLayout.Index.prefixLength, as: UInt64.self)
  }

  /// Reads the header of a node of `length` bytes; nil where its parts do not add up to that length.
  @inline(__always)
  init?(_ node: UnsafeRawPointer, head: UInt64) {
    let length = Int(truncatingIfNeeded: head &>> 32)
    guard length >= DataLayout.Index.prefix else { return nil }
    let second = node.load(fromByteOffset: DataLayout.Index.prefixLength, as: UInt64.self)
    isLeaf = UInt8(truncatingIfNeeded: head) == NodeKind.indexLeaf
    isUniform = head &>> 8 & UInt64(DataLayout.Index.uniform) != 0
    count = Int(truncatingIfNeeded: head &>> 16 & 0x1ff)
    prefix = Int(truncatingIfNeeded: second & 0xffff)
    rest = Int(truncatingIfNeeded: second &>> 16 & 0xffff)
    tailBytes = Int(truncatingIfNeeded: second &>> 32 & 0xffff)
    if isUniform, tailBytes != count &* max(0, rest &- 8) { return nil }
    guard prefix <= DataLayout.Index.maximumKey, rest <= DataLayout.Index.maximumKey, self.length == length else {
      return nil
    }
  }

  init(isLeaf: Bool, isUniform: Bool, count: Int, prefix: Int, rest: Int, tailBytes: Int) {
    self.isLeaf = isLeaf
    self.isUniform = isUniform
    self.count = count
    self.prefix = prefix
    self.rest = rest
    self.tailBytes = tailBytes
  }
}

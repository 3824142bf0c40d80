/// Bytes whose order is the order of values (docs/semantics.md), as an index looks for them.
///
/// A view, valid while the buffer behind it is. At least eight zero bytes follow the last one, so that the head at any
/// place up to `length` can be loaded at once.
package struct EncodedKey {
  package let bytes: UnsafeRawPointer
  package let length: Int

  @inline(__always)
  package init(bytes: UnsafeRawPointer, length: Int) {
    self.bytes = bytes
    self.length = length
  }

  /// Whether equal bytes mean equal values. Where false (values longer than about 250 bytes end in a hash), whoever
  /// looks for equality has to compare the value in the row.
  package var isExact: Bool { length < DataLayout.Index.maximumKey }

  /// Whether comparing with this key, as a bound, orders every stored value rightly. Where false, use
  /// `IndexKey.widenToLowerBound` or `widenToUpperBound` and compare the values in the rows.
  package var isOrdered: Bool { length <= DataLayout.Index.orderedKey }

  /// Eight bytes from `offset` (≤ length) as a number.
  @inline(__always)
  func head(_ offset: Int) -> UInt64 {
    UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }
}

/// Where a value is encoded: a fixed buffer on the stack, nothing is allocated.
///
/// | value | bytes |
/// |---|---|
/// | integers of every width but UInt64 | 8, big-endian, sign bit flipped |
/// | UInt64 | 8, big-endian |
/// | Bool | 1 |
/// | Float, Double, Date | 4 or 8, big-endian; 0 is NaN, negative numbers are inverted, others have the sign bit set; −0.0 = 0.0 |
/// | UUID | its 16 bytes |
/// | String, Data | its bytes (UTF-8) |
/// | optional | one byte before: 0 nil (and nothing else), 1 a value |
///
/// Keys of 256 bytes and more (tag included) are cut to 248 and end in the 8-byte XXH3 hash of the value.
package struct IndexKey: ~Copyable {
  var words = InlineArray<34, UInt64>(repeating: 0)
  package internal(set) var length = 0

  package init() {}

  package var isExact: Bool { length < DataLayout.Index.maximumKey }
  package var isOrdered: Bool { length <= DataLayout.Index.orderedKey }

  /// Lends the encoded bytes to `body`.
  @inline(__always)
  package func withEncoded<R, E: Error>(_ body: (EncodedKey) throws(E) -> R) throws(E) -> R {
    let length = length
    return try words.span.withUnsafeBytes { (buffer) throws(E) -> R in
      // The buffer is never empty.
      try body(EncodedKey(bytes: buffer.baseAddress.unsafelyUnwrapped, length: length))
    }
  }

  @inline(__always)
  mutating func withBuffer<R>(_ body: (UnsafeMutableRawPointer) -> R) -> R {
    var span = words.mutableSpan
    return span.withUnsafeMutableBytes { body($0.baseAddress.unsafelyUnwrapped) }
  }

  /// Takes over a prefix of another key.
  package mutating func copy(_ key: EncodedKey, length: Int? = nil) {
    let length = min(length ?? key.length, DataLayout.Index.maximumKey)
    withBuffer { buffer in
      buffer.copyMemory(from: key.bytes, byteCount: length)
      buffer.storeZeros(at: length)
    }
    self.length = length
  }

  mutating func truncate(_ length: Int) {
    guard length < self.length else { return }
    withBuffer { $0.storeZeros(at: length) }
    self.length = length
  }
}

extension UnsafeMutableRawPointer {
  /// The zero bytes that follow every encoded key.
  @inline(__always) func storeZeros(at offset: Int) {
    (self + offset).storeBytes(of: 0, as: UInt64.self)
  }
}

extension IndexKey {
  /// Makes of a prefix the least key above everything that begins with it. False: there is none, the end is open.
  package mutating func makePrefixEnd() -> Bool {
    let end = withEncoded { key in
      var end = key.length
      while end > 0, key.bytes.load(fromByteOffset: end &- 1, as: UInt8.self) == 0xff { end &-= 1 }
      return end
    }
    guard end > 0 else { return false }
    truncate(end)
    withBuffer { buffer in
      let last = buffer + (end &- 1)
      last.storeBytes(of: last.load(as: UInt8.self) &+ 1, as: UInt8.self)
    }
    return true
  }

  /// For a bound that is not ordered: the greatest ordered key that is not above the value.
  package mutating func widenToLowerBound() { truncate(DataLayout.Index.orderedKey) }

  /// For a bound that is not ordered: a key above everything that shares its ordered bytes. False: the end is open.
  package mutating func widenToUpperBound() -> Bool {
    truncate(DataLayout.Index.orderedKey)
    return makePrefixEnd()
  }
}

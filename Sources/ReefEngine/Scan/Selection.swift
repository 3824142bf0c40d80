/// Rows of one leaf: 256 bits, bit i for row i.
package struct Selection: Equatable, Sendable {
  package var words: SIMD4<UInt64>

  @inlinable package init(words: SIMD4<UInt64>) { self.words = words }

  @inlinable package static var none: Selection { Selection(words: SIMD4(repeating: 0)) }

  /// The first `count` rows.
  @inlinable package init(count: Int) {
    if count >= 256 {
      words = SIMD4(repeating: .max)
    } else {
      let index = SIMD4<Int64>(0, 64, 128, 192)
      let bits = (SIMD4(repeating: Int64(truncatingIfNeeded: count)) &- index)
      words = .zero
      for i in 0..<4 where bits[i] > 0 {
        words[i] = bits[i] >= 64 ? .max : (1 &<< UInt64(bitPattern: bits[i])) &- 1
      }
    }
  }

  @inlinable package init(rows: Range<Int>) {
    self = Selection(count: rows.upperBound).subtracting(Selection(count: rows.lowerBound))
  }

  @inlinable package init(row: Int) {
    words = .zero
    words[(row &>> 6) & 3] = 1 &<< UInt64(truncatingIfNeeded: row & 63)
  }

  /// Reads a bitmap of four words.
  @inlinable package init(_ bitmap: UnsafePointer<UInt64>) {
    words = SIMD4(bitmap[0], bitmap[1], bitmap[2], bitmap[3])
  }

  /// What a kernel writes.
  @inlinable @inline(__always)
  package static func made(by kernel: (UnsafeMutablePointer<UInt64>) -> Void) -> Selection {
    var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    withUnsafeMutableBytes(of: &words) { kernel($0.baseAddress!.assumingMemoryBound(to: UInt64.self)) }
    return Selection(words: SIMD4(words.0, words.1, words.2, words.3))
  }

  @inlinable package var isEmpty: Bool { words == .zero }

  @inlinable package var count: Int {
    words[0].nonzeroBitCount &+ words[1].nonzeroBitCount &+ words[2].nonzeroBitCount &+ words[3].nonzeroBitCount
  }

  @inlinable package func contains(_ row: Int) -> Bool {
    words[(row &>> 6) & 3] &>> UInt64(truncatingIfNeeded: row & 63) & 1 != 0
  }

  @inlinable package static func & (a: Selection, b: Selection) -> Selection { Selection(words: a.words & b.words) }
  @inlinable package static func | (a: Selection, b: Selection) -> Selection { Selection(words: a.words | b.words) }
  @inlinable package func subtracting(_ other: Selection) -> Selection { Selection(words: words & ~other.words) }

  /// The rows in ascending order, until `body` returns false. Returns whether it never did.
  @inlinable @inline(__always)
  package func forEach<E: Error>(_ body: (Int) throws(E) -> Bool) throws(E) -> Bool {
    for word in 0..<4 {
      var left = words[word]
      while left != 0 {
        guard try body(word &* 64 &+ left.trailingZeroBitCount) else { return false }
        left &= left &- 1
      }
    }
    return true
  }

  @inlinable package var first: Int? {
    for word in 0..<4 where words[word] != 0 { return word &* 64 &+ words[word].trailingZeroBitCount }
    return nil
  }
}

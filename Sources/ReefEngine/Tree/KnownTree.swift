/// Root and depth of one table's tree in one word, so that whoever reads a version may remember it without a lock: it is
/// there as a whole or not at all.
@usableFromInline package struct KnownTree {
  /// Ref of the root, table + 1 in the next 16 bits, depth in the 16 above; 0: none.
  @usableFromInline package let word: UInt64

  @inlinable @inline(__always)
  package init(word: UInt64) { self.word = word }

  @inlinable @inline(__always)
  package init(table: Int, root: UInt64, depth: Int) {
    word = root & 0xffff_ffff | UInt64(truncatingIfNeeded: table &+ 1) &<< 32 | UInt64(truncatingIfNeeded: depth) &<< 48
  }

  /// Whether it is the tree of this table. Those beyond the 65,534th are never known.
  @inlinable @inline(__always)
  package func isOf(table: Int) -> Bool { word &>> 32 & 0xffff == UInt64(truncatingIfNeeded: table &+ 1) }

  @inlinable package var root: UInt64 { @inline(__always) get { word & 0xffff_ffff } }
  @inlinable package var depth: Int { @inline(__always) get { Int(truncatingIfNeeded: word &>> 48) } }
}

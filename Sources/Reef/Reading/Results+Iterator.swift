extension Results {
  /// Walks a result: leaf by leaf in stored order, or along a list of object keys. Allocates nothing per object.
  public struct Iterator: IteratorProtocol {
    @usableFromInline let owner: RowOwner
    @usableFromInline let table: Int
    @usableFromInline let walk: LeafWalk
    @usableFromInline var leaf: LeafView
    /// Rows of the leaf that are to come, and what is left of the word of the bitmap that is being walked.
    @usableFromInline var rows = SIMD4<UInt64>()
    @usableFromInline var word: UInt64 = 0
    @usableFromInline var columns = RowColumns(count: 0)
    @usableFromInline var wordIndex = 3

    init(_ walk: LeafWalk, table: Int, owner: RowOwner) {
      self.owner = owner
      self.table = table
      self.walk = walk
      leaf = LeafView(nothingIn: owner.view)
    }

    /// The next object; nil at the end.
    @inlinable @inline(__always)
    public mutating func next() -> M.View? {
      while word == 0 {
        if wordIndex < 3 {
          wordIndex &+= 1
          word = rows[wordIndex]
        } else if !advance() {
          return nil
        }
      }
      let row = (wordIndex &<< 6) &+ word.trailingZeroBitCount
      word &= word &- 1
      return M.View(_row: Row(leaf, row, columns: columns, key: leaf.key(row), table: table, owner: owner))
    }

    /// Enters the next leaf that has rows of the result.
    @usableFromInline mutating func advance() -> Bool {
      guard let next = walk.next() else { return false }
      leaf = next.leaf
      rows = next.rows
      columns = next.columns
      wordIndex = 0
      word = rows[0]
      return true
    }
  }
}

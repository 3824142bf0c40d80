extension Results {
  /// Walks a result: leaf by leaf in stored order, or along a list of object keys. Allocates nothing per object.
  public struct Iterator: IteratorProtocol {
    @usableFromInline let owner: RowOwner
    @usableFromInline let number: Int
    @usableFromInline var walk: LeafWalk?
    @usableFromInline var leaf: LeafView?
    /// Rows of the leaf that match, and what is left of the word of the bitmap that is being walked.
    @usableFromInline var rows = SIMD4<UInt64>()
    @usableFromInline var word: UInt64 = 0
    @usableFromInline var wordIndex = 3
    @usableFromInline var skip: Int
    @usableFromInline var left: Int
    @usableFromInline let keys: [Int64]
    @usableFromInline var nextKey = 0
    @usableFromInline var generation: UInt32 = 0
    @usableFromInline var table: TableView?

    init(keys: [Int64], table: Int, owner: RowOwner) {
      self.owner = owner
      number = table
      skip = 0
      left = .max
      self.keys = keys
    }

    init(walk: LeafWalk, table: Int, offset: Int, limit: Int, owner: RowOwner) {
      self.owner = owner
      number = table
      self.walk = walk
      skip = offset
      left = limit
      keys = []
    }

    @inlinable public mutating func next() -> M.View? {
      while true {
        if word != 0, let leaf {
          let row = (wordIndex &<< 6) &+ word.trailingZeroBitCount
          word &= word &- 1
          if skip > 0 {
            skip &-= 1
            continue
          }
          guard left > 0 else { return nil }
          left &-= 1
          return M.View(_row: Row(leaf, row, table: number, owner: owner))
        }
        if wordIndex < 3 {
          wordIndex &+= 1
          word = rows[wordIndex]
          continue
        }
        guard advance() else { return nextListed() }
      }
    }

    /// Enters the next leaf that has matches.
    @usableFromInline mutating func advance() -> Bool {
      guard left > 0, let walk else { return false }
      do throws(StoreError) {
        if let next = try walk.next() {
          leaf = next.leaf
          rows = next.rows
          wordIndex = 0
          word = rows[0]
          return true
        }
      } catch {
        owner.note(error)
      }
      self.walk = nil
      leaf = nil
      return false
    }

    @usableFromInline mutating func nextListed() -> M.View? {
      while nextKey < keys.count {
        let key = keys[nextKey]
        nextKey += 1
        do throws(StoreError) {
          if table == nil || generation != owner.generation {
            table = try owner.current().table(number)
            generation = owner.generation
          }
          // What was deleted since, in this transaction, is passed over.
          guard let position = try table?.find(key: key) else { continue }
          return M.View(_row: Row(position.leaf, position.row, key: key, table: number, owner: owner))
        } catch {
          owner.note(error)
          return nil
        }
      }
      return nil
    }
  }
}

extension Results {
  /// Walks a result: leaf by leaf in stored order, or along a list of object keys. Allocates nothing per object.
  public struct Iterator: IteratorProtocol {
    @usableFromInline let owner: RowOwner
    @usableFromInline let number: Int
    @usableFromInline var cursor: LeafCursor?
    @usableFromInline let predicate: CompiledPredicate?
    @usableFromInline var leaf: LeafView?
    /// Rows of the leaf still to come, and what is left of the word of the bitmap that is being walked.
    @usableFromInline var selection = Selection.none
    @usableFromInline var word: UInt64 = 0
    @usableFromInline var wordIndex = 4
    @usableFromInline var skip: Int
    @usableFromInline var left: Int
    @usableFromInline let keys: [Int64]
    @usableFromInline var nextKey = 0
    @usableFromInline var generation: UInt32 = 0
    @usableFromInline var table: TableView?

    init(keys: [Int64], table: Int, owner: RowOwner) {
      self.owner = owner
      number = table
      predicate = nil
      skip = 0
      left = .max
      self.keys = keys
    }

    init(
      table: TableView, number: Int, predicate: CompiledPredicate?, offset: Int, limit: Int, owner: RowOwner
    ) {
      self.owner = owner
      self.number = number
      let first = predicate.map(\.keyRanges)?.ranges.first?.lower ?? .min
      cursor = table.leaves(from: first)
      self.predicate = predicate
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
          word = selection.words[wordIndex]
          continue
        }
        guard advance() else { return nextListed() }
      }
    }

    /// Enters the next leaf that has matches.
    @usableFromInline mutating func advance() -> Bool {
      guard left > 0, cursor != nil else { return false }
      do throws(StoreError) {
        while let next = try cursor?.next() {
          let matches = try predicate?.select(next) ?? Selection(count: next.count)
          if matches.isEmpty {
            if let predicate, next.count > 0, isBeyond(predicate, next.key(0)) { break }
            continue
          }
          leaf = next
          selection = matches
          wordIndex = 0
          word = matches.words[0]
          return true
        }
      } catch {
        owner.note(error)
      }
      cursor = nil
      leaf = nil
      return false
    }

    private func isBeyond(_ predicate: CompiledPredicate, _ key: Int64) -> Bool {
      guard let last = predicate.keyRanges.ranges.last else { return true }
      return key > last.upper
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

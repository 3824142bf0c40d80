/// Leads the iterator of a result from leaf to leaf: made once per iteration.
@usableFromInline class LeafWalk {
  /// A leaf, which of its rows come now, as a bitmap, and what they know of its columns.
  @usableFromInline struct Step {
    @usableFromInline let leaf: LeafView
    @usableFromInline let rows: SIMD4<UInt64>
    @usableFromInline let columns: RowColumns
  }

  /// The next step; nil at the end. Damage is noted.
  @usableFromInline func next() -> Step? { nil }
}

/// In stored order: the leaves that hold matches, from the `skip`-th match on.
final class ScanWalk: LeafWalk {
  private var cursor: SelectionCursor
  private var skip: Int
  private var left: Int
  private let owner: RowOwner
  private let number: Int

  init(
    _ table: TableView, _ number: Int, _ predicate: CompiledPredicate?, skip: Int, limit: Int, owner: RowOwner
  ) {
    self.number = number
    self.skip = skip
    left = limit
    self.owner = owner
    cursor = SelectionCursor(table, where: predicate)
  }

  override func next() -> Step? {
    do throws(StoreError) {
      while left > 0, let (leaf, matches) = try cursor.next() {
        var rows = matches
        let count = rows.count
        guard count > skip else {
          skip -= count
          continue
        }
        if skip > 0 || count - skip > left { rows = window(rows) } else if left != .max { left -= count }
        let wanted = owner.wanted.columns(of: number)
        cursor.prefetch(wanted)
        let columns = RowColumns(count: leaf.columnCount, checked: leaf.soundColumns(wanted))
        return Step(leaf: leaf, rows: rows.words, columns: columns)
      }
    } catch {
      owner.note(error)
    }
    return nil
  }

  /// The rows that the window begins or ends with.
  private func window(_ rows: Selection) -> Selection {
    var kept = Selection.none
    _ = rows.forEach { (row) throws(Never) in
      if skip > 0 {
        skip -= 1
        return true
      }
      guard left > 0 else { return false }
      left -= 1
      kept = kept | Selection(row: row)
      return true
    }
    return kept
  }
}

/// Along a list of object keys. What was deleted since, in a transaction, is passed over.
final class ListWalk: LeafWalk {
  private let keys: [Int64]
  private var nextKey = 0
  private let number: Int
  private let owner: RowOwner
  private var table: TableView?
  private var generation: UInt32 = 0

  init(_ keys: [Int64], table: Int, owner: RowOwner) {
    self.keys = keys
    number = table
    self.owner = owner
  }

  override func next() -> Step? {
    do throws(StoreError) {
      while nextKey < keys.count {
        let key = keys[nextKey]
        nextKey += 1
        if table == nil || generation != owner.generation {
          table = try owner.current().table(number)
          generation = owner.generation
        }
        if let position = try table?.find(key: key) {
          return Step(
            leaf: position.leaf, rows: Selection(row: position.row).words,
            columns: RowColumns(count: position.leaf.columnCount))
        }
      }
    } catch {
      owner.note(error)
    }
    return nil
  }
}

/// Leads the iterator of a result from leaf to leaf: made once per iteration.
@usableFromInline class LeafWalk {
  /// The next leaf, and which of its rows come now, as a bitmap. nil at the end; damage is noted.
  @usableFromInline func next() -> (leaf: LeafView, rows: SIMD4<UInt64>)? { nil }
}

/// In stored order: the leaves that hold matches, from the `skip`-th match on.
final class ScanWalk: LeafWalk {
  private var cursor: SelectionCursor
  private var skip: Int
  private var left: Int
  private let owner: RowOwner

  init(_ table: TableView, _ predicate: CompiledPredicate?, skip: Int, limit: Int, owner: RowOwner) {
    self.skip = skip
    left = limit
    self.owner = owner
    cursor = SelectionCursor(table, where: predicate)
  }

  override func next() -> (leaf: LeafView, rows: SIMD4<UInt64>)? {
    do throws(StoreError) {
      while left > 0, let (leaf, matches) = try cursor.next() {
        var rows = matches
        let count = rows.count
        guard count > skip else {
          skip -= count
          continue
        }
        if skip > 0 || count - skip > left { rows = window(rows) } else if left != .max { left -= count }
        return (leaf, rows.words)
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

  override func next() -> (leaf: LeafView, rows: SIMD4<UInt64>)? {
    do throws(StoreError) {
      while nextKey < keys.count {
        let key = keys[nextKey]
        nextKey += 1
        if table == nil || generation != owner.generation {
          table = try owner.current().table(number)
          generation = owner.generation
        }
        if let position = try table?.find(key: key) { return (position.leaf, Selection(row: position.row).words) }
      }
    } catch {
      owner.note(error)
    }
    return nil
  }
}

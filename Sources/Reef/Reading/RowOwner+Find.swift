// Finding rows by key. What a user's module takes over is one call and no reference counting: retaining and releasing are
// atomic, and the processor waits at each for all loads before it, so that lookups could not overlap.
extension RowOwner {
  /// The row with this object key; nil also where something is damaged, which is noted.
  @inlinable @inline(__always)
  final func find(_ key: Int64, table: Int) -> Row? {
    let place = locate(key, table: table)
    return place.exists ? Row(place, key: key, table: table, owner: self) : nil
  }

  /// Releases nothing that its caller sees, and says so.
  @_effects(releasenone) @inline(never) @usableFromInline
  final func locate(_ key: Int64, table: Int) -> RowPlace {
    let tree = knownTree.load(ordering: .relaxed)
    if tree &>> 32 & 0xffff == UInt64(truncatingIfNeeded: table &+ 1) {
      let place = view.place(of: key, root: tree & 0xffff_ffff, depth: Int(truncatingIfNeeded: tree &>> 48))
      if place.isSound { return place }
    }
    return locateFromRoot(key, table: table)
  }

  /// From the root of the version on, and with words for what is wrong.
  @_effects(releasenone) @inline(never)
  private final func locateFromRoot(_ key: Int64, table: Int) -> RowPlace {
    do throws(StoreError) {
      guard let position = try position(key, table: table) else { return .absent(view) }
      return RowPlace(leaf: position.leaf.pointer, row: position.row, columnCount: position.leaf.columnCount)
    } catch {
      note(error)
      return .absent(view)
    }
  }

  private final func position(_ key: Int64, table: Int) throws(StoreError) -> RowPosition? {
    let view = isTransaction ? try current() : self.view
    let tree = try view.table(table)
    if !isTransaction, tree.rootEntry != 0 {
      knownTree.store(
        tree.rootEntry & 0xffff_ffff | UInt64(truncatingIfNeeded: table &+ 1) &<< 32
          | UInt64(truncatingIfNeeded: tree.depth) &<< 48, ordering: .relaxed)
    }
    return try tree.find(key: key)
  }

  final func row(_ key: Int64, table: Int) throws(StoreError) -> Row? {
    guard let position = try position(key, table: table) else { return nil }
    return Row(position.leaf, position.row, key: key, table: table, owner: self)
  }

  /// The row whose String or UUID key has these bytes.
  @usableFromInline final func find(bytes: [UInt8], column: Int, table: Int) -> Row? {
    do throws(StoreError) {
      var scratch = IndexKey()
      let view = try current()
      guard
        let key = try KeyLookup.find(view, table: table, column: column, bytes: bytes, key: &scratch)
      else { return nil }
      return try row(key, table: table)
    } catch {
      note(error)
      return nil
    }
  }
}

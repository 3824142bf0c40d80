// Finding rows by key. What a user's module takes over is one call and no reference counting: retaining and releasing are
// atomic, and the processor waits at each for all loads before it, so that lookups could not overlap.
extension RowOwner {
  /// The row with this object key; nil also where something is damaged, which is noted.
  @inlinable @inline(__always)
  final func find(_ key: Int64, table: Int) -> Row? {
    let place = locate(key, table: table)
    return place.exists ? Row(place, key: key, table: table, owner: self) : nil
  }

  /// The row whose String or UUID key has these bytes.
  @inlinable @inline(__always)
  final func find(bytes: UnsafeRawBufferPointer, column: Int, table: Int) -> Row? {
    row(locate(bytes: bytes, column: column, table: table), table: table)
  }

  @inlinable @inline(__always)
  final func row(_ found: KeyedPlace, table: Int) -> Row? {
    found.place.exists ? Row(found.place, key: found.key, table: table, owner: self) : nil
  }

  /// Releases nothing that its caller sees, and says so.
  @_effects(releasenone) @inline(never) @usableFromInline
  final func locate(_ key: Int64, table: Int) -> RowPlace {
    let tree = KnownTree(word: knownTree.load(ordering: .relaxed))
    if tree.isOf(table: table) {
      let place = view.place(of: key, root: tree.root, depth: tree.depth)
      if place.isSound { return place }
    }
    return locateFromRoot(key, table: table)
  }

  @_effects(releasenone) @inline(never) @usableFromInline
  final func locate(bytes: UnsafeRawBufferPointer, column: Int, table: Int) -> KeyedPlace {
    do throws(StoreError) {
      guard let key = try objectKey(bytes, column: column, table: table) else { return KeyedPlace(view) }
      return KeyedPlace(key: key, place: locate(key, table: table))
    } catch {
      note(error)
      return KeyedPlace(view)
    }
  }

  /// A row's place and its object key.
  @usableFromInline struct KeyedPlace {
    @usableFromInline let key: Int64
    @usableFromInline let place: RowPlace

    init(key: Int64, place: RowPlace) {
      self.key = key
      self.place = place
    }
    /// Nowhere.
    init(_ view: ReadView) { self.init(key: 0, place: .absent(view)) }
  }

  final func row(_ key: Int64, table: Int) throws(StoreError) -> Row? {
    guard let position = try position(key, table: table) else { return nil }
    return Row(position.leaf, position.row, key: key, table: table, owner: self)
  }
}

// From the root of the version on, and with words for what is wrong.
extension RowOwner {
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
      knownTree.store(KnownTree(table: table, root: tree.rootEntry, depth: tree.depth).word, ordering: .relaxed)
    }
    return try tree.find(key: key)
  }

  private final func objectKey(
    _ bytes: UnsafeRawBufferPointer, column: Int, table: Int
  ) throws(StoreError) -> Int64? {
    var index = KnownTree(word: knownIndex.load(ordering: .relaxed))
    // The remembered root has no checksum: while nodes have to be proven, it is read from the table each time.
    if !index.isOf(table: table) || view.limit == 0 {
      let tree = try (isTransaction ? try current() : view).table(table)
      if view.limit == 0 {
        return try KeyLookup.find(
          IndexView(view: view, root: tree.keyIndexRoot, depth: tree.keyIndexDepth), table: table, column: column,
          bytes: bytes)
      }
      index = KnownTree(table: table, root: tree.keyIndexRoot, depth: tree.keyIndexDepth)
      if !isTransaction { knownIndex.store(index.word, ordering: .relaxed) }
    }
    return try KeyLookup.find(
      IndexView(view: view, root: index.root, depth: index.depth), table: table, column: column, bytes: bytes)
  }
}

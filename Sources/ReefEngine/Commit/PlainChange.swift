/// Setting one scalar of one object in a tree: what nearly every small commit does.
///
/// The same as `WriteTransaction.update` and `TableWriter.update`, along the one common way and by raw pointers alone:
/// there, class references and closures cost forty locked instructions a commit, more than all else. Whatever is
/// unusual (an index, a nil, an open leaf, a value that does not fit, damage) is left to the general way: nil.
enum PlainChange {
  typealias State = UnsafeMutablePointer<Writer.State>
  typealias Table = UnsafeMutablePointer<TableWriter.State>

  /// The state of a table, loaded for this transaction, its leaf not open.
  @inline(__always)
  static func table(_ writer: State, _ index: Int) -> Table? {
    guard UInt(bitPattern: index) < UInt(bitPattern: writer.pointee.tableCount) else { return nil }
    let table = writer.pointee.tables[index]
    if table.pointee.transaction != writer.pointee.serial {
      let entry = writer.pointee.root.load(
        fromByteOffset: DataLayout.Root.tables &+ index &* DataLayout.entrySize, as: UInt64.self)
      guard let node = writer.pointee.space.node(entry, kind: NodeKind.table),
        table.pointee.load(node, writer.pointee.space, transaction: writer.pointee.serial)
      else { return nil }
    }
    return table.pointee.isOpen ? nil : table
  }

  /// Looks a row up and keeps the way to it: the row, −1 where there is none, or nil.
  @inline(__always)
  static func find(_ writer: State, _ table: Table, _ key: Int64) -> Int? {
    if table.pointee.isFound, table.pointee.foundKey == key { return table.pointee.foundRow }
    let node = table.pointee.node
    let limit = writer.pointee.space.limit
    let base = writer.pointee.space.base
    let path = table.pointee.path
    var entry = node.load(fromByteOffset: DataLayout.Table.root, as: UInt64.self)
    let depth = Int(node.load(fromByteOffset: DataLayout.Table.depth, as: UInt32.self))
    var level = 0
    table.pointee.isFound = false
    while level < depth {
      let offset = (entry & 0xffff_ffff) &<< UInt64(DataLayout.grainShift)
      guard offset >= UInt64(DataLayout.extentSize), offset &+ UInt64(TableWriter.denseLength) <= limit else {
        return nil
      }
      let node = base + Int(truncatingIfNeeded: offset)
      let header = node.load(as: UInt64.self)
      let count = Int(truncatingIfNeeded: header &>> 16 & 0x1ff)
      let length = header &>> 32
      guard count > 0, count <= DataLayout.Inner.fanOut, offset &+ length <= limit else { return nil }
      var index = 0
      if UInt8(truncatingIfNeeded: header) == NodeKind.innerDense {
        guard length >= UInt64(TableWriter.denseLength) else { return nil }
        let first = TableWriter.base(node)
        let child = UInt64(bitPattern: key &- first) &>> (header &>> 8 & 63)
        guard key >= first, child < UInt64(count) else { return nil }
        index = Int(truncatingIfNeeded: child)
      } else {
        guard UInt8(truncatingIfNeeded: header) == NodeKind.innerKeyed, length >= UInt64(TableWriter.keyedLength)
        else { return nil }
        let keys = TableWriter.keys(node)
        var left = count
        while left > 1 {
          let half = left &>> 1
          index = keys[index &+ half] <= key ? index &+ half : index
          left &-= half
        }
      }
      path[level] = TableWriter.PathStep(node: node, index: index)
      entry = TableWriter.entries(node)[index]
      level &+= 1
    }
    guard let leaf = writer.pointee.space.node(entry, kind: NodeKind.leaf) else { return nil }
    let row: Int
    if leaf.load(fromByteOffset: DataLayout.Leaf.keys, as: UInt64.self) == 0 {
      // Consecutive keys.
      let delta = UInt64(bitPattern: key &- leaf.load(fromByteOffset: DataLayout.Leaf.base, as: Int64.self))
      row = delta < UInt64(TableWriter.count(leaf)) ? Int(truncatingIfNeeded: delta) : -1
    } else {
      let view = ReadView(base: UnsafeRawPointer(base), limit: limit, root: 0, version: 0)
      do throws(StoreError) { row = try view.leaf(entry).find(key) } catch { return nil }
    }
    guard row < DataLayout.Leaf.capacity else { return nil }
    table.pointee.isFound = true
    table.pointee.foundKey = key
    table.pointee.foundLeaf = leaf
    table.pointee.foundRow = row
    return row
  }

  /// Sets a scalar of the row with this key; bits as in `RowEncoder`.
  @inline(__always)
  static func set(
    _ writer: State, table index: Int, key: Int64, column: Int, bits: UInt64
  ) throws(StoreError) -> TableWriter.Outcome? {
    guard let table = table(writer, index), UInt(bitPattern: column) < UInt(bitPattern: table.pointee.columns),
      table.pointee.scalars[column] != 0, let row = find(writer, table, key)
    else { return nil }
    if row < 0 { return .missing }
    let leaf = table.pointee.foundLeaf
    let place = DataLayout.Leaf.columns &+ column &* DataLayout.entrySize
    guard Int(leaf.load(fromByteOffset: DataLayout.Node.length, as: UInt32.self)) >= place &+ DataLayout.entrySize,
      let old = writer.pointee.space.node(leaf.load(fromByteOffset: place, as: UInt64.self), kind: NodeKind.column)
    else { return nil }
    let header = old.load(as: UInt64.self)
    // Integers, and what is stored like them. A flag in the form is a bitmap: nil lies on the general way.
    let shift = header &>> 8 & 0xff &- UInt64(ColumnForm.int8)
    let end = UInt64(DataLayout.Column.payload) &+ (UInt64(row) &+ 1) &<< (shift & 3)
    guard shift <= 3, header &>> 16 & 0x1ff > UInt64(row), header &>> 32 >= end else { return nil }
    let at = DataLayout.Column.payload &+ row &<< Int(shift)
    if value(old, at, shift) == bits { return .unchanged }
    // What does not come back as it was does not fit.
    let unused = (8 &- 1 &<< shift) &* 8
    guard UInt64(bitPattern: Int64(bitPattern: bits &<< unused) &>> Int64(unused)) == bits else { return nil }
    writer.pointee.didAdd = true
    writer.pointee.space.mayUseReserve = false
    do throws(StoreError) {
      let column = try own(writer, table, index, old, place)
      switch shift {
      case 0: column.storeBytes(of: UInt8(truncatingIfNeeded: bits), toByteOffset: at, as: UInt8.self)
      case 1: column.storeBytes(of: UInt16(truncatingIfNeeded: bits), toByteOffset: at, as: UInt16.self)
      case 2: column.storeBytes(of: UInt32(truncatingIfNeeded: bits), toByteOffset: at, as: UInt32.self)
      default: column.storeBytes(of: bits, toByteOffset: at, as: UInt64.self)
      }
      writer.pointee.didChange = true
      return .changed
    } catch {
      writer.pointee.isBroken = true
      throw error
    }
  }

  @inline(__always)
  private static func value(_ node: UnsafeRawPointer, _ at: Int, _ shift: UInt64) -> UInt64 {
    switch shift {
    case 0: UInt64(bitPattern: Int64(node.load(fromByteOffset: at, as: Int8.self)))
    case 1: UInt64(bitPattern: Int64(node.load(fromByteOffset: at, as: Int16.self)))
    case 2: UInt64(bitPattern: Int64(node.load(fromByteOffset: at, as: Int32.self)))
    default: node.load(fromByteOffset: at, as: UInt64.self)
    }
  }

  /// Makes everything from the root down to a column of the found leaf the transaction's own.
  @inline(__always)
  private static func own(
    _ writer: State, _ table: Table, _ index: Int, _ column: UnsafeMutableRawPointer, _ place: Int
  ) throws(StoreError) -> UnsafeMutableRawPointer {
    if !table.pointee.isOwned {
      if !writer.pointee.isRootOwned {
        writer.pointee.root = try writer.pointee.space.own(writer.pointee.root)
        writer.pointee.isRootOwned = true
      }
      let node = try writer.pointee.space.own(table.pointee.node)
      table.pointee.node = node
      table.pointee.isOwned = true
      writer.pointee.root.storeBytes(
        of: UInt64(writer.pointee.space.ref(of: node)),
        toByteOffset: DataLayout.Root.tables &+ index &* DataLayout.entrySize, as: UInt64.self)
      writer.pointee.note(changed: index)
    }
    var leaf = table.pointee.foundLeaf
    if !writer.pointee.space.isOwned(leaf) {
      let path = table.pointee.path
      let depth = Int(table.pointee.node.load(fromByteOffset: DataLayout.Table.depth, as: UInt32.self))
      var parent = (table.pointee.node + DataLayout.Table.root).assumingMemoryBound(to: UInt64.self)
      var level = 0
      while level < depth {
        var node = path[level].node
        if !writer.pointee.space.isOwned(node) {
          node = try writer.pointee.space.own(node)
          path[level].node = node
          parent.pointee = UInt64(writer.pointee.space.ref(of: node))
        }
        parent = TableWriter.entries(node) + path[level].index
        level &+= 1
      }
      leaf = try writer.pointee.space.own(leaf)
      table.pointee.foundLeaf = leaf
      parent.pointee = UInt64(writer.pointee.space.ref(of: leaf))
    }
    if writer.pointee.space.isOwned(column) { return column }
    let own = try writer.pointee.space.own(column)
    leaf.storeBytes(of: UInt64(writer.pointee.space.ref(of: own)), toByteOffset: place, as: UInt64.self)
    return own
  }
}

/// Where the typed API finds an object that it is about to change.
package struct FoundRow {
  package var leaf: UnsafeRawPointer
  /// −1: there is no such object. −2: look it up the general way.
  package var row: Int
  package var columns: Int
}

extension WriteTransaction {
  /// Finds a row without packing anything, and remembers the way for the change that follows.
  package func find(table index: Int, key: Int64) throws(StoreError) -> FoundRow {
    try check()
    guard let table = PlainChange.table(state, index), let row = PlainChange.find(state, table, key) else {
      return FoundRow(leaf: UnsafeRawPointer(state.pointee.root), row: -2, columns: 0)
    }
    let leaf = UnsafeRawPointer(table.pointee.foundLeaf)
    let length = Int(leaf.load(fromByteOffset: DataLayout.Node.length, as: UInt32.self))
    return FoundRow(leaf: leaf, row: row, columns: (length &- DataLayout.Leaf.columns) &>> 3)
  }
}

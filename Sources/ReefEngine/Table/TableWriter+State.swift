import Synchronization

/// What a table writer keeps from change to change, in memory that stays where it is.
extension TableWriter {
  @usableFromInline package struct State {
    /// The table's node; owned by the transaction once `isOwned`.
    @usableFromInline package var node: UnsafeMutableRawPointer
    @usableFromInline package var isOwned = false
    /// Serial number of the transaction that loaded it.
    @usableFromInline package var transaction: UInt64 = 0
    @usableFromInline package var count: UInt64 = 0
    @usableFromInline package var nextKey: Int64 = 0
    @usableFromInline package var keyIndexRoot: UInt64 = 0
    @usableFromInline package var keyIndexDepth: Int = 0
    // The open leaf: its rows lie in `scratch`.
    @usableFromInline var isOpen = false
    @usableFromInline var isDirty = false
    /// It has no node in the tree yet.
    var isNew = false
    @usableFromInline var rows = 0
    /// Keys that belong into it.
    @usableFromInline var low: Int64 = 0
    @usableFromInline var high: Int64 = 0
    // What an append needs of the scratch, so that it touches no object.
    @usableFromInline let cells: UnsafeMutablePointer<UInt64>
    @usableFromInline let nulls: UnsafeMutablePointer<UInt64>
    @usableFromInline let kinds: UnsafePointer<UInt8>
    @usableFromInline let arena: UnsafeMutablePointer<ByteArena>
    @usableFromInline let keys: UnsafeMutablePointer<Int64>
    @usableFromInline let columns: Int
    /// All columns written; 0, which no row has, where rows of the table always take the long way.
    @usableFromInline let fullMask: UInt64
    @usableFromInline let keyColumn: Int
    /// Whether `spare` may have null bits that a new row has to clear.
    @usableFromInline let hasOptional: Bool
    @usableFromInline let spareCells: UnsafeMutablePointer<UInt64>
    @usableFromInline let spareNulls: UnsafeMutablePointer<UInt64>
    @usableFromInline let spareArena: UnsafeMutablePointer<ByteArena>
    /// Set while a transaction that inserted into the table runs.
    var table: Unmanaged<TableWriter>?
    var writer: UnsafeMutablePointer<Writer.State>?
    var usable: UnsafeMutablePointer<Atomic<UInt64>>?

    /// The row put in place last came to lie at the end of its leaf, with this key: another after it opens the leaf.
    var isAppending = false
    var appendedKey: Int64 = 0
    /// Why the last change that did nothing did nothing.
    var lastOutcome = Outcome.missing
    /// Length of the column node that was built last.
    var lastColumnLength = 0
    /// The way to the row that was looked up last: shared with the table's writer.
    let path: UnsafeMutablePointer<PathStep>
    /// By column: 1 where changing it touches nothing else and it holds a scalar.
    let scalars: UnsafeMutablePointer<UInt8>
    // The row that `path` leads to, if it still does.
    var isFound = false
    var foundKey: Int64 = 0
    var foundLeaf: UnsafeMutableRawPointer
    var foundRow = 0

    init(
      _ scratch: LeafScratch, spare: LeafScratch, _ schema: TypeSchema, path: UnsafeMutablePointer<PathStep>,
      plain: [Bool]
    ) {
      node = UnsafeMutableRawPointer(scratch.keys)
      self.path = path
      foundLeaf = UnsafeMutableRawPointer(scratch.keys)
      scalars = .allocate(capacity: max(1, plain.count))
      for column in plain.indices {
        (scalars + column).initialize(to: plain[column] && scratch.kinds[column] & 1 == 0 ? 1 : 0)
      }
      cells = scratch.cells
      nulls = scratch.nulls
      kinds = UnsafePointer(scratch.kinds)
      arena = scratch.arena
      keys = scratch.keys
      columns = scratch.columns
      spareCells = spare.cells
      spareNulls = spare.nulls
      spareArena = spare.arena
      hasOptional = schema.properties.contains(where: \.isOptional)
      let hasIndexes = schema.properties.indices.contains { schema.properties[$0].isIndexed && schema.key != $0 }
      if case .integer(let column) = schema.keyKind, !hasIndexes, scratch.columns <= 64 {
        keyColumn = column
        fullMask = scratch.fullMask
      } else {
        keyColumn = 0
        fullMask = 0
      }
    }
  }
}

extension TableWriter.State {
  /// Begins with what a table's node says, which was entered. False: it is not sound.
  @inline(__always)
  mutating func load(_ node: UnsafeMutableRawPointer, _ space: borrowing Space, transaction: UInt64) -> Bool {
    guard node.load(fromByteOffset: DataLayout.Node.length, as: UInt32.self) >= UInt32(DataLayout.Table.indexes),
      node.load(fromByteOffset: DataLayout.Table.depth, as: UInt32.self) <= UInt32(TableView.maximumDepth)
    else { return false }
    self.node = node
    isOwned = space.isOwned(node)
    count = node.load(fromByteOffset: DataLayout.Table.count, as: UInt64.self)
    nextKey = node.load(fromByteOffset: DataLayout.Table.nextKey, as: Int64.self)
    keyIndexRoot = node.load(fromByteOffset: DataLayout.Table.keyIndexRoot, as: UInt64.self)
    keyIndexDepth = Int(node.load(fromByteOffset: DataLayout.Table.keyIndexDepth, as: UInt32.self))
    isOpen = false
    isDirty = false
    isAppending = false
    isFound = false
    self.transaction = transaction
    return true
  }

  /// Writes the counters into the table's node, which must be owned.
  @inline(__always)
  func writeCounters() {
    node.storeBytes(of: count, toByteOffset: DataLayout.Table.count, as: UInt64.self)
    node.storeBytes(of: nextKey, toByteOffset: DataLayout.Table.nextKey, as: Int64.self)
    node.storeBytes(of: keyIndexRoot, toByteOffset: DataLayout.Table.keyIndexRoot, as: UInt64.self)
    node.storeBytes(of: UInt32(keyIndexDepth), toByteOffset: DataLayout.Table.keyIndexDepth, as: UInt32.self)
  }

  /// Appends a row to the open leaf: the key follows its last one, nothing is indexed, and all lies in the leaf. Nil:
  /// it is not so, and nothing was done.
  ///
  /// This is the whole of a bulk insert but the packing of each full leaf. It touches raw memory only: the references
  /// that the general way passes through cost five times what it does.
  @inlinable @inline(__always)
  package static func append(
    _ state: UnsafeMutablePointer<TableWriter.State>, _ encode: (inout RowEncoder) -> Void
  ) -> Int64? {
    let row = state.pointee.rows
    guard state.pointee.isOpen, row > 0, row < DataLayout.Leaf.capacity else { return nil }
    let used = state.pointee.arena.pointee.used
    var encoder = RowEncoder(
      cells: state.pointee.cells, nulls: state.pointee.nulls, kinds: state.pointee.kinds, arena: state.pointee.arena,
      columns: state.pointee.columns, row: row)
    encode(&encoder)
    let cell = state.pointee.cells + (state.pointee.keyColumn &* RowEncoder.stride &+ row)
    let key = Int64(bitPattern: cell.pointee)
    if encoder.written == state.pointee.fullMask, !encoder.isInvalid, !encoder.isLong,
      !state.pointee.arena.pointee.overflowed, key > state.pointee.keys[row &- 1], key <= state.pointee.high
    {
      cell.pointee = 0
      state.pointee.keys[row] = key
      state.pointee.rows = row &+ 1
      state.pointee.isDirty = true
      state.pointee.count &+= 1
      return key
    }
    forget(state, row: row, used: used)
    return nil
  }

  /// Inserts a row that does not follow the last one, in place. Nil: it has to go the general way, and nothing was done.
  @inlinable @inline(__always)
  package static func insertAway(
    _ state: UnsafeMutablePointer<TableWriter.State>, _ encode: (inout RowEncoder) -> Void
  ) throws(StoreError) -> Int64? {
    guard state.pointee.fullMask != 0, !state.pointee.isOpen else { return nil }
    let row = DataLayout.Leaf.capacity
    state.pointee.spareArena.pointee.used = 0
    if state.pointee.hasOptional {
      for column in 0..<state.pointee.columns {
        state.pointee.spareNulls[column &* RowEncoder.nullWords &+ row &>> 6] = 0
      }
    }
    var encoder = RowEncoder(
      cells: state.pointee.spareCells, nulls: state.pointee.spareNulls, kinds: state.pointee.kinds,
      arena: state.pointee.spareArena, columns: state.pointee.columns, row: row)
    encode(&encoder)
    guard encoder.written == state.pointee.fullMask, !encoder.isInvalid, !encoder.isLong,
      !state.pointee.spareArena.pointee.overflowed
    else {
      state.pointee.spareArena.pointee.overflowed = false
      return nil
    }
    return try insertAway(state)
  }

  @inline(never) @usableFromInline
  static func insertAway(_ state: UnsafeMutablePointer<TableWriter.State>) throws(StoreError) -> Int64? {
    guard let writer = state.pointee.writer, let table = state.pointee.table?.takeUnretainedValue(),
      let usable = state.pointee.usable, usable.pointee.load(ordering: .relaxed) == 1
    else { return nil }
    let cell = state.pointee.spareCells + (state.pointee.keyColumn &* LeafScratch.stride &+ LeafScratch.incoming)
    let key = Int64(bitPattern: cell.pointee)
    cell.pointee = 0
    do throws(StoreError) {
      return try table.insertIncoming(&writer.pointee.space, key: key) ? key : nil
    } catch {
      writer.pointee.isBroken = true
      throw error
    }
  }

  /// Leaves nothing of a row that was encoded in vain.
  @inline(never) @usableFromInline
  static func forget(_ state: UnsafeMutablePointer<TableWriter.State>, row: Int, used: Int) {
    state.pointee.arena.pointee.used = used
    state.pointee.arena.pointee.overflowed = false
    for column in 0..<state.pointee.columns {
      state.pointee.nulls[column &* LeafScratch.nullWords &+ row &>> 6] &= ~(1 &<< UInt64(row & 63))
    }
  }
}

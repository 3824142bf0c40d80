/// Inserting, changing and deleting rows.
extension TableWriter {
  /// Where the next row should be encoded so that an append costs no copy: the open leaf's next free row.
  @inline(__always)
  package func beginRow() -> (scratch: LeafScratch, row: Int) {
    if state.pointee.isOpen {
      let row = state.pointee.rows
      if scratch.columns > 64 { scratch.clear(row: row) }
      return (scratch, row)
    }
    spare.arena.pointee.used = 0
    spare.clearNulls()
    if spare.columns > 64 { spare.clear(row: LeafScratch.incoming) }
    return (spare, LeafScratch.incoming)
  }

  /// Drops a row that was encoded but not inserted.
  package func abandonRow(_ scratch: LeafScratch, _ row: Int) { scratch.clear(row: row) }

  /// Takes in the row that was encoded at `row` of `source`. False: the key exists, and nothing changed.
  @inline(__always)
  package func insert(
    _ space: inout Space, key: Int64, from source: LeafScratch, row: Int
  ) throws(StoreError) -> Bool {
    let rows = state.pointee.rows
    // Not open any more: something read the table since the row was encoded, and so packed the leaf.
    if source === scratch, state.pointee.isOpen, rows < Self.capacity, key <= state.pointee.high,
      rows > 0 ? key > scratch.keys[rows &- 1] : key >= state.pointee.low
    {
      if !bytesColumns.isEmpty { try makeBlobs(&space, scratch, row) }
      scratch.keys[rows] = key
      state.pointee.rows = rows &+ 1
      state.pointee.isDirty = true
      state.pointee.count &+= 1
      return true
    }
    return try insertSlowly(&space, key: key, from: source, row: row)
  }

  @inline(never)
  private func insertSlowly(
    _ space: inout Space, key: Int64, from source: LeafScratch, row: Int
  ) throws(StoreError) -> Bool {
    if source === scratch {
      spare.arena.pointee.used = 0
      spare.clearNulls()
      move(from: scratch, row, to: spare, LeafScratch.incoming)
      scratch.clear(row: row)
    }
    return try insertIncoming(&space, key: key)
  }

  /// Inserts the row that was encoded in `spare`. False: the key exists, and nothing changed.
  func insertIncoming(_ space: inout Space, key: Int64) throws(StoreError) -> Bool {
    if !covers(key) {
      try flush(&space)
      state.pointee.isOpen = false
      switch try insertClosed(&space, key: key) {
      case .inserted: return true
      case .duplicate: return false
      case .needsOpening: break
      }
    }
    return try insertOpen(&space, key: key)
  }

  /// Inserts in place, where the key belongs into a leaf that is there and to which no run of keys in order is being
  /// appended.
  private func insertClosed(
    _ space: inout Space, key: Int64
  ) throws(StoreError) -> InPlace {
    let wasAppending = state.pointee.isAppending
    state.pointee.isAppending = false
    guard case .leaf(var node) = try locate(space, key) else { return .needsOpening }
    var leaf = try leafView(space, node)
    guard leaf.count > 0 else { return .needsOpening }
    let last = leaf.key(leaf.count &- 1)
    if key > last, leaf.count >= Self.capacity || wasAppending && state.pointee.appendedKey == last {
      return .needsOpening
    }
    if leaf.count >= Self.capacity {
      if leaf.find(key) >= 0 { return .duplicate }
      try open(&space, for: key)
      try pack(&space, splitAt: Self.capacity / 2)
      state.pointee.isOpen = false
      guard case .leaf(let half) = try locate(space, key) else { return .needsOpening }
      node = half
      leaf = try leafView(space, node)
      if leaf.count == 0 || leaf.count >= Self.capacity { return .needsOpening }
    }
    let outcome = try insertInPlace(&space, node, leaf, key: key)
    if key > last, outcome == .inserted {
      state.pointee.isAppending = true
      state.pointee.appendedKey = key
    }
    return outcome
  }

  private func insertOpen(_ space: inout Space, key: Int64) throws(StoreError) -> Bool {
    let incoming = LeafScratch.incoming
    while true {
      if covers(key), state.pointee.rows == Self.capacity {
        // Full: keys in order leave it full, others split it in halves.
        if key > scratch.keys[Self.capacity - 1] {
          try flush(&space)
          state.pointee.isOpen = false
        } else {
          try pack(&space, splitAt: Self.capacity / 2)
          state.pointee.isOpen = false
        }
      }
      try open(&space, for: key)
      if state.pointee.rows < Self.capacity { break }
      let at = position(key)
      if at < state.pointee.rows, scratch.keys[at] == key { return false }
    }
    let at = position(key)
    if at < state.pointee.rows, scratch.keys[at] == key { return false }
    scratch.shift(from: at, count: state.pointee.rows, by: 1)
    move(from: spare, incoming, to: scratch, at)
    try makeBlobs(&space, scratch, at)
    scratch.keys[at] = key
    state.pointee.rows += 1
    state.pointee.isDirty = true
    state.pointee.count &+= 1
    return true
  }

  /// First row of the open leaf whose key is `key` or more.
  func position(_ key: Int64) -> Int {
    var low = 0
    var high = state.pointee.rows
    while low < high {
      let middle = (low + high) >> 1
      if scratch.keys[middle] < key { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func move(from source: LeafScratch, _ row: Int, to target: LeafScratch, _ place: Int) {
    for column in 0..<source.columns {
      let cell = source.cell(column, row).pointee
      if source.kinds[column] & 1 != 0 {
        target.cell(column, place).pointee =
          target.arena.pointee.append(source.bytes(cell)) | (cell & LeafScratch.blobBit)
      } else {
        target.cell(column, place).pointee = cell
      }
      if source.optional[column] { target.setNull(column, place, source.isNull(column, row)) }
    }
  }

  /// Moves long values of a row into blob nodes.
  @inline(__always)
  private func makeBlobs(_ space: inout Space, _ scratch: LeafScratch, _ row: Int) throws(StoreError) {
    for column in bytesColumns {
      let cell = scratch.cell(column, row).pointee
      if cell &>> 32 > UInt64(LeafBuilder.longestInline), cell & LeafScratch.blobBit == 0 {
        scratch.cell(column, row).pointee = try blobCell(&space, scratch, scratch.bytes(cell))
      }
    }
  }

  @inline(never)
  func blobCell(
    _ space: inout Space, _ scratch: LeafScratch, _ bytes: UnsafeRawBufferPointer
  ) throws(StoreError) -> UInt64 {
    let entry = try LeafBuilder.blob(&space, bytes)
    var descriptor = (entry, UInt64(bytes.count))
    return withUnsafeBytes(of: &descriptor) { scratch.arena.pointee.append($0) } | LeafScratch.blobBit
  }

  /// Deletes the row. False: there is none.
  package func delete(_ space: inout Space, key: Int64) throws(StoreError) -> Bool {
    if !covers(key) {
      // Only a row that exists is worth opening its leaf for.
      try flush(&space)
      guard case .leaf(let node) = try locate(space, key), try leafView(space, node).find(key) >= 0 else {
        return false
      }
    }
    try open(&space, for: key)
    let at = position(key)
    guard at < state.pointee.rows, scratch.keys[at] == key else { return false }
    try retireBlobs(&space, scratch, at)
    scratch.shift(from: at + 1, count: state.pointee.rows, by: -1)
    state.pointee.rows -= 1
    state.pointee.isDirty = true
    state.pointee.count &-= 1
    if state.pointee.rows == 0 { try flush(&space) }
    return true
  }

  private func retireBlobs(_ space: inout Space, _ scratch: LeafScratch, _ row: Int) throws(StoreError) {
    for column in bytesColumns { try retireBlob(&space, scratch, scratch.cell(column, row).pointee) }
  }
  func retireBlob(_ space: inout Space, _ scratch: LeafScratch, _ cell: UInt64) throws(StoreError) {
    guard cell & LeafScratch.blobBit != 0 else { return }
    let bytes = scratch.bytes(cell)
    guard bytes.count == 16 else { return }
    space.retire(try space.enter(bytes.loadUnaligned(as: UInt64.self), kind: NodeKind.blob))
  }
}

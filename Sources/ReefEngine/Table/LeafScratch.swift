/// One leaf, unpacked: the rows that a transaction is working on, column by column, before they are packed into nodes.
///
/// A cell is 8 bytes: the bits of a scalar, or {offset, length} of bytes in the arena; the top bit marks the 16-byte
/// descriptor of a value that lies in a blob node.
package final class LeafScratch: @unchecked Sendable {
  package static var stride: Int { @inline(__always) get { 264 } }
  package static var nullWords: Int { @inline(__always) get { 5 } }
  /// Where a row lies that belongs into another leaf, beyond the rows of this one.
  package static var incoming: Int { @inline(__always) get { 256 } }
  static var isOptional: UInt8 { @inline(__always) get { 2 } }
  static var isUUID: UInt8 { @inline(__always) get { 4 } }
  static var blobBit: UInt64 { @inline(__always) get { 1 << 63 } }

  package let columns: Int
  package let types: [ValueType]
  let optional: [Bool]
  /// Bit 0: bytes in the arena; the others below.
  let kinds: UnsafeMutablePointer<UInt8>
  package let keys: UnsafeMutablePointer<Int64>
  package let cells: UnsafeMutablePointer<UInt64>
  package let nulls: UnsafeMutablePointer<UInt64>
  package let arena: UnsafeMutablePointer<ByteArena>
  let fullMask: UInt64

  package init(_ schema: TypeSchema) {
    columns = schema.properties.count
    types = schema.properties.map(\.type)
    optional = schema.properties.map(\.isOptional)
    kinds = .allocate(capacity: max(1, columns))
    for (column, type) in types.enumerated() {
      let isBytes = type == .string || type == .data || type == .uuid
      kinds[column] =
        (isBytes ? 1 : 0) | (optional[column] ? LeafScratch.isOptional : 0)
        | (type == .uuid ? LeafScratch.isUUID : 0)
    }
    keys = .allocate(capacity: LeafScratch.stride)
    keys.initialize(repeating: 0, count: LeafScratch.stride)
    cells = .allocate(capacity: max(1, columns) * LeafScratch.stride)
    cells.initialize(repeating: 0, count: max(1, columns) * LeafScratch.stride)
    nulls = .allocate(capacity: max(1, columns) * LeafScratch.nullWords)
    nulls.initialize(repeating: 0, count: max(1, columns) * LeafScratch.nullWords)
    arena = .allocate(capacity: 1)
    arena.initialize(to: ByteArena(capacity: 16384))
    fullMask = columns >= 64 ? .max : (1 << UInt64(columns)) - 1
  }

  deinit {
    kinds.deallocate()
    keys.deallocate()
    cells.deallocate()
    nulls.deallocate()
    arena.pointee.base.deallocate()
    arena.deallocate()
  }

  @inline(__always) package func cell(_ column: Int, _ row: Int) -> UnsafeMutablePointer<UInt64> {
    cells + (column &* LeafScratch.stride &+ row)
  }
  @inline(__always) package func isNull(_ column: Int, _ row: Int) -> Bool {
    nulls[column &* LeafScratch.nullWords &+ row &>> 6] &>> UInt64(row & 63) & 1 != 0
  }
  @inline(__always) package func setNull(_ column: Int, _ row: Int, _ isNull: Bool) {
    let word = nulls + (column &* LeafScratch.nullWords &+ row &>> 6)
    let bit = UInt64(1) &<< UInt64(row & 63)
    if isNull { word.pointee |= bit } else { word.pointee &= ~bit }
  }

  /// The bytes a cell of a String, Data or UUID column means (for blob cells: their descriptor).
  @inline(__always) package func bytes(_ cell: UInt64) -> UnsafeRawBufferPointer {
    let length = Int(cell &>> 32 & 0x7fff_ffff)
    let offset = Int(cell & 0xffff_ffff)
    return UnsafeRawBufferPointer(start: arena.pointee.base + offset, count: length)
  }

  /// Starts a row at `row`, whose null bits are clear.
  @inline(__always) package func encoder(row: Int) -> RowEncoder {
    RowEncoder(cells: cells, nulls: nulls, kinds: kinds, arena: arena, columns: columns, row: row)
  }

  /// Fills what an encoder left out.
  @inline(__always) package func finish(_ encoder: borrowing RowEncoder, row: Int) {
    if encoder.written == fullMask, columns <= 64 { return }
    fillMissing(encoder.written, row)
  }
  @inline(never) private func fillMissing(_ written: UInt64, _ row: Int) {
    // Beyond 64 columns the mask is ambiguous: those rows are cleared before they are encoded.
    for column in 0..<min(columns, 64) where written >> UInt64(column) & 1 == 0 || columns > 64 {
      if columns > 64 { continue }
      cell(column, row).pointee = 0
      if optional[column] { setNull(column, row, true) }
    }
  }
  /// Makes a row all nil or zero, before encoding where the written mask cannot tell.
  package func clear(row: Int) {
    for column in 0..<columns {
      cell(column, row).pointee = 0
      setNull(column, row, false)
    }
  }

  package func clearNulls() {
    for index in 0..<(columns * LeafScratch.nullWords) { nulls[index] = 0 }
  }

  /// Moves rows `from…` of `count` by `distance` places, keys and all.
  package func shift(from: Int, count: Int, by distance: Int) {
    let moved = count - from
    if moved > 0 {
      memmoveKeys(from: from, by: distance, count: moved)
      for column in 0..<columns {
        let start = cell(column, from)
        (start + distance).update(from: start, count: moved)
      }
    }
    for column in 0..<columns where optional[column] {
      if distance > 0 {
        var row = count - 1
        while row >= from {
          setNull(column, row + distance, isNull(column, row))
          row -= 1
        }
        setNull(column, from, false)
      } else {
        for row in from..<max(from, count) { setNull(column, row + distance, isNull(column, row)) }
        setNull(column, count - 1, false)
      }
    }
  }
  private func memmoveKeys(from: Int, by distance: Int, count: Int) {
    (keys + from + distance).update(from: keys + from, count: count)
  }

  /// Copies row `source` to row `target` (both within the buffers).
  package func copyRow(_ source: Int, to target: Int) {
    for column in 0..<columns {
      cell(column, target).pointee = cell(column, source).pointee
      if optional[column] { setNull(column, target, isNull(column, source)) }
    }
  }

  /// Unpacks a leaf. Returns its rows.
  package func load(_ leaf: LeafView) throws(StoreError) -> Int {
    arena.pointee.used = 0
    clearNulls()
    leaf.copyKeys(to: keys)
    for column in 0..<columns { try load(leaf, column) }
    return leaf.count
  }

  func load(_ leaf: LeafView, _ column: Int) throws(StoreError) {
    let view = try leaf.column(column)
    let count = leaf.count
    let start = cell(column, 0)
    if optional[column] {
      for row in 0..<count where view.isNull(row) { setNull(column, row, true) }
    }
    if view.isAbsent {
      // Zero: also right for bytes, where it means no bytes at offset 0.
      start.update(repeating: 0, count: count)
      if types[column] == .uuid {
        let zero: [UInt8] = Array(repeating: 0, count: 16)
        let cell = zero.withUnsafeBytes { arena.pointee.append($0) }
        start.update(repeating: cell, count: count)
      }
      return
    }
    switch types[column] {
    case .bool: for row in 0..<count { start[row] = view.bool(row) ? 1 : 0 }
    case .float: for row in 0..<count { start[row] = UInt64(view.float(row).bitPattern) }
    case .string, .data:
      for row in 0..<count {
        if view.blobEntry(row) != 0, let cell = view.cell(row) {
          start[row] = arena.pointee.append(cell) | LeafScratch.blobBit
        } else {
          start[row] = arena.pointee.append(try view.checkedBytes(row))
        }
      }
    case .uuid:
      for row in 0..<count {
        let value = view.uuid(row)
        var bytes = (value.high.bigEndian, value.low.bigEndian)
        start[row] = withUnsafeBytes(of: &bytes) { arena.pointee.append($0) }
      }
    default: for row in 0..<count { start[row] = view.bits(row) }
    }
  }
}

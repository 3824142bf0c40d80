import ReefSystem

/// Packs rows of a `LeafScratch` into column nodes and a leaf node.
enum LeafBuilder {
  /// String and Data values up to this length lie in the column; longer ones in a blob node of their own.
  static let longestInline = 512
  /// A column of more bytes than this makes its leaf split.
  static let columnLimit = 16 * 1024

  /// A leaf node of rows `from ..< from + count`; its columns are new nodes.
  static func leaf(
    _ space: inout Space, _ scratch: LeafScratch, from: Int, count: Int
  ) throws(StoreError) -> UnsafeMutableRawPointer {
    let columns = scratch.columns
    let keys = try keyColumn(&space, scratch.keys + from, count)
    let leaf = try space.allocate(
      kind: NodeKind.leaf, form: 0, shape: UInt16(count),
      length: DataLayout.Leaf.columns + columns * DataLayout.entrySize)
    leaf.storeBytes(of: scratch.keys[from], toByteOffset: DataLayout.Leaf.base, as: Int64.self)
    leaf.storeBytes(of: keys, toByteOffset: DataLayout.Leaf.keys, as: UInt64.self)
    // Entries are whole at all times: nothing reads a leaf with garbage in it, not even an undo.
    for column in 0..<columns { setEntry(leaf, column, 0) }
    for column in 0..<columns {
      setEntry(leaf, column, try build(&space, scratch, column, from: from, count: count))
    }
    return leaf
  }

  @inline(__always) static func setEntry(_ leaf: UnsafeMutableRawPointer, _ column: Int, _ entry: UInt64) {
    leaf.storeBytes(
      of: entry, toByteOffset: DataLayout.Leaf.columns &+ column &* DataLayout.entrySize, as: UInt64.self)
  }

  /// Entry of the key column; 0 where keys are consecutive.
  static func keyColumn(
    _ space: inout Space, _ keys: UnsafeMutablePointer<Int64>, _ count: Int
  ) throws(StoreError) -> UInt64 {
    let base = keys[0]
    let span = UInt64(bitPattern: keys[count - 1] &- base)
    if span == UInt64(count - 1) { return 0 }
    let form: UInt8 =
      span <= 0xff
      ? ColumnForm.int8 : span <= 0xffff ? ColumnForm.int16 : span <= 0xffff_ffff ? ColumnForm.int32 : ColumnForm.int64
    let node = try space.allocate(
      kind: NodeKind.column, form: form, shape: UInt16(count),
      length: DataLayout.Column.payload + count << Int(form - 1))
    let values = node + DataLayout.Column.payload
    switch form {
    case ColumnForm.int8:
      for row in 0..<count {
        values.storeBytes(of: UInt8(truncatingIfNeeded: keys[row] &- base), toByteOffset: row, as: UInt8.self)
      }
    case ColumnForm.int16:
      for row in 0..<count {
        values.storeBytes(of: UInt16(truncatingIfNeeded: keys[row] &- base), toByteOffset: row &* 2, as: UInt16.self)
      }
    case ColumnForm.int32:
      for row in 0..<count {
        values.storeBytes(of: UInt32(truncatingIfNeeded: keys[row] &- base), toByteOffset: row &* 4, as: UInt32.self)
      }
    default:
      for row in 0..<count { values.storeBytes(of: keys[row] &- base, toByteOffset: row &* 8, as: Int64.self) }
    }
    return UInt64(space.ref(of: node))
  }

  /// Entry of a new column node, or 0 where all values are zero (nil, where the property is optional).
  static func build(
    _ space: inout Space, _ scratch: LeafScratch, _ column: Int, from: Int, count: Int
  ) throws(StoreError) -> UInt64 {
    var nulls = 0
    if scratch.optional[column] {
      for row in from..<(from + count) where scratch.isNull(column, row) { nulls += 1 }
      if nulls == count { return 0 }
    }
    let cells = UnsafePointer(scratch.cell(column, from))
    let node: UnsafeMutableRawPointer?
    switch scratch.types[column] {
    case .string, .data: node = try bytes(&space, scratch, column, from: from, count: count, hasNulls: nulls > 0)
    case .uuid: node = try uuids(&space, scratch, cells, count, hasNulls: nulls > 0)
    case .bool: node = try bools(&space, cells, count, hasNulls: nulls > 0, always: scratch.optional[column])
    case .float:
      node = try fixed(&space, cells, count, ColumnForm.float, hasNulls: nulls > 0, always: scratch.optional[column])
    case .double, .date, .uint64:
      node = try fixed(&space, cells, count, ColumnForm.int64, hasNulls: nulls > 0, always: scratch.optional[column])
    default: node = try ints(&space, cells, count, hasNulls: nulls > 0, always: scratch.optional[column])
    }
    guard let node else { return 0 }
    if nulls > 0 {
      let bitmap = (node + DataLayout.Column.payload).assumingMemoryBound(to: UInt64.self)
      for word in 0..<4 { bitmap[word] = 0 }
      for row in 0..<count where scratch.isNull(column, from + row) { bitmap[row >> 6] |= 1 << UInt64(row & 63) }
    }
    return UInt64(space.ref(of: node))
  }

  private static func start(_ hasNulls: Bool) -> Int {
    DataLayout.Column.payload + (hasNulls ? DataLayout.Column.bitmapSize : 0)
  }

  private static func ints(
    _ space: inout Space, _ cells: UnsafePointer<UInt64>, _ count: Int, hasNulls: Bool, always: Bool
  ) throws(StoreError) -> UnsafeMutableRawPointer? {
    var magnitude: Int64 = 0
    var any: UInt64 = 0
    for row in 0..<count {
      let value = Int64(bitPattern: cells[row])
      any |= cells[row]
      magnitude |= value ^ (value >> 63)
    }
    if any == 0, !always { return nil }
    let form =
      magnitude < 128
      ? ColumnForm.int8
      : magnitude < 32768 ? ColumnForm.int16 : magnitude < 1 << 31 ? ColumnForm.int32 : ColumnForm.int64
    return try fixed(&space, cells, count, form, hasNulls: hasNulls, always: true)
  }

  private static func fixed(
    _ space: inout Space, _ cells: UnsafePointer<UInt64>, _ count: Int, _ form: UInt8, hasNulls: Bool, always: Bool
  ) throws(StoreError) -> UnsafeMutableRawPointer? {
    if !always {
      var any: UInt64 = 0
      for row in 0..<count { any |= cells[row] }
      if any == 0 { return nil }
    }
    let start = start(hasNulls)
    let shift = form == ColumnForm.float ? 2 : Int(form - 1)
    let node = try space.allocate(
      kind: NodeKind.column, form: form | (hasNulls ? ColumnForm.hasNulls : 0), shape: UInt16(count),
      length: start + count << shift)
    let values = node + start
    switch shift {
    case 0:
      let target = values.assumingMemoryBound(to: UInt8.self)
      for row in 0..<count { target[row] = UInt8(truncatingIfNeeded: cells[row]) }
    case 1:
      let target = values.assumingMemoryBound(to: UInt16.self)
      for row in 0..<count { target[row] = UInt16(truncatingIfNeeded: cells[row]) }
    case 2:
      let target = values.assumingMemoryBound(to: UInt32.self)
      for row in 0..<count { target[row] = UInt32(truncatingIfNeeded: cells[row]) }
    default: values.copyMemory(from: cells, byteCount: count &* 8)
    }
    return node
  }

  private static func bools(
    _ space: inout Space, _ cells: UnsafePointer<UInt64>, _ count: Int, hasNulls: Bool, always: Bool
  ) throws(StoreError) -> UnsafeMutableRawPointer? {
    var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    var any: UInt64 = 0
    withUnsafeMutableBytes(of: &words) { buffer in
      let target = buffer.assumingMemoryBound(to: UInt64.self)
      var row = 0
      while row < count {
        var word: UInt64 = 0
        for bit in 0..<min(64, count - row) { word |= (cells[row &+ bit] & 1) &<< UInt64(bit) }
        target[row >> 6] = word
        any |= word
        row += 64
      }
    }
    if any == 0, !always { return nil }
    let start = start(hasNulls)
    let size = (count + 63) / 64 * 8
    let node = try space.allocate(
      kind: NodeKind.column, form: ColumnForm.bits | (hasNulls ? ColumnForm.hasNulls : 0), shape: UInt16(count),
      length: start + size)
    withUnsafeBytes(of: &words) {
      (node + start).copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(node), byteCount: size)
    }
    return node
  }

  private static func uuids(
    _ space: inout Space, _ scratch: LeafScratch, _ cells: UnsafePointer<UInt64>, _ count: Int, hasNulls: Bool
  ) throws(StoreError) -> UnsafeMutableRawPointer? {
    let start = start(hasNulls)
    let node = try space.allocate(
      kind: NodeKind.column, form: ColumnForm.uuid | (hasNulls ? ColumnForm.hasNulls : 0), shape: UInt16(count),
      length: start + count * 16)
    for row in 0..<count {
      let bytes = scratch.bytes(cells[row])
      let target = node + start + row * 16
      if bytes.count == 16, let from = bytes.baseAddress {
        target.copyMemory(from: from, byteCount: 16)
      } else {
        target.zero(16)
      }
    }
    return node
  }

  private static func bytes(
    _ space: inout Space, _ scratch: LeafScratch, _ column: Int, from: Int, count: Int, hasNulls: Bool
  ) throws(StoreError) -> UnsafeMutableRawPointer? {
    let cells = UnsafePointer(scratch.cell(column, from))
    let first = cells[0] &>> 32
    var isFixed = first > 0 && first < 128
    var total = 0
    var blobs: UInt64 = 0
    for row in 0..<count {
      let length = cells[row] &>> 32
      isFixed = isFixed && length == first
      blobs |= length
      total &+= Int(length & 0x7fff_ffff)
    }
    let hasBlobs = blobs >> 31 != 0
    if hasBlobs { isFixed = false }
    if total == 0, !scratch.optional[column] { return nil }
    let start = start(hasNulls) + (hasBlobs ? DataLayout.Column.bitmapSize : 0)
    let form = isFixed ? ColumnForm.fixed : total <= 0xffff ? ColumnForm.short : ColumnForm.long
    let offsets = ColumnForm.fixedSize(form, count: count, valueLength: Int(first & 0x7f))
    let node = try space.allocate(
      kind: NodeKind.column,
      form: form | (hasNulls ? ColumnForm.hasNulls : 0) | (hasBlobs ? ColumnForm.hasBlobs : 0),
      shape: UInt16(count) | (isFixed ? UInt16(first) << 9 : 0), length: start + offsets + (isFixed ? 0 : total))
    if hasBlobs {
      let bitmap = (node + start - DataLayout.Column.bitmapSize).assumingMemoryBound(to: UInt64.self)
      for word in 0..<4 { bitmap[word] = 0 }
      for row in 0..<count where cells[row] & LeafScratch.blobBit != 0 { bitmap[row >> 6] |= 1 << UInt64(row & 63) }
    }
    var end = 0
    let ends = node + start
    var target = isFixed ? ends : ends + offsets
    let arena = UnsafeRawPointer(scratch.arena.pointee.base)
    for row in 0..<count {
      let length = Int(cells[row] &>> 32 & 0x7fff_ffff)
      target.copyMemory(from: arena + Int(cells[row] & 0xffff_ffff), byteCount: length)
      target += length
      end &+= length
      if form == ColumnForm.short {
        ends.storeBytes(of: UInt16(truncatingIfNeeded: end), toByteOffset: row &* 2, as: UInt16.self)
      } else if form == ColumnForm.long {
        ends.storeBytes(of: UInt32(truncatingIfNeeded: end), toByteOffset: row &* 4, as: UInt32.self)
      }
    }
    return node
  }

  /// A blob node with these bytes.
  static func blob(_ space: inout Space, _ bytes: UnsafeRawBufferPointer) throws(StoreError) -> UInt64 {
    let node = try space.allocate(
      kind: NodeKind.blob, form: 0, shape: 0, length: DataLayout.Blob.data + bytes.count)
    node.storeBytes(of: UInt64(bytes.count), toByteOffset: DataLayout.Blob.bytes, as: UInt64.self)
    if let from = bytes.baseAddress { (node + DataLayout.Blob.data).copyMemory(from: from, byteCount: bytes.count) }
    return UInt64(space.ref(of: node))
  }
}

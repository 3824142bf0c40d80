/// A row that comes between others, or alone in its transaction, goes straight into the packed leaf: each column makes
/// room for one value. Unpacking and packing 256 rows for it would cost ten times that.
///
/// First every column is made sure to be the transaction's own and long enough, which can fail and changes no row; then
/// the values are moved, which cannot.
extension TableWriter {
  enum InPlace { case inserted, duplicate, needsOpening }

  /// Inserts the incoming row into the leaf that the path leads to, which has room for it. `needsOpening`: some value
  /// fits no form that its column has, and nothing was changed.
  func insertInPlace(
    _ space: inout Space, _ found: UnsafeMutableRawPointer, _ leaf: LeafView, key: Int64
  ) throws(StoreError) -> InPlace {
    let source = spare
    let row = LeafScratch.incoming
    let count = leaf.count
    guard leaf.columnCount == source.columns else { return .needsOpening }
    let at = leaf.lowerBound(key)
    if at < count, leaf.key(at) == key { return .duplicate }
    for column in 0..<source.columns {
      guard try prepare(leaf, column, source, row) else { return .needsOpening }
    }
    let node = try ownLeaf(&space, found)
    for column in 0..<source.columns where gaps[column].length > 0 {
      let old = gaps[column].node
      let grown = try Self.withRoom(&space, old, gaps[column].length)
      if grown == old { continue }
      LeafBuilder.setEntry(node, column, UInt64(space.ref(of: grown)))
      gaps[column].node = grown
    }
    try insertKey(&space, node, leaf, key, at: at)
    // From here on nothing fails.
    for column in 0..<source.columns where gaps[column].length > 0 {
      Self.insertValue(gaps[column], count: count, at: at, source, column, row)
    }
    if key < leaf.base {
      node.storeBytes(of: key, toByteOffset: DataLayout.Leaf.base, as: Int64.self)
      lowerEdge(to: key)
    }
    node.storeBytes(of: UInt16(count &+ 1), toByteOffset: DataLayout.Node.shape, as: UInt16.self)
    state.pointee.count &+= 1
    return .inserted
  }

  /// A column node that a value is about to be put into, and the length it then has; 0: the column is absent and stays so.
  struct ColumnGap {
    var node: UnsafeMutableRawPointer
    var length: Int
  }

  /// Lower bounds on the left edge of the (owned) path follow a first key that became smaller.
  func lowerEdge(to first: Int64) {
    for level in 0..<depth where path[level].index == 0 && !Self.isDense(path[level].node) {
      let keys = Self.keys(path[level].node)
      if first < keys[0] { keys[0] = first }
    }
  }

  // MARK: Whether it fits

  /// Notes the column's node and what length it will have. False: it has no place for the row's value.
  @inline(__always)
  private func prepare(
    _ leaf: LeafView, _ column: Int, _ source: LeafScratch, _ row: Int
  ) throws(StoreError) -> Bool {
    let kind = source.kinds[column]
    let cell = source.cell(column, row).pointee
    let isNull = kind & LeafScratch.isOptional != 0 && source.isNull(column, row)
    let view = try leaf.column(column)
    if view.isAbsent {
      gaps[column].length = 0
      return kind & LeafScratch.isOptional != 0 ? isNull : kind & LeafScratch.isUUID == 0 && cell &>> 32 | cell == 0
    }
    guard view.count == leaf.count, !isNull || view.nulls != nil else { return false }
    // The view was made of the node that this entry names.
    let node = UnsafeMutableRawPointer(
      mutating: leaf.view.base + Int(truncatingIfNeeded: (leaf.columnEntry(column) & 0xffff_ffff) &<< 4))
    let start = view.values - UnsafeRawPointer(node)
    let isBytes = kind & 1 != 0
    var length = start &+ ColumnForm.fixedSize(view.form, count: view.count &+ 1, valueLength: view.valueLength)
    switch view.form {
    case ColumnForm.int8, ColumnForm.int16, ColumnForm.int32:
      let unused = UInt64(64 &- 8 &<< Int(view.form &- 1))
      let signed = Int64(bitPattern: cell)
      guard !isBytes, (signed &<< Int64(unused)) &>> Int64(unused) == signed else { return false }
    case ColumnForm.bits, ColumnForm.int64, ColumnForm.float: if isBytes { return false }
    case ColumnForm.uuid:
      guard kind & LeafScratch.isUUID != 0, isNull || source.bytes(cell).count == 16 else { return false }
    case ColumnForm.fixed:
      guard isBytes, kind & LeafScratch.isUUID == 0, cell &>> 32 == UInt64(view.valueLength) else { return false }
    default:
      guard isBytes, kind & LeafScratch.isUUID == 0, cell & LeafScratch.blobBit == 0 else { return false }
      let added = Int(cell &>> 32)
      let total = Self.total(view)
      // Offsets out of order: opening the leaf tells of the damage.
      guard total <= view.byteCount, added <= LeafBuilder.longestInline, total &+ added <= LeafBuilder.columnLimit
      else { return false }
      length = length &+ total &+ added
    }
    gaps[column] = ColumnGap(node: node, length: length)
    return true
  }

  /// Bytes of all values of a column of varying lengths.
  private static func total(_ view: ColumnView) -> Int {
    if view.count == 0 { return 0 }
    return view.form == ColumnForm.short
      ? Int(view.values.load(fromByteOffset: (view.count &- 1) &* 2, as: UInt16.self))
      : Int(view.values.load(fromByteOffset: (view.count &- 1) &* 4, as: UInt32.self))
  }

  // MARK: Room

  /// The node where it is the transaction's own and its block has room, else a copy in a block that has.
  static func withRoom(
    _ space: inout Space, _ node: UnsafeMutableRawPointer, _ length: Int
  ) throws(StoreError) -> UnsafeMutableRawPointer {
    if space.isOwned(node), space.capacity(of: node) >= length { return node }
    let header = node.load(as: UInt64.self)
    let old = Int(header &>> 32)
    let copy = try space.allocate(
      kind: UInt8(truncatingIfNeeded: header), form: UInt8(truncatingIfNeeded: header &>> 8),
      shape: UInt16(truncatingIfNeeded: header &>> 16), length: max(old, length))
    copy.storeBytes(of: UInt32(truncatingIfNeeded: old), toByteOffset: DataLayout.Node.length, as: UInt32.self)
    (copy + DataLayout.Node.size).copyMemory(
      from: node + DataLayout.Node.size, byteCount: max(0, old &- DataLayout.Node.size))
    space.retire(node)
    return copy
  }

  // MARK: Keys

  /// Enters the key into the (owned) leaf's key column; the last step that can fail.
  private func insertKey(
    _ space: inout Space, _ node: UnsafeMutableRawPointer, _ leaf: LeafView, _ key: Int64, at: Int
  ) throws(StoreError) {
    let count = leaf.count
    let entry = node.load(fromByteOffset: DataLayout.Leaf.keys, as: UInt64.self)
    if entry & 0xffff_ffff == 0 {
      // Consecutive keys stay so at either end.
      if at == count ? key == leaf.base &+ Int64(count) : key == leaf.base &- 1 && at == 0 { return }
    } else if at > 0 {
      let delta = UInt64(bitPattern: key &- leaf.base)
      let last = at == count ? delta : leaf.delta(count &- 1)
      let shift = Int(leaf.keyForm &- 1)
      if last != UInt64(count), shift == 3 || delta &>> UInt64(8 &<< shift) == 0 {
        let old = try space.enter(entry, kind: NodeKind.column)
        let length = DataLayout.Column.payload &+ (count &+ 1) &<< shift
        let grown = try Self.withRoom(&space, old, length)
        if grown != old {
          node.storeBytes(of: UInt64(space.ref(of: grown)), toByteOffset: DataLayout.Leaf.keys, as: UInt64.self)
        }
        Self.makeGap(grown + DataLayout.Column.payload, count: count, at: at, width: 1 &<< shift)
        Self.storeWord(delta, grown + DataLayout.Column.payload, at, shift)
        Self.setSize(grown, count: count &+ 1, valueLength: 0, length: length)
        return
      }
    }
    leaf.copyKeys(to: spare.keys)
    Self.makeGap(UnsafeMutableRawPointer(spare.keys), count: count, at: at, width: 8)
    spare.keys[at] = key
    let built = try LeafBuilder.keyColumn(&space, spare.keys, count &+ 1)
    node.storeBytes(of: built, toByteOffset: DataLayout.Leaf.keys, as: UInt64.self)
    if entry & 0xffff_ffff != 0 { space.retire(space.pointer(UInt32(truncatingIfNeeded: entry))) }
  }

  // MARK: Values

  private static func insertValue(
    _ gap: ColumnGap, count: Int, at: Int, _ source: LeafScratch, _ column: Int, _ row: Int
  ) {
    let node = gap.node
    let form = node.load(fromByteOffset: DataLayout.Node.form, as: UInt8.self)
    let valueLength = Int(node.load(fromByteOffset: DataLayout.Node.shape, as: UInt16.self) &>> 9)
    let cell = source.cell(column, row).pointee
    let bytes = source.kinds[column] & 1 != 0 ? source.bytes(cell) : UnsafeRawBufferPointer(start: nil, count: 0)
    var values = node + DataLayout.Column.payload
    if form & ColumnForm.hasNulls != 0 {
      insertBit(values, words: 4, at: at, source.isNull(column, row))
      values += DataLayout.Column.bitmapSize
    }
    if form & ColumnForm.hasBlobs != 0 {
      insertBit(values, words: 4, at: at, false)
      values += DataLayout.Column.bitmapSize
    }
    switch form & ColumnForm.mask {
    case ColumnForm.bits:
      let words = (count &+ 64) &>> 6
      if count & 63 == 0 { values.storeBytes(of: 0, toByteOffset: count &>> 3, as: UInt64.self) }
      insertBit(values, words: words, at: at, cell & 1 != 0)
    case ColumnForm.int8, ColumnForm.int16, ColumnForm.int32, ColumnForm.int64:
      let shift = Int(form & ColumnForm.mask &- 1)
      makeGap(values, count: count, at: at, width: 1 &<< shift)
      storeWord(cell, values, at, shift)
    case ColumnForm.float:
      makeGap(values, count: count, at: at, width: 4)
      storeWord(cell, values, at, 2)
    case ColumnForm.uuid:
      makeGap(values, count: count, at: at, width: 16)
      (values + at &* 16).zero(16)
      if bytes.count == 16 { copy(bytes, to: values + at &* 16) }
    case ColumnForm.fixed:
      makeGap(values, count: count, at: at, width: valueLength)
      copy(bytes, to: values + at &* valueLength)
    case ColumnForm.short: insertBytes(bytes, values, count: count, at: at, UInt16.self)
    default: insertBytes(bytes, values, count: count, at: at, UInt32.self)
    }
    setSize(node, count: count &+ 1, valueLength: valueLength, length: gap.length)
  }

  @inline(__always)
  private static func copy(_ bytes: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer) {
    if let from = bytes.baseAddress { target.copyMemory(from: from, byteCount: bytes.count) }
  }

  @inline(__always)
  static func setSize(_ node: UnsafeMutableRawPointer, count: Int, valueLength: Int, length: Int) {
    node.storeBytes(
      of: UInt16(truncatingIfNeeded: count | valueLength &<< 9), toByteOffset: DataLayout.Node.shape, as: UInt16.self)
    node.storeBytes(of: UInt32(truncatingIfNeeded: length), toByteOffset: DataLayout.Node.length, as: UInt32.self)
  }

  @inline(__always)
  static func makeGap(_ values: UnsafeMutableRawPointer, count: Int, at: Int, width: Int) {
    let from = values + at &* width
    (from + width).copyMemory(from: from, byteCount: (count &- at) &* width)
  }

  @inline(__always)
  static func storeWord(_ bits: UInt64, _ values: UnsafeMutableRawPointer, _ row: Int, _ shift: Int) {
    switch shift {
    case 0: values.storeBytes(of: UInt8(truncatingIfNeeded: bits), toByteOffset: row, as: UInt8.self)
    case 1: values.storeBytes(of: UInt16(truncatingIfNeeded: bits), toByteOffset: row &* 2, as: UInt16.self)
    case 2: values.storeBytes(of: UInt32(truncatingIfNeeded: bits), toByteOffset: row &* 4, as: UInt32.self)
    default: values.storeBytes(of: bits, toByteOffset: row &* 8, as: UInt64.self)
    }
  }

  /// Moves the bits from `at` up by one.
  private static func insertBit(_ bitmap: UnsafeMutableRawPointer, words: Int, at: Int, _ value: Bool) {
    let bits = bitmap.assumingMemoryBound(to: UInt64.self)
    let first = at &>> 6
    var word = words &- 1
    while word > first {
      bits[word] = bits[word] &<< 1 | bits[word &- 1] &>> 63
      word &-= 1
    }
    let below = UInt64(1) &<< UInt64(at & 63) &- 1
    let old = bits[first]
    bits[first] = old & below | (old & ~below) &<< 1 | (value ? below &+ 1 : 0)
  }

  /// End offsets, then bytes: both move up, the bytes behind the new value by its length as well.
  @inline(__always)
  private static func insertBytes<End: FixedWidthInteger>(
    _ bytes: UnsafeRawBufferPointer, _ values: UnsafeMutableRawPointer, count: Int, at: Int, _: End.Type
  ) {
    let width = MemoryLayout<End>.stride
    let ends = values.assumingMemoryBound(to: End.self)
    let start = at == 0 ? 0 : Int(ends[at &- 1])
    let total = count == 0 ? 0 : Int(ends[count &- 1])
    let old = values + count &* width
    let new = old + width
    (new + (start &+ bytes.count)).copyMemory(from: old + start, byteCount: max(0, total &- start))
    new.copyMemory(from: old, byteCount: start)
    copy(bytes, to: new + start)
    makeGap(values, count: count, at: at, width: width)
    ends[at] = End(truncatingIfNeeded: start &+ bytes.count)
    let length = End(truncatingIfNeeded: bytes.count)
    for row in (at &+ 1)..<(count &+ 1) { ends[row] &+= length }
  }
}

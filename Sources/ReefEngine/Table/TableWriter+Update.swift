/// Changing one property of one row: in place in a column node of the transaction's own where the value fits, else that
/// one column is packed anew.
extension TableWriter {
  @usableFromInline package enum Outcome: Equatable { case missing, unchanged, changed }

  /// Sets a scalar property; `bits` as in `RowEncoder`.
  package func update(
    _ space: inout Space, key: Int64, column: Int, bits: UInt64
  ) throws(StoreError) -> Outcome {
    if covers(key) {
      if state.pointee.isDirty { return updateOpen(key: key, column: column, bits: bits) }
      state.pointee.isOpen = false
    }
    guard case .leaf(let found) = try locate(space, key) else { return .missing }
    let view = try leafView(space, found)
    let row = view.find(key)
    if row < 0 { return .missing }
    let old = try view.column(column)
    let wasNull = schema.properties[column].isOptional && old.isNull(row)
    if !wasNull, Self.bits(old, row, schema.properties[column].type) == bits { return .unchanged }
    let leaf = try ownLeaf(&space, found)
    let entry = view.columnEntry(column)
    if entry & 0xffff_ffff != 0, Self.fits(bits, old.form, schema.properties[column].type) {
      let node = try space.own(space.enter(entry, kind: NodeKind.column))
      LeafBuilder.setEntry(leaf, column, UInt64(space.ref(of: node)))
      let form = node.load(fromByteOffset: DataLayout.Node.form, as: UInt8.self)
      var start = DataLayout.Column.payload
      if form & ColumnForm.hasNulls != 0 {
        if wasNull {
          (node + start).assumingMemoryBound(to: UInt64.self)[row >> 6] &= ~(1 << UInt64(row & 63))
        }
        start += DataLayout.Column.bitmapSize
      }
      Self.store(bits, node + start, row, form & ColumnForm.mask)
      return .changed
    }
    try rebuild(&space, leaf, column) { _, scratch throws(StoreError) in
      scratch.cell(column, row).pointee = bits
      scratch.setNull(column, row, false)
    }
    return .changed
  }

  /// Sets a property to nil.
  package func updateNull(_ space: inout Space, key: Int64, column: Int) throws(StoreError) -> Outcome {
    guard schema.properties[column].isOptional else {
      throw .invalidArgument("\(schema.name).\(schema.properties[column].name) is not optional")
    }
    guard let (leaf, row) = try rebuildable(&space, key: key, column: column, isSame: { $0.isNull($1) }) else {
      return state.pointee.lastOutcome
    }
    try rebuild(&space, leaf, column) { space, scratch throws(StoreError) in
      if self.bytesColumns.contains(column) {
        try self.retireBlob(&space, scratch, scratch.cell(column, row).pointee)
      }
      scratch.cell(column, row).pointee = 0
      scratch.setNull(column, row, true)
    }
    return .changed
  }

  /// Sets a String, Data or UUID property.
  package func update(
    _ space: inout Space, key: Int64, column: Int, bytes: UnsafeRawBufferPointer
  ) throws(StoreError) -> Outcome {
    let isUUID = schema.properties[column].type == .uuid
    let optional = schema.properties[column].isOptional
    func isSame(_ view: ColumnView, _ row: Int) -> Bool {
      if optional, view.isNull(row) { return false }
      if isUUID {
        let value = view.uuid(row)
        var old = (value.high.bigEndian, value.low.bigEndian)
        return withUnsafeBytes(of: &old) { $0.elementsEqual(bytes) }
      }
      let old = view.bytes(row)
      return old.count == bytes.count && old.elementsEqual(bytes)
    }
    guard let (leaf, row) = try rebuildable(&space, key: key, column: column, isSame: isSame) else {
      return state.pointee.lastOutcome
    }
    try rebuild(&space, leaf, column) { space, scratch throws(StoreError) in
      if !isUUID { try self.retireBlob(&space, scratch, scratch.cell(column, row).pointee) }
      if bytes.count > LeafBuilder.longestInline {
        scratch.cell(column, row).pointee = try self.blobCell(&space, scratch, bytes)
      } else {
        scratch.cell(column, row).pointee = scratch.arena.pointee.append(bytes)
      }
      scratch.setNull(column, row, false)
    }
    if state.pointee.lastColumnLength > 2 * LeafBuilder.columnLimit {
      // The leaf grew too long: open it, so that packing it splits it.
      try open(&space, for: key)
      state.pointee.isDirty = true
      try flush(&space)
      state.pointee.isOpen = false
    }
    return .changed
  }

  /// The owned leaf and row to change; nil where there is nothing to do, and then `lastOutcome` says why.
  private func rebuildable(
    _ space: inout Space, key: Int64, column: Int, isSame: (ColumnView, Int) -> Bool
  ) throws(StoreError) -> (UnsafeMutableRawPointer, Int)? {
    if covers(key) {
      try flush(&space)
      state.pointee.isOpen = false
    }
    guard case .leaf(let found) = try locate(space, key) else {
      state.pointee.lastOutcome = .missing
      return nil
    }
    let view = try leafView(space, found)
    let row = view.find(key)
    if row < 0 {
      state.pointee.lastOutcome = .missing
      return nil
    }
    if isSame(try view.column(column), row) {
      state.pointee.lastOutcome = .unchanged
      return nil
    }
    return (try ownLeaf(&space, found), row)
  }

  /// The located leaf as the transaction's own, with a place for every column.
  @inline(__always)
  func ownLeaf(
    _ space: inout Space, _ found: UnsafeMutableRawPointer
  ) throws(StoreError) -> UnsafeMutableRawPointer {
    if space.isOwned(found) { return found }
    let depth = depth
    try ownPath(&space, levels: depth)
    let leaf = try space.own(found)
    setEntry(above: depth, UInt64(space.ref(of: leaf)))
    return leaf
  }

  private func rebuild(
    _ space: inout Space, _ leaf: UnsafeMutableRawPointer, _ column: Int,
    _ change: (inout Space, LeafScratch) throws(StoreError) -> Void
  ) throws(StoreError) {
    let view = try leafView(space, leaf)
    guard column < view.columnCount else { throw space.damaged("a leaf of \(schema.name) lacks a column") }
    spare.arena.pointee.used = 0
    spare.clearNulls()
    try spare.load(view, column)
    try change(&space, spare)
    let entry = view.columnEntry(column)
    let built = try LeafBuilder.build(&space, spare, column, from: 0, count: view.count)
    if built != 0 {
      let node = space.pointer(UInt32(truncatingIfNeeded: built))
      state.pointee.lastColumnLength = Int(node.load(fromByteOffset: DataLayout.Node.length, as: UInt32.self))
    }
    LeafBuilder.setEntry(leaf, column, built)
    if entry & 0xffff_ffff != 0 { space.retire(try space.enter(entry, kind: NodeKind.column)) }
  }

  private func updateOpen(key: Int64, column: Int, bits: UInt64) -> Outcome {
    let row = position(key)
    guard row < state.pointee.rows, scratch.keys[row] == key else { return .missing }
    if !scratch.isNull(column, row), scratch.cell(column, row).pointee == bits { return .unchanged }
    scratch.cell(column, row).pointee = bits
    if scratch.optional[column] { scratch.setNull(column, row, false) }
    return .changed
  }

  @inline(__always)
  static func bits(_ view: ColumnView, _ row: Int, _ type: ValueType) -> UInt64 {
    switch type {
    case .bool: view.bool(row) ? 1 : 0
    case .float: UInt64(view.float(row).bitPattern)
    default: view.bits(row)
    }
  }

  @inline(__always)
  static func fits(_ bits: UInt64, _ form: UInt8, _ type: ValueType) -> Bool {
    let value = Int64(bitPattern: bits)
    switch form {
    case ColumnForm.bits, ColumnForm.float, ColumnForm.int64: return true
    case ColumnForm.int8: return value == Int64(Int8(truncatingIfNeeded: value))
    case ColumnForm.int16: return value == Int64(Int16(truncatingIfNeeded: value))
    case ColumnForm.int32: return value == Int64(Int32(truncatingIfNeeded: value))
    default: return false
    }
  }

  @inline(__always)
  static func store(_ bits: UInt64, _ values: UnsafeMutableRawPointer, _ row: Int, _ form: UInt8) {
    switch form {
    case ColumnForm.bits:
      let word = values.assumingMemoryBound(to: UInt64.self) + row >> 6
      let bit = UInt64(1) &<< UInt64(row & 63)
      if bits & 1 != 0 { word.pointee |= bit } else { word.pointee &= ~bit }
    case ColumnForm.int8: values.storeBytes(of: UInt8(truncatingIfNeeded: bits), toByteOffset: row, as: UInt8.self)
    case ColumnForm.int16:
      values.storeBytes(of: UInt16(truncatingIfNeeded: bits), toByteOffset: row &* 2, as: UInt16.self)
    case ColumnForm.int32, ColumnForm.float:
      values.storeBytes(of: UInt32(truncatingIfNeeded: bits), toByteOffset: row &* 4, as: UInt32.self)
    default: values.storeBytes(of: bits, toByteOffset: row &* 8, as: UInt64.self)
    }
  }
}

/// The values of one property in one leaf, entered and checked.
///
/// The accessors never fail and never read outside of the node, provided that the row is below the leaf's count. A
/// value asked for as something that the form does not hold reads as zero, as does every value of an absent column.
/// Long values, which lie in nodes of their own, are followed by `bytes`.
@usableFromInline package struct ColumnView: @unchecked Sendable {
  @usableFromInline package let view: ReadView
  /// How the values are stored, without the flags; `ColumnView.absent` where there is no node.
  @usableFromInline package let form: UInt8
  /// Length of each value in form `fixed`.
  @usableFromInline package let valueLength: Int
  /// Values in the node, at least as many as the leaf has rows.
  @usableFromInline package let count: Int
  /// Four words; bit set: nil.
  @usableFromInline package let nulls: UnsafePointer<UInt64>?
  /// Four words; bit set: the value's bytes lie in a blob node.
  @usableFromInline package let blobs: UnsafePointer<UInt64>?
  @usableFromInline package let values: UnsafeRawPointer
  /// Bytes after the end offsets in forms `short` and `long`.
  @usableFromInline package let byteCount: Int

  @inlinable package static var absent: UInt8 { 0x0f }

  @inlinable @inline(__always)
  init(
    view: ReadView, form: UInt8, valueLength: Int, count: Int, nulls: UnsafePointer<UInt64>?,
    blobs: UnsafePointer<UInt64>?, values: UnsafeRawPointer, byteCount: Int
  ) {
    self.view = view
    self.form = form
    self.valueLength = valueLength
    self.count = count
    self.nulls = nulls
    self.blobs = blobs
    self.values = values
    self.byteCount = byteCount
  }

  /// The column that has no node because all its values are zero: nil, false, 0, empty.
  @inlinable @inline(__always)
  package init(absentIn view: ReadView) {
    self.init(
      view: view, form: Self.absent, valueLength: 0, count: 0, nulls: nil, blobs: nil, values: view.base, byteCount: 0)
  }

  @inlinable package var isAbsent: Bool { @inline(__always) get { form == Self.absent } }
}

extension ReadView {
  /// Enters a column node that must hold at least `count` values; nil where it is not sound.
  ///
  /// Reading a property is this and a load, so it is inlined wherever properties are read; why a node is not sound is
  /// told by `column(_:count:)`, out of the way.
  @inlinable @inline(__always)
  package func soundColumn(_ entry: UInt64, count: Int) -> ColumnView? {
    let offset = (entry & 0xffff_ffff) &<< UInt64(DataLayout.grainShift)
    guard offset &+ UInt64(DataLayout.Node.size) <= limit else { return provenColumn(entry, count: count) }
    let pointer = base + Int(truncatingIfNeeded: offset)
    let node = NodeView(pointer: pointer, head: pointer.load(as: UInt64.self))
    guard offset &+ node.head &>> 32 <= limit else { return nil }
    return soundColumn(node, count: count)
  }

  @inline(never) @usableFromInline
  func provenColumn(_ entry: UInt64, count: Int) -> ColumnView? {
    guard let node = provenNode(entry) else { return nil }
    return soundColumn(node, count: count)
  }

  @inlinable @inline(__always)
  func soundColumn(_ node: NodeView, count: Int) -> ColumnView? {
    guard node.kind == NodeKind.column else { return nil }
    let pointer = node.pointer
    let form = node.form & ColumnForm.mask
    var payload = DataLayout.Column.payload
    var nulls: UnsafePointer<UInt64>?
    var blobs: UnsafePointer<UInt64>?
    if node.form & (ColumnForm.hasNulls | ColumnForm.hasBlobs) != 0 {
      if node.form & ColumnForm.hasNulls != 0 {
        nulls = (pointer + payload).assumingMemoryBound(to: UInt64.self)
        payload &+= DataLayout.Column.bitmapSize
      }
      if node.form & ColumnForm.hasBlobs != 0 {
        blobs = (pointer + payload).assumingMemoryBound(to: UInt64.self)
        payload &+= DataLayout.Column.bitmapSize
      }
    }
    let own = node.count
    let room = node.length &- payload
    let needed = ColumnForm.fixedSize(form, count: own, valueLength: node.valueLength)
    guard own >= count, own <= DataLayout.Leaf.capacity, needed >= 0, needed <= room else { return nil }
    return ColumnView(
      view: self, form: form, valueLength: node.valueLength, count: own, nulls: nulls, blobs: blobs,
      values: pointer + payload, byteCount: room &- needed)
  }

  /// Enters a column that was found sound before for all rows of its leaf. Nil where that is not plain: absent columns,
  /// bytes of any length, the end of the file.
  ///
  /// What the node says is read again, since another process might scribble over the file: so much is checked that
  /// nothing beyond the version can be read.
  @inlinable @inline(__always)
  package func checkedColumn(_ entry: UInt64) -> ColumnView? {
    let offset = (entry & 0xffff_ffff) &<< UInt64(DataLayout.grainShift)
    guard entry != 0, offset &+ Self.mostColumnBytes <= limit else { return nil }
    let pointer = base + Int(truncatingIfNeeded: offset)
    let node = NodeView(pointer: pointer, head: pointer.load(as: UInt64.self))
    guard node.form & ~ColumnForm.hasNulls <= ColumnForm.fixed else { return nil }
    let payload = pointer + DataLayout.Column.payload
    let hasNulls = node.form & ColumnForm.hasNulls != 0
    return ColumnView(
      view: self, form: node.form & ColumnForm.mask, valueLength: node.valueLength, count: DataLayout.Leaf.capacity,
      nulls: hasNulls ? payload.assumingMemoryBound(to: UInt64.self) : nil, blobs: nil,
      values: payload + (hasNulls ? DataLayout.Column.bitmapSize : 0), byteCount: 0)
  }

  /// More than a column of 256 values of a fixed width takes.
  @inlinable static var mostColumnBytes: UInt64 { 1 &<< 15 }

  /// Enters a column node that must hold at least `count` values.
  @inlinable @inline(__always)
  package func column(_ entry: UInt64, count: Int) throws(StoreError) -> ColumnView {
    if let column = soundColumn(entry, count: count) { return column }
    throw unsoundColumn(entry)
  }

  @inline(never) @usableFromInline
  package func unsoundColumn(_ entry: UInt64) -> StoreError {
    do throws(StoreError) {
      _ = try node(entry, kind: NodeKind.column, length: DataLayout.Column.payload)
    } catch {
      return error
    }
    return damaged("a column node is not sound")
  }
}

extension ColumnForm {
  /// Bytes taken by values (or end offsets) of a fixed width; below 0 for a form that does not exist.
  @inlinable @inline(__always)
  package static func fixedSize(_ form: UInt8, count: Int, valueLength: Int) -> Int {
    if form == fixed { return count &* valueLength }
    guard form <= long else { return -1 }
    // A nibble per form: the logarithm of the width; bits come in words of 64.
    let words = form == bits ? (count &+ 63) &>> 6 : count
    return words &<< (0x21_0423_2103 &>> (Int(form) &* 4) & 0xf)
  }
}

extension ColumnView {
  /// Whether the row's value is nil. Ask only for optional properties: an absent column is all nil.
  @inlinable @inline(__always)
  package func isNull(_ row: Int) -> Bool {
    guard let nulls else { return isAbsent }
    return nulls[row &>> 6] &>> UInt64(truncatingIfNeeded: row & 63) & 1 != 0
  }

  /// An integer of any width. A switch, not arithmetic on the width: branches are predicted, so that the value is
  /// fetched while the node's header is still on its way.
  @inlinable @inline(__always)
  package func int(_ row: Int) -> Int64 {
    switch form {
    case ColumnForm.int8: Int64(values.load(fromByteOffset: row, as: Int8.self))
    case ColumnForm.int16: Int64(values.load(fromByteOffset: row &* 2, as: Int16.self))
    case ColumnForm.int32: Int64(values.load(fromByteOffset: row &* 4, as: Int32.self))
    case ColumnForm.int64: values.load(fromByteOffset: row &* 8, as: Int64.self)
    default: 0
    }
  }

  /// The bit pattern: UInt64 values, or the IEEE bits of doubles.
  @inlinable @inline(__always)
  package func bits(_ row: Int) -> UInt64 { UInt64(bitPattern: int(row)) }

  /// A Double, or a Date's seconds.
  @inlinable @inline(__always)
  package func double(_ row: Int) -> Double {
    form == ColumnForm.int64 ? values.load(fromByteOffset: row &* 8, as: Double.self) : 0
  }

  @inlinable @inline(__always)
  package func float(_ row: Int) -> Float {
    form == ColumnForm.float ? values.load(fromByteOffset: row &* 4, as: Float.self) : 0
  }

  @inlinable @inline(__always)
  package func bool(_ row: Int) -> Bool {
    guard form == ColumnForm.bits else { return false }
    let word = values.load(fromByteOffset: (row &>> 6) &* 8, as: UInt64.self)
    return word &>> UInt64(truncatingIfNeeded: row & 63) & 1 != 0
  }

  @inlinable @inline(__always)
  package func uuid(_ row: Int) -> UUIDBytes {
    guard form == ColumnForm.uuid else { return UUIDBytes(high: 0, low: 0) }
    let at = values + row &* 16
    return UUIDBytes(
      high: UInt64(bigEndian: at.load(as: UInt64.self)),
      low: UInt64(bigEndian: at.load(fromByteOffset: 8, as: UInt64.self)))
  }
}

extension ColumnView {
  /// The bytes of a String or Data value, in place. What damage makes unreadable reads as empty; where that matters,
  /// ask `checkedBytes`.
  @inlinable @inline(__always)
  package func bytes(_ row: Int) -> UnsafeRawBufferPointer {
    if let blobs, blobs[row &>> 6] &>> UInt64(truncatingIfNeeded: row & 63) & 1 != 0 { return blobBytes(row) }
    return cell(row) ?? UnsafeRawBufferPointer(start: values, count: 0)
  }

  /// Long values, out of line; it releases nothing that its caller sees, and says so.
  @_effects(releasenone) @inline(never) @usableFromInline
  func blobBytes(_ row: Int) -> UnsafeRawBufferPointer {
    (try? blob(cell(row))) ?? UnsafeRawBufferPointer(start: values, count: 0)
  }

  /// The bytes of a String or Data value, in place.
  @inlinable package func checkedBytes(_ row: Int) throws(StoreError) -> UnsafeRawBufferPointer {
    let cell = cell(row)
    if let blobs, blobs[row &>> 6] &>> UInt64(truncatingIfNeeded: row & 63) & 1 != 0 { return try blob(cell) }
    guard let cell else { throw view.damaged("the offsets of a column are not in order") }
    return cell
  }

  /// The bytes that lie in the node itself; nil where the end offsets lead out of it.
  @inlinable @inline(__always)
  func cell(_ row: Int) -> UnsafeRawBufferPointer? {
    let start: Int
    let end: Int
    let bytes: UnsafeRawPointer
    switch form {
    case ColumnForm.fixed:
      return UnsafeRawBufferPointer(start: values + row &* valueLength, count: valueLength)
    case ColumnForm.short:
      start = row == 0 ? 0 : Int(values.load(fromByteOffset: (row &- 1) &* 2, as: UInt16.self))
      end = Int(values.load(fromByteOffset: row &* 2, as: UInt16.self))
      bytes = values + count &* 2
    case ColumnForm.long:
      start = row == 0 ? 0 : Int(values.load(fromByteOffset: (row &- 1) &* 4, as: UInt32.self))
      end = Int(values.load(fromByteOffset: row &* 4, as: UInt32.self))
      bytes = values + count &* 4
    default:
      return UnsafeRawBufferPointer(start: values, count: 0)
    }
    guard start <= end, end <= byteCount else { return nil }
    return UnsafeRawBufferPointer(start: bytes + start, count: end &- start)
  }

  /// Follows the cell of a long value: {entry of a blob node, length}.
  @inlinable
  func blob(_ cell: UnsafeRawBufferPointer?) throws(StoreError) -> UnsafeRawBufferPointer {
    guard let cell, cell.count == 16, let at = cell.baseAddress else { throw view.damaged("the cell of a blob") }
    let bytes = try view.blob(at.loadUnaligned(as: UInt64.self))
    let length = at.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    guard length <= UInt64(truncatingIfNeeded: bytes.count) else { throw view.damaged("a blob is too short") }
    return UnsafeRawBufferPointer(start: bytes.baseAddress, count: Int(truncatingIfNeeded: length))
  }

  /// Entry of the blob node that holds the row's bytes; 0 where they lie in the column.
  @inlinable package func blobEntry(_ row: Int) -> UInt64 {
    guard let blobs, blobs[row &>> 6] &>> UInt64(truncatingIfNeeded: row & 63) & 1 != 0,
      let cell = cell(row), cell.count == 16, let at = cell.baseAddress
    else { return 0 }
    return at.loadUnaligned(as: UInt64.self)
  }
}

/// Two encoded keys, old and new, for keeping indexes: kept with the engine, so that no change allocates.
package struct IndexScratch: ~Copyable {
  var new = IndexKey()
  var old = IndexKey()
}

extension IndexKey {
  /// Encodes the value in a cell of a leaf that is being built.
  mutating func encode(_ scratch: LeafScratch, _ column: Int, _ row: Int, isOptional: Bool) {
    if isOptional, scratch.isNull(column, row) { return encodeNil() }
    let cell = scratch.cell(column, row).pointee
    switch scratch.types[column] {
    case .bool: encode(bool: cell & 1 != 0, isOptional: isOptional)
    case .uint64: encode(uint: cell, isOptional: isOptional)
    case .double, .date: encode(double: Double(bitPattern: cell), isOptional: isOptional)
    case .float: encode(float: Float(bitPattern: UInt32(truncatingIfNeeded: cell)), isOptional: isOptional)
    case .string, .data: encode(bytes: scratch.bytes(cell), isOptional: isOptional)
    case .uuid: encode(uuid: UUIDBytes(scratch.bytes(cell)), isOptional: isOptional)
    default: encode(int: Int64(bitPattern: cell), isOptional: isOptional)
    }
  }

  /// Encodes the value of a row in the tree.
  mutating func encode(_ column: ColumnView, _ row: Int, type: ValueType, isOptional: Bool) {
    if isOptional, column.isNull(row) { return encodeNil() }
    switch type {
    case .bool: encode(bool: column.bool(row), isOptional: isOptional)
    case .uint64: encode(uint: column.bits(row), isOptional: isOptional)
    case .double, .date: encode(double: column.double(row), isOptional: isOptional)
    case .float: encode(float: column.float(row), isOptional: isOptional)
    case .string, .data: encode(bytes: column.bytes(row), isOptional: isOptional)
    case .uuid: encode(uuid: column.uuid(row), isOptional: isOptional)
    default: encode(int: column.int(row), isOptional: isOptional)
    }
  }
}

extension UUIDBytes {
  /// From sixteen bytes; zero where there are not as many.
  package init(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 16 else {
      self.init(high: 0, low: 0)
      return
    }
    self.init(
      high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
      low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
  }
}

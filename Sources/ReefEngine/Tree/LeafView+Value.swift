extension LeafView {
  /// A property's value in boxed form: for tools, dynamic access and tests.
  package func value(_ row: Int, column: Int, in schema: TypeSchema) throws(StoreError) -> Value {
    if case .integer(column) = schema.keyKind { return .int(key(row)) }
    let property = schema.properties[column]
    return try self.column(column).value(row, type: property.type, isOptional: property.isOptional)
  }
}

extension ColumnView {
  /// The row's value in boxed form.
  package func value(_ row: Int, type: ValueType, isOptional: Bool) throws(StoreError) -> Value {
    if isOptional, isNull(row) { return .null }
    switch type {
    case .bool: return .bool(bool(row))
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32: return .int(int(row))
    case .uint64: return .uint(bits(row))
    case .float: return .float(float(row))
    case .double: return .double(double(row))
    case .date: return .date(double(row))
    case .string: return .string(String(decoding: try checkedBytes(row), as: UTF8.self))
    case .data: return .data([UInt8](try checkedBytes(row)))
    case .uuid: return .uuid(uuid(row))
    }
  }
}

import CReefKernels

/// Sum, average, least and greatest of one property over the objects that match a condition. nil does not take part.
///
/// Sums are exact: integers in 128 bits, floating point in a superaccumulator that rounds once at the end, so that the
/// answer does not depend on the order of the rows nor on the shape of the tree.
package struct ColumnAggregate {
  package let type: ValueType
  /// Values that are not nil.
  package private(set) var count = 0
  private var integers = reef_int_aggregate()
  private var reals = reef_double_aggregate()
  /// Least and greatest of the types that are no numbers.
  private var others: (least: Value, greatest: Value) = (.null, .null)

  fileprivate init(_ type: ValueType) {
    self.type = type
    reef_aggregate_begin(&reals)
    let unsigned = type == .uint64
    integers.least = unsigned ? Int64(bitPattern: .max) : .max
    integers.most = unsigned ? 0 : .min
  }

  /// Sum of an integer property (0 without values); nil for other types.
  package var integerSum: Int128? {
    isInteger ? Int128(integers.high) << 64 | Int128(integers.low) : nil
  }

  /// Sum as a property value: `.int`, or `.uint` for UInt64, where it fits, else `.double`. Null for types that have
  /// no sum.
  package var sum: Value {
    if let integerSum {
      if type == .uint64 { return UInt64(exactly: integerSum).map(Value.uint) ?? .double(Double(integerSum)) }
      return Int64(exactly: integerSum).map(Value.int) ?? .double(Double(integerSum))
    }
    return isReal ? .double(withUnsafePointer(to: reals, reef_aggregate_sum)) : .null
  }

  /// Mean of the values; nil where there is none, or where the type has no sum.
  package var average: Double? {
    guard count > 0 else { return nil }
    switch sum {
    case .double(let sum): return sum / Double(count)
    case .int(let sum): return Double(sum) / Double(count)
    case .uint(let sum): return Double(sum) / Double(count)
    default: return nil
    }
  }

  package var minimum: Value { bound(isLeast: true) }
  package var maximum: Value { bound(isLeast: false) }

  private func bound(isLeast: Bool) -> Value {
    guard count > 0 else { return .null }
    if isInteger {
      let bits = isLeast ? integers.least : integers.most
      return type == .uint64 ? .uint(UInt64(bitPattern: bits)) : .int(bits)
    }
    guard isReal else { return isLeast ? others.least : others.greatest }
    // NaN counts only where there is nothing else; 0.0 and -0.0 are one value.
    let real = reals.numbers == 0 ? .nan : (isLeast ? reals.least : reals.most) + 0.0
    return type == .float ? .float(Float(real)) : type == .date ? .date(real) : .double(real)
  }

  /// Eight bytes a value, however small it is.
  fileprivate var isWide: Bool { type == .double || type == .date }
  private var isReal: Bool { type == .double || type == .date || type == .float }
  private var isInteger: Bool {
    switch type {
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64: true
    default: false
    }
  }
}

extension ColumnAggregate {
  fileprivate mutating func add(
    keysOf leaf: LeafView, _ rows: Selection, unpackedTo keys: UnsafeMutablePointer<Int64>
  ) {
    count &+= rows.count
    leaf.copyKeys(to: keys)
    withUnsafeBytes(of: rows.words) {
      reef_aggregate_int(keys, 8, 0, $0.baseAddress!.assumingMemoryBound(to: UInt64.self), &integers)
    }
  }

  fileprivate mutating func add(_ column: ColumnView, _ rows: Selection, isOptional: Bool) throws(StoreError) {
    var rows = rows
    if isOptional {
      if column.isAbsent { return }
      if let nulls = column.nulls { rows = rows.subtracting(Selection(nulls)) }
    }
    guard !rows.isEmpty else { return }
    count &+= rows.count
    guard isInteger || isReal else { return try addOther(column, rows) }
    let isHeld =
      isInteger
      ? column.form >= ColumnForm.int8 && column.form <= ColumnForm.int64 && (type != .uint64 || column.form == 4)
      : column.form == (type == .float ? ColumnForm.float : ColumnForm.int64)
    guard isHeld else { return addZeroes(rows.count) }
    withUnsafeBytes(of: rows.words) {
      let mask = $0.baseAddress!.assumingMemoryBound(to: UInt64.self)
      if isInteger {
        reef_aggregate_int(column.values, 1 &<< UInt32(column.form &- 1), type == .uint64 ? 1 : 0, mask, &integers)
      } else if type == .float {
        reef_aggregate_float(column.values, mask, &reals)
      } else {
        reef_aggregate_double(column.values, mask, &reals)
      }
    }
  }

  /// An absent column of a type that is not optional.
  private mutating func addZeroes(_ count: Int) {
    if isReal {
      reals.numbers &+= UInt64(count)
      reals.least = min(reals.least, 0)
      reals.most = max(reals.most, 0)
    } else if type == .uint64 {
      integers.least = 0
    } else {
      integers.least = min(integers.least, 0)
      integers.most = max(integers.most, 0)
    }
  }

  private mutating func addOther(_ column: ColumnView, _ rows: Selection) throws(StoreError) {
    _ = try rows.forEach { (row) throws(StoreError) in
      let value = try column.value(row, type: type, isOptional: false)
      if others.least == .null || Self.precedes(value, others.least) { others.least = value }
      if others.greatest == .null || Self.precedes(others.greatest, value) { others.greatest = value }
      return true
    }
  }

  private static func precedes(_ a: Value, _ b: Value) -> Bool {
    switch (a, b) {
    case (.bool(let x), .bool(let y)): !x && y
    case (.uuid(let x), .uuid(let y)): x < y
    case (.string(let x), .string(let y)): x.utf8.lexicographicallyPrecedes(y.utf8)
    case (.data(let x), .data(let y)): x.lexicographicallyPrecedes(y)
    default: false
    }
  }
}

extension TableView {
  /// Aggregates one property over the rows that match.
  package func aggregate(
    column: Int, in schema: TypeSchema, where predicate: CompiledPredicate? = nil
  ) throws(StoreError) -> ColumnAggregate {
    guard schema.properties.indices.contains(column) else {
      throw .invalidArgument("\(schema.name) has no property at position \(column)")
    }
    let property = schema.properties[column]
    var result = ColumnAggregate(property.type)
    if case .integer(column) = schema.keyKind {
      let keys = UnsafeMutablePointer<Int64>.allocate(capacity: DataLayout.Leaf.capacity)
      defer { keys.deallocate() }
      try forEachSelection(where: predicate) { (leaf, rows) throws(StoreError) in
        result.add(keysOf: leaf, rows, unpackedTo: keys)
        return true
      }
    } else {
      let reading = (column: column, lines: result.isWide ? 33 : 8)
      try forEachSelection(where: predicate, reading: reading) { (leaf, rows) throws(StoreError) in
        try result.add(leaf.column(column), rows, isOptional: property.isOptional)
        return true
      }
    }
    return result
  }
}

extension TableView {
  /// Aggregates one property over the rows with these object keys.
  package func aggregate(
    column: Int, in schema: TypeSchema, keys: [Int64]
  ) throws(StoreError) -> ColumnAggregate {
    guard schema.properties.indices.contains(column) else {
      throw .invalidArgument("\(schema.name) has no property at position \(column)")
    }
    let property = schema.properties[column]
    var isKey = false
    if case .integer(column) = schema.keyKind { isKey = true }
    var result = ColumnAggregate(property.type)
    let unpacked = UnsafeMutablePointer<Int64>.allocate(capacity: DataLayout.Leaf.capacity)
    defer { unpacked.deallocate() }
    for key in keys {
      guard let position = try find(key: key) else { continue }
      let row = Selection(row: position.row)
      if isKey {
        result.add(keysOf: position.leaf, row, unpackedTo: unpacked)
      } else {
        try result.add(position.leaf.column(column), row, isOptional: property.isOptional)
      }
    }
    return result
  }
}

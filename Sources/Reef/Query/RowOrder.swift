/// Compares rows by an order's keys, and where all tie by object key.
struct RowOrder {
  let keys: [SortKey]
  let schema: TypeSchema

  /// The values that decide, of one row.
  func values(_ position: RowPosition) throws(StoreError) -> [Value] {
    var values: [Value] = []
    values.reserveCapacity(keys.count)
    for key in keys { values.append(try position.leaf.value(position.row, column: key.column, in: schema)) }
    return values
  }

  func isBefore(_ left: ([Value], Int64), _ right: ([Value], Int64)) -> Bool {
    for (index, key) in keys.enumerated() {
      let order = left.0[index].order(right.0[index])
      if order != 0 { return key.ascending ? order < 0 : order > 0 }
    }
    return left.1 < right.1
  }
}

extension Value {
  /// Below 0: this one comes first; 0: equal; above 0: after `other`. The order of docs/semantics.md, for two values of
  /// one property: nil, then NaN, then numbers; text and Data by their bytes.
  func order(_ other: Value) -> Int {
    switch (self, other) {
    case (.null, .null): 0
    case (.null, _): -1
    case (_, .null): 1
    case (.bool(let a), .bool(let b)): (a ? 1 : 0) - (b ? 1 : 0)
    case (.int(let a), .int(let b)): a < b ? -1 : (a == b ? 0 : 1)
    case (.uint(let a), .uint(let b)): a < b ? -1 : (a == b ? 0 : 1)
    case (.float(let a), .float(let b)): Self.order(Double(a), Double(b))
    case (.double(let a), .double(let b)), (.date(let a), .date(let b)): Self.order(a, b)
    case (.string(let a), .string(let b)): Self.order(a.utf8, b.utf8)
    case (.data(let a), .data(let b)): Self.order(a, b)
    case (.uuid(let a), .uuid(let b)):
      a.high != b.high ? (a.high < b.high ? -1 : 1) : (a.low < b.low ? -1 : (a.low == b.low ? 0 : 1))
    default: 0
    }
  }

  private static func order(_ a: Double, _ b: Double) -> Int {
    if a.isNaN { return b.isNaN ? 0 : -1 }
    return b.isNaN ? 1 : (a < b ? -1 : (a == b ? 0 : 1))
  }

  private static func order(_ a: some Sequence<UInt8>, _ b: some Sequence<UInt8>) -> Int {
    a.lexicographicallyPrecedes(b) ? -1 : (b.lexicographicallyPrecedes(a) ? 1 : 0)
  }
}

/// One object in a write transaction, untyped: what the `Mutable` of a ``Model`` reads from and writes to.
public struct ObjectChange {
  @usableFromInline let transaction: Transaction
  @usableFromInline let place: ChangedRow

  @inlinable init(transaction: Transaction, place: ChangedRow) {
    self.transaction = transaction
    self.place = place
  }

  /// The value of an Int key. A key never changes.
  @inlinable public var integerKey: Int { Int(truncatingIfNeeded: place.key) }

  /// What the transaction has for this property so far.
  @inlinable public func value<V: Storable>(_ column: Int) -> V { transaction.row(place).value(column) }

  /// Changes a property. Where that fails, the update that this belongs to throws.
  @inlinable public func set<V: Storable>(_ column: Int, _ value: V) {
    // Decided where the type is known: a number is never boxed.
    switch value.storedValue {
    case .int(let value): transaction.set(UInt64(bitPattern: value), column: column, of: place)
    case .uint(let value): transaction.set(value, column: column, of: place)
    case .bool(let value): transaction.set(value ? 1 : 0, column: column, of: place)
    case .double(let value), .date(let value): transaction.set(value.bitPattern, column: column, of: place)
    case .float(let value): transaction.set(UInt64(value.bitPattern), column: column, of: place)
    case let other: transaction.set(other, column: column, of: place)
    }
  }
}

/// An object that is being changed: where it was found. Nothing in it is counted, so that it costs nothing to hand on.
@usableFromInline struct ChangedRow {
  @usableFromInline let leaf: UnsafeRawPointer
  @usableFromInline let key: Int64
  @usableFromInline let generation: UInt32
  @usableFromInline let table: UInt16
  @usableFromInline let row: UInt16
  @usableFromInline let columnCount: UInt32

  init(_ row: Row) {
    leaf = row.leaf
    key = row.key
    generation = row.generation
    table = row.table
    self.row = row.row
    columnCount = UInt32(truncatingIfNeeded: row.columns.count)
  }

  init(_ found: FoundRow, key: Int64, table: Int, generation: UInt32) {
    leaf = found.leaf
    self.key = key
    self.generation = generation
    self.table = UInt16(truncatingIfNeeded: table)
    row = UInt16(truncatingIfNeeded: found.row)
    columnCount = UInt32(truncatingIfNeeded: found.columns)
  }
}

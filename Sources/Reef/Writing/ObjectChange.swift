/// One object in a write transaction, untyped: what the `Mutable` of a ``Model`` reads from and writes to.
public struct ObjectChange {
  @usableFromInline let transaction: Transaction
  @usableFromInline let row: Row

  @inlinable init(transaction: Transaction, row: Row) {
    self.transaction = transaction
    self.row = row
  }

  /// The value of an Int key. A key never changes.
  @inlinable public var integerKey: Int { row.integerKey }

  /// What the transaction has for this property so far.
  @inlinable public func value<V: Storable>(_ column: Int) -> V { row.value(column) }

  /// Changes a property. Where that fails, the update that this belongs to throws.
  @inlinable public func set<V: Storable>(_ column: Int, _ value: V) {
    transaction.set(value.storedValue, column: column, of: row)
  }
}

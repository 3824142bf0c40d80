/// One object in a write transaction, untyped: what the `Mutable` of a ``Model`` reads from and writes to.
public struct ObjectChange {
  let transaction: Transaction
  let row: Row

  /// The value of an Int key. A key never changes.
  public var integerKey: Int { row.integerKey }

  /// What the transaction has for this property so far.
  public func value<V: Storable>(_ column: Int) -> V { row.value(column) }

  /// Changes a property. Where that fails, the update that this belongs to throws.
  public func set<V: Storable>(_ column: Int, _ value: V) {
    transaction.set(value, column: column, of: row)
  }
}

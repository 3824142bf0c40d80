// Sums and the like over one property. nil values do not take part.
extension Results {
  /// The sum of an integer property; 0 for no objects. A sum beyond the range of the type is its nearest end.
  public func sum<V: Summable>(of property: KeyPath<M.Columns, Column<M, V>>) -> V.Sum {
    V.sum(stored: aggregate(column(property))?.sum ?? .null)
  }

  /// The sum of an optional property's values; 0 where there is none.
  public func sum<V: Summable>(of property: KeyPath<M.Columns, Column<M, V?>>) -> V.Sum {
    V.sum(stored: aggregate(column(property))?.sum ?? .null)
  }

  /// The mean of a number property; nil for no objects.
  public func average<V: Summable>(of property: KeyPath<M.Columns, Column<M, V>>) -> Double? {
    aggregate(column(property))?.average
  }

  /// The mean of an optional number property's values; nil where there is none.
  public func average<V: Summable>(of property: KeyPath<M.Columns, Column<M, V?>>) -> Double? {
    aggregate(column(property))?.average
  }

  /// The least value of a property; nil for no objects. NaN counts only where there is nothing else.
  public func min<V: OrderedStorable & StorableScalar>(of property: KeyPath<M.Columns, Column<M, V>>) -> V? {
    aggregate(column(property)).flatMap { V(stored: $0.minimum) }
  }

  /// The least value of an optional property; nil where there is none.
  public func min<V: OrderedStorable & StorableScalar>(of property: KeyPath<M.Columns, Column<M, V?>>) -> V? {
    aggregate(column(property)).flatMap { V(stored: $0.minimum) }
  }

  /// The greatest value of a property; nil for no objects. NaN counts only where there is nothing else.
  public func max<V: OrderedStorable & StorableScalar>(of property: KeyPath<M.Columns, Column<M, V>>) -> V? {
    aggregate(column(property)).flatMap { V(stored: $0.maximum) }
  }

  /// The greatest value of an optional property; nil where there is none.
  public func max<V: OrderedStorable & StorableScalar>(of property: KeyPath<M.Columns, Column<M, V?>>) -> V? {
    aggregate(column(property)).flatMap { V(stored: $0.maximum) }
  }

  private func aggregate(_ column: Int) -> ColumnAggregate? {
    attempt(nil) { () throws(StoreError) in
      let table = try owner.current().table(plan.table)
      guard plan.inner.isEmpty, !plan.hasWindow else {
        return try table.aggregate(column: column, in: schema, keys: objectKeys)
      }
      return try table.aggregate(column: column, in: schema, where: QueryRun(plan, schema: schema).predicate)
    }
  }

  private func column<V: Storable>(_ property: KeyPath<M.Columns, Column<M, V>>) -> Int {
    M.columns[keyPath: property].number
  }
}

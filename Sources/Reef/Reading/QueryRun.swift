/// A plan made ready to run against one version: the compiled condition, and the order that also breaks ties.
struct QueryRun {
  let plan: QueryPlan
  let schema: TypeSchema
  /// Nil: every object.
  let predicate: CompiledPredicate?
  /// Empty: by object key, which is stored order.
  let order: [SortKey]

  init(_ plan: QueryPlan, schema: TypeSchema) throws(StoreError) {
    self.plan = plan
    self.schema = schema
    predicate = plan.predicate == .always(true) ? nil : try CompiledPredicate(plan.predicate, for: schema)
    order = Self.order(of: plan, schema: schema)
  }

  /// Stored order of a type with a String or UUID key is by that key; object keys only count up there. An order that
  /// begins with the Int key needs nothing after it, and is stored order itself where it ascends.
  private static func order(of plan: QueryPlan, schema: TypeSchema) -> [SortKey] {
    var order = plan.order
    switch schema.keyKind {
    case .indexed(let column):
      if let at = order.firstIndex(where: { $0.column == column }) {
        order.removeSubrange((at + 1)...)
      } else if plan.inner.isEmpty {
        order.append(SortKey(column: column))
      }
    case .integer(let column):
      if let at = order.firstIndex(where: { $0.column == column }) { order.removeSubrange((at + 1)...) }
      if plan.inner.isEmpty, order.first == SortKey(column: column) { order = [] }
    case .none: break
    }
    return order
  }

  /// Number of objects, the window applied.
  func count(in view: ReadView) throws(StoreError) -> Int {
    guard plan.inner.isEmpty else { return try keys(in: view).count }
    return plan.windowed(try view.table(plan.table).count(where: predicate))
  }

  /// Object keys in the result's order, the window applied.
  func keys(in view: ReadView) throws(StoreError) -> [Int64] {
    let table = try view.table(plan.table)
    let end = plan.limit.map { limit in limit > Int.max - plan.offset ? Int.max : plan.offset + limit }
    if let source = plan.inner.first {
      var keys = try QueryRun(source, schema: schema).keys(in: view)
      if let predicate { keys = try Self.matching(keys, predicate, table) }
      if !order.isEmpty { keys = try table.sorted(keys, by: order, schema: schema) }
      return Array(keys.dropFirst(plan.offset).prefix(plan.limit ?? .max))
    }
    if order.isEmpty {
      return try table.keys(where: predicate, offset: plan.offset, limit: plan.limit ?? .max)
    }
    let keys = try table.sortedKeys(where: predicate, by: order, schema: schema, limit: end ?? .max)
    return plan.hasWindow ? Array(keys.dropFirst(plan.offset).prefix(plan.limit ?? .max)) : keys
  }

  private static func matching(
    _ keys: [Int64], _ predicate: CompiledPredicate, _ table: TableView
  ) throws(StoreError) -> [Int64] {
    var result: [Int64] = []
    for key in keys {
      if let position = try table.find(key: key), try predicate.matches(position) { result.append(key) }
    }
    return result
  }
}

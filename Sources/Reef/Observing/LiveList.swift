/// The object keys of an observed result, moved from version to version by what changed between them: only changed
/// objects are looked at again.
final class LiveList {
  private let run: QueryRun
  private let schema: TypeSchema
  private let order: RowOrder
  /// The version that the list shows.
  private(set) var snapshot: Snapshot
  private var keys: OrderedKeys

  var count: Int { keys.count }

  init(_ plan: QueryPlan, schema: TypeSchema, view snapshot: Snapshot) throws(StoreError) {
    self.schema = schema
    self.snapshot = snapshot
    run = try QueryRun(plan, schema: schema)
    order = RowOrder(keys: run.order, schema: schema)
    keys = OrderedKeys(try run.keys(in: snapshot.owner.view))
  }

  /// Moves on to a newer version; what that did to the list. On an error the list stays where it was.
  func advance(to newer: Snapshot) throws(StoreError) -> ResultDelta {
    let old = try snapshot.owner.view.table(run.plan.table)
    let new = try newer.owner.view.table(run.plan.table)
    let changes = try RowChanges(from: old, to: new, schema: schema)
    guard !changes.isEmpty else {
      snapshot = newer
      return ResultDelta()
    }
    let delta: ResultDelta
    if run.plan.hasWindow || !run.plan.inner.isEmpty || changes.count > max(64, keys.count / 8) {
      delta = try rebuild(newer, changes)
    } else {
      delta = try patch(old: old, new: new, changes)
    }
    snapshot = newer
    return delta
  }

  /// Asks again, and compares the two lists.
  private func rebuild(_ newer: Snapshot, _ changes: RowChanges) throws(StoreError) -> ResultDelta {
    let fresh = try run.keys(in: newer.owner.view)
    // An object made again under its key goes by its new number.
    let before = changes.renamed.isEmpty ? keys.array : keys.array.map { changes.renamed[$0] ?? $0 }
    let delta = ResultDelta(from: before, to: fresh, isModified: changes.isModified)
    keys = OrderedKeys(fresh)
    return delta
  }

  /// Takes out what changed and puts in what belongs in: a few searches for each changed object.
  private func patch(old: TableView, new: TableView, _ changes: RowChanges) throws(StoreError) -> ResultDelta {
    var touched: [Touched] = []
    var entering: [(index: Int, key: Int64, values: [Value])] = []
    touched.reserveCapacity(changes.count)
    for change in changes.list {
      var item = Touched(isModified: change.isModified)
      if let key = change.old, let place = try place(of: key, in: old) { item.old = place.position }
      if let key = change.new, let row = try new.find(key: key), try run.predicate?.matches(row) ?? true {
        entering.append((touched.count, key, try order.values(row)))
      } else if item.old == nil {
        continue
      }
      touched.append(item)
    }
    var updated = keys
    updated.remove(atPositions: touched.compactMap(\.old).sorted())
    for (_, key, values) in entering {
      updated.insert(
        key,
        at: try updated.place { (other) throws(StoreError) in
          try isBefore(other, values, key, in: new)
        })
    }
    for (index, key, values) in entering {
      let place = try updated.place { (other) throws(StoreError) in try isBefore(other, values, key, in: new) }
      touched[index].new = place.position
    }
    keys = updated
    return ResultDelta(touched)
  }

  /// Where an object of the old version lies in the list; nil where it is not in it.
  private func place(of key: Int64, in table: TableView) throws(StoreError) -> OrderedKeys.Place? {
    guard let row = try table.find(key: key), try run.predicate?.matches(row) ?? true else { return nil }
    let values = try order.values(row)
    let place = try keys.place { (other) throws(StoreError) in try isBefore(other, values, key, in: table) }
    return keys[place] == key ? place : nil
  }

  private func isBefore(_ other: Int64, _ values: [Value], _ key: Int64, in table: TableView) throws(StoreError) -> Bool
  {
    if order.keys.isEmpty { return other < key }
    guard let row = try table.find(key: other) else {
      throw .damaged(path: "", what: "an object of an observed result cannot be found")
    }
    return order.isBefore((try order.values(row), other), (values, key))
  }
}

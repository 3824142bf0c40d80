extension TableView {
  /// Object keys of the rows that match, in the order asked for, from the `offset`-th on and at most `limit` of them.
  /// Ties keep stored order. Where few are wanted, only few are kept at a time.
  package func sortedKeys(
    where predicate: CompiledPredicate? = nil, by order: [SortKey], schema: TypeSchema, offset: Int = 0,
    limit: Int = .max
  ) throws(StoreError) -> [Int64] {
    let plan = try SortPlan(order, for: schema)
    guard limit > 0 else { return [] }
    guard let first = plan.components.first else {
      return try keys(where: predicate, offset: offset, limit: limit)
    }
    if first.isKey {
      return first.ascending
        ? try keys(where: predicate, offset: offset, limit: limit)
        : try keysBackward(where: predicate, offset: offset, limit: limit)
    }
    let offset = max(offset, 0)
    let wanted = limit > .max - offset ? .max : offset + limit
    var rows = SortRows(plan)
    if wanted <= 10_000, wanted < count / 4 {
      try keepFirst(wanted, of: &rows, where: predicate, schema: schema)
    } else {
      // What a table says of its size is not proven: never more memory than the file takes.
      if predicate == nil { rows.reserve(min(count, Int(truncatingIfNeeded: view.limit &>> 3))) }
      try forEachSelection(where: predicate) { (leaf, selection) throws(StoreError) in
        try rows.append(leaf, selection)
        return true
      }
    }
    return rows.sortedKeys(offset: offset, limit: limit)
  }

  /// These object keys in the order asked for; ties keep the order they come in. Keys that are not there are left out.
  package func sorted(
    _ keys: [Int64], by order: [SortKey], schema: TypeSchema
  ) throws(StoreError) -> [Int64] {
    var rows = SortRows(try SortPlan(order, for: schema))
    for key in keys {
      guard let position = try find(key: key) else { continue }
      try rows.append(position.leaf, Selection(row: position.row))
    }
    return rows.sortedKeys(offset: 0, limit: .max)
  }

  /// Collects twice as many rows as wanted, puts them in order, drops the worse half, and from then on takes only rows
  /// that are not beyond the worst one kept: after a few rounds most leaves have none, which a kernel tells.
  private func keepFirst(
    _ wanted: Int, of rows: inout SortRows, where predicate: CompiledPredicate?, schema: TypeSchema
  ) throws(StoreError) {
    let room = max(wanted &* 2, 1024)
    let first = rows.plan.components[0]
    var bound: CompiledPredicate?
    try forEachSelection(where: predicate) { (leaf, selection) throws(StoreError) in
      var selection = selection
      if let bound { selection = try selection & bound.select(leaf) }
      guard !selection.isEmpty else { return true }
      try rows.append(leaf, selection)
      if rows.count >= room {
        rows.keep(rows.sortedPositions().prefix(wanted))
        guard !first.isText, let worst = rows.keys.last, let position = try find(key: worst) else { return true }
        let value = try position.leaf.value(position.row, column: first.column, in: schema)
        // The complement, so that nil and NaN, which are neither less nor greater, stay in.
        bound = try CompiledPredicate(
          .not(.compare(column: first.column, first.ascending ? .greater : .less, value)), for: schema)
      }
      return true
    }
  }

  private func keysBackward(
    where predicate: CompiledPredicate?, offset: Int, limit: Int
  ) throws(StoreError) -> [Int64] {
    var result: [Int64] = []
    var skip = max(offset, 0)
    let ranges = (predicate?.keyRanges ?? .all).ranges
    guard let last = ranges.last, let first = ranges.first else { return result }
    var cursor = leavesBackward(from: last.upper)
    while let leaf = try cursor.next() {
      if leaf.count > 0, leaf.key(leaf.count &- 1) < first.lower { break }
      let selection = try predicate?.select(leaf) ?? Selection(count: leaf.count)
      var row = leaf.count
      while row > 0 {
        row &-= 1
        guard selection.contains(row) else { continue }
        if skip > 0 {
          skip &-= 1
          continue
        }
        result.append(leaf.key(row))
        if result.count >= limit { return result }
      }
    }
    return result
  }
}

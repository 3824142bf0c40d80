extension IndexAccess {
  /// Object keys of the candidates, as long as they are at most `limit`: more are not worth finding one by one.
  func candidates(_ table: TableView, limit: Int) throws(StoreError) -> [Int64]? {
    guard let index = try index(of: table) else { return nil }
    var keys: [Int64] = []
    for range in ranges {
      var cursor: IndexCursor
      if let lower = range.lower {
        cursor = try lower.withBound { (bound) throws(StoreError) in try index.cursor(at: bound) }
      } else {
        cursor = try index.start()
      }
      while true {
        let run: UnsafeBufferPointer<Int64>?
        if let upper = range.upper {
          run = try upper.withBound { (bound) throws(StoreError) in try cursor.nextRun(before: bound) }
        } else {
          run = try cursor.nextRun()
        }
        guard let run else { break }
        if keys.count &+ run.count > limit { return nil }
        keys.append(contentsOf: run)
      }
    }
    return keys
  }

  /// Nil where this version does not have the index.
  private func index(of table: TableView) throws(StoreError) -> IndexView? {
    if position < 0 { return IndexView(view: table.view, root: table.keyIndexRoot, depth: table.keyIndexDepth) }
    guard position < table.indexCount else { return nil }
    let (root, depth) = try table.index(position)
    return IndexView(view: table.view, root: root, depth: depth)
  }
}

extension TableView {
  /// Rows that one lookup costs as much as: below this share of the table an index is worth asking.
  private static var rowsPerLookup: Int { 32 }

  /// Object keys of all rows that can match, ascending, where an index knows them and they are few. Nil: scan.
  func candidates(for predicate: CompiledPredicate) throws(StoreError) -> [Int64]? {
    guard !predicate.accesses.isEmpty, count > 0 else { return nil }
    var best: [Int64]?
    var limit = Swift.max(32, count / Self.rowsPerLookup)
    for access in predicate.accesses {
      guard let keys = try access.candidates(self, limit: limit) else { continue }
      best = keys
      if keys.count <= 4 { break }
      limit = keys.count &- 1
    }
    guard var keys = best else { return nil }
    var isAscending = true
    for index in keys.indices.dropFirst() where keys[index &- 1] >= keys[index] {
      isAscending = false
      break
    }
    if !isAscending {
      keys.sort()
      // Ranges may overlap: the same value asked for twice.
      var last: Int64?
      keys.removeAll { key in
        defer { last = key }
        return key == last
      }
    }
    return keys
  }

  /// Whether an index finds the few rows that can match: then listing their keys is cheaper than walking the leaves.
  package func usesIndex(for predicate: CompiledPredicate) throws(StoreError) -> Bool {
    try candidates(for: predicate) != nil
  }

  /// The leaves and rows of these keys that match.
  func forEachSelection(
    of keys: [Int64], where predicate: CompiledPredicate, _ body: (LeafView, Selection) throws(StoreError) -> Bool
  ) throws(StoreError) {
    var at = 0
    while at < keys.count {
      if !predicate.keyRanges.contains(keys[at]) {
        at &+= 1
        continue
      }
      guard let leaf = try leaf(for: keys[at]), leaf.count > 0 else {
        throw view.damaged("an index names an object that is not there")
      }
      let last = leaf.key(leaf.count &- 1)
      var selection = Selection.none
      repeat {
        let row = leaf.find(keys[at])
        guard row >= 0 else { throw view.damaged("an index names an object that is not there") }
        if predicate.keyRanges.contains(keys[at]) { selection = selection | Selection(row: row) }
        at &+= 1
      } while at < keys.count && keys[at] <= last
      let matches = try predicate.node.select(leaf, selection)
      if !matches.isEmpty, try !body(leaf, matches) { return }
    }
  }
}

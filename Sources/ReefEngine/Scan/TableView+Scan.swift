import CReefKernels

extension LeafView {
  /// Fetches the beginning of a column; the processor follows from there.
  @inline(__always)
  func prefetch(_ column: Int, lines: Int = 4) {
    let offset = (columnEntry(column) & 0xffff_ffff) &<< UInt64(DataLayout.grainShift)
    let at = view.base + Int(truncatingIfNeeded: offset)
    var line = 0
    while line < lines {
      reef_prefetch(at + line &* 64)
      line &+= 1
    }
  }
}

extension TableView {
  /// Calls `body` with each leaf that holds matches, and which rows they are, in key order until it returns false.
  /// Without a condition every row matches. `reading`: a column that `body` looks at, and how many lines of it are worth
  /// fetching ahead.
  @inline(__always)
  package func forEachSelection(
    where predicate: CompiledPredicate? = nil, reading: (column: Int, lines: Int) = (0, 0),
    _ body: (LeafView, Selection) throws(StoreError) -> Bool
  ) throws(StoreError) {
    guard let predicate else { return try forEachSelection(ofAll: nil, reading, body) }
    if let keys = try candidates(for: predicate) { return try forEachSelection(of: keys, where: predicate, body) }
    if predicate.keyRanges.isAll { return try forEachSelection(ofAll: predicate, reading, body) }
    var cursor = SelectionCursor(self, where: predicate)
    while let (leaf, rows) = try cursor.next() {
      guard try body(leaf, rows) else { return }
    }
  }

  /// One leaf ahead: while a leaf is scanned, the columns of the next one are on their way from memory.
  @inline(__always)
  private func forEachSelection(
    ofAll predicate: CompiledPredicate?, _ reading: (column: Int, lines: Int),
    _ body: (LeafView, Selection) throws(StoreError) -> Bool
  ) throws(StoreError) {
    var cursor = leaves()
    guard var leaf = try cursor.next() else { return }
    defer { withExtendedLifetime(predicate) {} }
    let node = predicate.map { UnretainedNode($0.node) }
    let prefetched = predicate?.prefetched ?? 0
    while true {
      let following = try cursor.next()
      if let following {
        var left = prefetched
        while left != 0 {
          following.prefetch(left.trailingZeroBitCount)
          left &= left &- 1
        }
        if reading.lines > 0 { following.prefetch(reading.column, lines: reading.lines) }
        cursor.prefetchUpcoming(1)
      }
      var selection = Selection(count: leaf.count)
      if let node { selection = try node.select(leaf, selection) }
      if !selection.isEmpty, try !body(leaf, selection) { return }
      guard let following else { return }
      leaf = following
    }
  }

  /// Number of rows that match.
  package func count(where predicate: CompiledPredicate? = nil) throws(StoreError) -> Int {
    guard let predicate, !predicate.isAlwaysTrue else { return count }
    var total = 0
    try forEachSelection(where: predicate) { (_, selection) throws(StoreError) in
      total &+= selection.count
      return true
    }
    return total
  }

  /// Calls `body` with each row that matches, in key order until it returns false.
  package func forEachMatch(
    where predicate: CompiledPredicate? = nil, _ body: (LeafView, Int) throws(StoreError) -> Bool
  ) throws(StoreError) {
    try forEachSelection(where: predicate) { (leaf, selection) throws(StoreError) in
      try selection.forEach { (row) throws(StoreError) in try body(leaf, row) }
    }
  }

  /// The first match in key order.
  package func first(where predicate: CompiledPredicate? = nil) throws(StoreError) -> RowPosition? {
    var found: RowPosition?
    try forEachMatch(where: predicate) { (leaf, row) throws(StoreError) in
      found = RowPosition(leaf: leaf, row: row)
      return false
    }
    return found
  }

  /// Object keys of the matches, in order, from the `offset`-th on and at most `limit` of them.
  package func keys(
    where predicate: CompiledPredicate? = nil, offset: Int = 0, limit: Int = .max
  ) throws(StoreError) -> [Int64] {
    var result: [Int64] = []
    guard limit > 0 else { return result }
    var skip = max(offset, 0)
    try forEachSelection(where: predicate) { (leaf, selection) throws(StoreError) in
      let matches = selection.count
      if matches <= skip {
        skip &-= matches
        return true
      }
      return selection.forEach { row in
        if skip > 0 {
          skip &-= 1
          return true
        }
        result.append(leaf.key(row))
        return result.count < limit
      }
    }
    return result
  }
}

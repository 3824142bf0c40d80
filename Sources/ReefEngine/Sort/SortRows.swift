import ReefSystem

/// Rows to be put in order: column by column what decides, and their object keys. Their position is stored order.
struct SortRows {
  let plan: SortPlan
  private(set) var keys = RowKeys()
  private(set) var codes: [[UInt64]]
  /// In place, in pinned memory; nil: nil.
  private(set) var texts: [[UnsafeRawBufferPointer?]]

  init(_ plan: SortPlan) {
    self.plan = plan
    codes = Array(repeating: [], count: plan.codeCount)
    texts = Array(repeating: [], count: plan.textCount)
  }

  var count: Int { keys.count }

  /// Makes room for that many rows at once: growing step by step would touch twice the memory.
  mutating func reserve(_ count: Int) {
    for code in codes.indices {
      codes[code].reserveCapacity(count)
      codes[code].withUnsafeBufferPointer {
        Mapping.preferHugePages(UnsafeMutableRawPointer(mutating: $0.baseAddress), length: count &* 8)
      }
    }
  }

  /// Adds rows of a leaf.
  mutating func append(_ leaf: LeafView, _ rows: Selection) throws(StoreError) {
    keys.append(leaf, rows)
    var code = 0
    var text = 0
    for component in plan.components {
      if component.isKey {
        add(rows, to: code, component.ascending) { SortCode.signed(leaf.key($0)) }
      } else {
        let column = try leaf.column(component.column)
        if component.isText {
          try addText(column, rows, component, code, text)
          text += 1
        } else {
          addCodes(column, rows, component, code)
        }
      }
      code += component.codes
    }
  }

  @inline(__always)
  private mutating func add(_ rows: Selection, to code: Int, _ ascending: Bool, _ value: (Int) -> UInt64) {
    let flip: UInt64 = ascending ? 0 : .max
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: DataLayout.Leaf.capacity) { own in
      let count = rows.count
      if rows == Selection(count: count) {
        for row in 0..<count { own[row] = value(row) ^ flip }
      } else {
        var index = 0
        _ = rows.forEach { row in
          own[index] = value(row) ^ flip
          index &+= 1
          return true
        }
      }
      codes[code].append(contentsOf: UnsafeBufferPointer(rebasing: own[..<count]))
    }
  }

  private mutating func addCodes(
    _ column: ColumnView, _ rows: Selection, _ component: SortPlan.Component, _ first: Int
  ) {
    let ascending = component.ascending
    var code = first
    let mayBeNull = component.isOptional && (column.isAbsent || column.nulls != nil)
    if component.hasRank {
      add(rows, to: code, ascending) { mayBeNull && column.isNull($0) ? 0 : 1 }
      code += 1
    }
    switch component.type {
    case .bool: add(rows, to: code, ascending) { mayBeNull && column.isNull($0) ? 0 : column.bool($0) ? 2 : 1 }
    case .int64: add(rows, to: code, ascending) { SortCode.signed(column.int($0)) }
    case .uint64: add(rows, to: code, ascending) { column.bits($0) }
    case .float:
      add(rows, to: code, ascending) {
        mayBeNull && column.isNull($0) ? SortCode.null : SortCode.real(Double(column.float($0)))
      }
    case .double, .date:
      if mayBeNull {
        add(rows, to: code, ascending) { column.isNull($0) ? SortCode.null : SortCode.real(column.double($0)) }
      } else {
        add(rows, to: code, ascending) { SortCode.real(column.double($0)) }
      }
    case .uuid:
      add(rows, to: code, ascending) { column.uuid($0).high }
      add(rows, to: code + 1, ascending) { column.uuid($0).low }
    default:
      // Narrow integers never reach the least Int64, whose code is that of nil.
      add(rows, to: code, ascending) {
        mayBeNull && column.isNull($0) ? SortCode.null : SortCode.signed(column.int($0))
      }
    }
  }

  private mutating func addText(
    _ column: ColumnView, _ rows: Selection, _ component: SortPlan.Component, _ code: Int, _ text: Int
  ) throws(StoreError) {
    let flip: UInt64 = component.ascending ? 0 : .max
    _ = try rows.forEach { (row) throws(StoreError) in
      if component.isOptional, column.isNull(row) {
        codes[code].append(flip)
        texts[text].append(nil)
      } else {
        let bytes = try column.checkedBytes(row)
        codes[code].append(SortCode.prefix(bytes) ^ flip)
        texts[text].append(bytes)
      }
      return true
    }
  }

  /// Keeps the rows at these positions, in this order.
  mutating func keep(_ positions: ArraySlice<UInt32>) {
    keys = RowKeys(positions.map { keys[Int($0)] })
    for code in codes.indices {
      let old = codes[code]
      codes[code] = positions.map { old[Int($0)] }
    }
    for text in texts.indices {
      let old = texts[text]
      texts[text] = positions.map { old[Int($0)] }
    }
  }
}

// Order
extension SortRows {
  /// Positions of all rows in order. Stable.
  func sortedPositions() -> [UInt32] {
    var positions = (0..<UInt32(truncatingIfNeeded: count)).map { $0 }
    positions.withUnsafeMutableBufferPointer { sort($0, step: 0) }
    return positions
  }

  /// Object keys of all rows in order, from the `offset`-th on and at most `limit` of them.
  func sortedKeys(offset: Int, limit: Int) -> [Int64] {
    // One code decides, and keys count up: the order of the codes is the answer but for an addition.
    guard let start = keys.start, plan.steps.count == 1, offset == 0, limit >= count,
      case .code(let code) = plan.steps[0]
    else {
      return sortedPositions().dropFirst(offset).prefix(limit).map { keys[Int($0)] }
    }
    return Array(unsafeUninitializedCapacity: count) { result, filled in
      Mapping.preferHugePages(result.baseAddress, length: count &* 8)
      result.withMemoryRebound(to: UInt64.self) { places in
        codes[code].withUnsafeBufferPointer { RadixOrder.order($0, into: places) }
      }
      for index in 0..<count { result[index] &+= start }
      filled = count
    }
  }

  /// Orders positions that tie in all steps before `step`.
  private func sort(_ positions: UnsafeMutableBufferPointer<UInt32>, step: Int) {
    guard positions.count > 1, step < plan.steps.count else { return }
    guard positions.count > 48, case .code(let code) = plan.steps[step] else {
      // Stable because ties go by position.
      var positions = positions
      positions.sort { a, b in
        let order = compare(a, b, from: step)
        return order == 0 ? a < b : order < 0
      }
      return
    }
    codes[code].withUnsafeBufferPointer { codes in
      RadixOrder.sort(positions, by: codes.baseAddress!)
      guard step + 1 < plan.steps.count else { return }
      var start = 0
      while start < positions.count {
        let value = codes[Int(positions[start])]
        var end = start + 1
        while end < positions.count, codes[Int(positions[end])] == value { end += 1 }
        if end > start + 1 { sort(UnsafeMutableBufferPointer(rebasing: positions[start..<end]), step: step + 1) }
        start = end
      }
    }
  }

  private func compare(_ a: UInt32, _ b: UInt32, from first: Int) -> Int {
    for step in plan.steps[first...] {
      switch step {
      case .code(let code):
        let (x, y) = (codes[code][Int(a)], codes[code][Int(b)])
        if x != y { return x < y ? -1 : 1 }
      case .text(let text, let ascending):
        let (x, y) = (texts[text][Int(a)], texts[text][Int(b)])
        let order: Int
        switch (x, y) {
        case (nil, nil): order = 0
        case (nil, _): order = -1
        case (_, nil): order = 1
        case (let x?, let y?): order = orderOfBytes(x, y)
        }
        if order != 0 { return ascending ? order : -order }
      }
    }
    return 0
  }
}

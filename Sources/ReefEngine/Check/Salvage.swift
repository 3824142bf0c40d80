import CXXHash

/// Takes all objects out of a damaged store that can be read. The newest version counts; where a part of it is lost, what
/// an older version that is still named has in that place.
package struct Salvage {
  package struct TypeResult: Sendable {
    package let name: String
    /// Objects written out, those with lost properties and those of older versions among them.
    package var taken = 0
    /// Of these, objects of which a property could not be read: it is zero, empty or nil now.
    package var incomplete = 0
    /// Of these, objects as an older version has them: they may have been changed or deleted since.
    package var older = 0
    /// Objects that are lost, as far as the table's count tells.
    package var lost = 0
  }

  package private(set) var types: [TypeResult] = []
  private let image: StoreImage
  private let out: Engine

  /// Reads `image`, whatever is wrong with it, and fills `out`, which is new. `schema` says the types of both.
  package static func run(_ image: StoreImage, schema: Schema, into out: Engine) throws(StoreError) -> [TypeResult] {
    var salvage = Salvage(image: image, out: out)
    for (index, type) in schema.types.enumerated() { try salvage.take(index, type) }
    return salvage.types
  }

  /// The types, as the newest version says that can say.
  package static func schema(of image: StoreImage) -> Schema? {
    for (slot, _) in image.versions {
      if let stored = try? StoredSchema(reading: image.view(slot), fingerprint: 0, path: image.path),
        !stored.schema.types.isEmpty
      {
        return stored.schema
      }
    }
    return nil
  }

  private init(image: StoreImage, out: Engine) {
    self.image = image
    self.out = out
  }

  /// A range of object keys, both ends included, of which nothing is known yet.
  private struct Gap {
    var low: Int64
    var high: Int64
  }

  private struct Taking {
    let type: TypeSchema
    let table: Int
    var result: TypeResult
    var gaps: [Gap]
    /// Object keys that were taken.
    var known: Set<Int64> = []
    var seen: Set<UInt32> = []
    var pending: [[Value]] = []
    var isOlder = false
  }

  private mutating func take(_ index: Int, _ type: TypeSchema) throws(StoreError) {
    var taking = Taking(
      type: type, table: index, result: TypeResult(name: type.name), gaps: [Gap(low: .min, high: .max)])
    var counted: Int?
    for (slot, _) in image.versions where !taking.gaps.isEmpty {
      let view = image.view(slot)
      guard let entry = try? view.tableEntry(index) else { continue }
      if entry & 0xffff_ffff == 0 { break }
      guard holds(entry, view), let table = try? TableView(view: view, entry: entry) else { continue }
      if counted == nil { counted = table.count }
      let gaps = taking.gaps
      taking.gaps = []
      taking.seen = []
      for gap in gaps {
        if table.rootEntry == 0 { continue }
        try walk(table.rootEntry, view, level: table.depth, Gap(low: .min, high: .max), within: gap, &taking)
      }
      taking.isOlder = true
    }
    try flush(&taking)
    taking.result.lost = max(0, (counted ?? 0) - taking.result.taken)
    types.append(taking.result)
  }

  private func holds(_ entry: UInt64, _ view: ReadView) -> Bool {
    guard let node = try? view.node(entry) else { return false }
    return !image.isChecked || XXH3_64bits(node.pointer, node.length) & 0xffff_ffff == entry >> 32
  }

  private func walk(
    _ entry: UInt64, _ view: ReadView, level: Int, _ range: Gap, within gap: Gap, _ taking: inout Taking
  ) throws(StoreError) {
    let (low, high) = (max(range.low, gap.low), min(range.high, gap.high))
    guard low <= high else { return }
    guard level <= TableView.maximumDepth, taking.seen.insert(UInt32(truncatingIfNeeded: entry)).inserted,
      holds(entry, view)
    else {
      taking.gaps.append(Gap(low: low, high: high))
      return
    }
    if level == 0 {
      guard let leaf = try? view.leaf(entry) else {
        taking.gaps.append(Gap(low: low, high: high))
        return
      }
      return try take(leaf, within: Gap(low: low, high: high), &taking)
    }
    guard let inner = try? view.inner(entry) else {
      taking.gaps.append(Gap(low: low, high: high))
      return
    }
    for child in 0..<inner.count where inner.entry(child) != 0 {
      let next = child + 1 < inner.count ? inner.lowKey(child + 1) : .min
      let part = Gap(low: max(range.low, inner.lowKey(child)), high: next == .min ? range.high : next &- 1)
      try walk(inner.entry(child), view, level: level - 1, part, within: gap, &taking)
    }
  }

  private func take(_ leaf: LeafView, within gap: Gap, _ taking: inout Taking) throws(StoreError) {
    let sound = taking.type.properties.indices.map { column in
      let entry = leaf.columnEntry(column)
      return entry == 0 || holds(entry, leaf.view)
    }
    let long = taking.type.properties.indices.map { sound[$0] && holdsLong(leaf.columnEntry($0), leaf.view) }
    for row in 0..<leaf.count {
      let key = leaf.key(row)
      guard key >= gap.low, key <= gap.high, taking.known.insert(key).inserted else { continue }
      var values: [Value] = []
      var isWhole = true
      for (column, property) in taking.type.properties.enumerated() {
        if sound[column] || taking.type.isKey(column), long[column] || !isLong(leaf, row, column),
          let value = try? leaf.value(row, column: column, in: taking.type)
        {
          values.append(value)
        } else {
          isWhole = false
          values.append(property.isOptional ? .null : property.type.zero)
        }
      }
      // Without its key an object cannot be told from others.
      if !isWhole, case .indexed(let column) = taking.type.keyKind,
        values[column] == taking.type.properties[column].type.zero
      {
        taking.gaps.append(Gap(low: key, high: key))
        taking.known.remove(key)
        continue
      }
      if !isWhole { taking.result.incomplete += 1 }
      if taking.isOlder { taking.result.older += 1 }
      taking.pending.append(values)
    }
    if taking.pending.count >= 2000 { try flush(&taking) }
  }

  /// Whether all long values of a column, each in a node of its own, are what the column says.
  private func holdsLong(_ entry: UInt64, _ view: ReadView) -> Bool {
    guard entry != 0 else { return true }
    guard let node = try? view.node(entry) else { return false }
    var isWhole = true
    let isSound = NodeChildren.forEach(node.pointer) { place in
      if !holds(place.loadUnaligned(as: UInt64.self), view) { isWhole = false }
    }
    return isSound && isWhole
  }

  private func isLong(_ leaf: LeafView, _ row: Int, _ column: Int) -> Bool {
    guard let blobs = try? leaf.column(column).blobs else { return false }
    return blobs[row >> 6] >> UInt64(row & 63) & 1 != 0
  }

  private func flush(_ taking: inout Taking) throws(StoreError) {
    if taking.pending.isEmpty { return }
    let transaction = try out.write(.after(.seconds(30)))
    do throws(StoreError) {
      for values in taking.pending {
        do throws(StoreError) {
          _ = try transaction.insert(table: taking.table) { row in
            for (column, value) in values.enumerated() { row.set(column: column, value: value) }
          }
          taking.result.taken += 1
        } catch {
          // Two objects under one key: the one of the newer version was first.
          guard case .duplicateKey = error else { throw error }
        }
      }
      _ = try transaction.commit()
    } catch {
      transaction.rollback()
      throw error
    }
    taking.pending = []
  }
}

extension TypeSchema {
  fileprivate func isKey(_ column: Int) -> Bool {
    if case .integer(column) = keyKind { return true }
    return false
  }
}

extension ValueType {
  /// What a property has of which nothing is known.
  fileprivate var zero: Value {
    switch self {
    case .bool: .bool(false)
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32: .int(0)
    case .uint64: .uint(0)
    case .float: .float(0)
    case .double: .double(0)
    case .date: .date(0)
    case .string: .string("")
    case .data: .data([])
    case .uuid: .uuid(UUIDBytes(high: 0, low: 0))
    }
  }
}

import ReefEngine

struct TestRow {
  var key: Int64
  var values: [Value]
}

/// How a tree is cut into nodes: by the keys alone, so that the same rows give the same nodes.
struct TestShape {
  var salt: UInt64
  var leafRows = 256
  var fanOut = 64
  var extraDepth = 0
  /// Use dense inner nodes wherever the keys allow.
  var dense = true
}

extension TestArena {
  /// Rows in key order to a table node's entry.
  func table(_ rows: [TestRow], _ schema: TypeSchema, _ shape: TestShape) -> UInt64 {
    let columns = schema.properties.count
    guard !rows.isEmpty else { return table(rows: 0, root: 0, depth: 0, columns: columns) }
    var depth = 0
    var room = shape.leafRows
    while room < rows.count {
      room *= shape.fanOut
      depth += 1
    }
    depth += shape.extraDepth
    let root = tree(rows[...], schema, shape, depth, slot: nil)
    return table(rows: rows.count, root: root, depth: depth, columns: columns)
  }

  private func tree(
    _ rows: ArraySlice<TestRow>, _ schema: TypeSchema, _ shape: TestShape, _ depth: Int, slot: Int64?
  ) -> UInt64 {
    if depth == 0 { return leaf(rows, schema, shape, slot: slot) }
    let first = rows.first!.key
    let shift = 8 + 6 * (depth - 1)
    let base = slot ?? first - Int64(TestRandom.mix(UInt64(bitPattern: first)) % 3 == 0 && first > .min + 300 ? 200 : 0)
    let span = UInt64(bitPattern: rows.last!.key &- base)
    if slot != nil || (shape.dense && shape.leafRows == 256 && shape.fanOut == 64 && span >> UInt64(shift) < 64) {
      return dense(rows, schema, shape, depth, base: base, shift: shift)
    }
    return keyed(rows, schema, shape, depth)
  }

  private func dense(
    _ rows: ArraySlice<TestRow>, _ schema: TypeSchema, _ shape: TestShape, _ depth: Int, base: Int64, shift: Int
  ) -> UInt64 {
    var entries: [UInt64] = []
    var rest = rows
    while let key = rest.first?.key {
      let index = Int(UInt64(bitPattern: key &- base) >> UInt64(shift))
      while entries.count < index { entries.append(0) }
      let end = rest.firstIndex { UInt64(bitPattern: $0.key &- base) >> UInt64(shift) != index } ?? rest.endIndex
      entries.append(tree(rest[..<end], schema, shape, depth - 1, slot: base + Int64(index) << Int64(shift)))
      rest = rest[end...]
    }
    return node(
      kind: NodeKind.innerDense, form: UInt8(shift), count: entries.count,
      payload: le(base) + entries.flatMap { le($0) })
  }

  private func keyed(_ rows: ArraySlice<TestRow>, _ schema: TypeSchema, _ shape: TestShape, _ depth: Int) -> UInt64 {
    var room = shape.leafRows
    for _ in 1..<depth { room *= shape.fanOut }
    // Cut where a hash of the key says so, but neither too early to fit the rest nor too late to fit this child.
    var bounds: [Int64] = []
    var entries: [UInt64] = []
    var rest = rows
    while !rest.isEmpty {
      let others = shape.fanOut - entries.count - 1
      let least = max(1, rest.count - others * room)
      var count = least
      while count < min(room, rest.count) {
        let key = rest[rest.startIndex + count].key
        if TestRandom.mix(UInt64(bitPattern: key) ^ shape.salt) % UInt64(max(room / 2, 2)) == 0 { break }
        count += 1
      }
      let part = rest.prefix(count)
      let key = part.first!.key
      bounds.append(key > .min + 10 && bounds.isEmpty ? key - 5 : key)
      entries.append(tree(part, schema, shape, depth - 1, slot: nil))
      rest = rest.dropFirst(count)
    }
    let padding = [UInt8](repeating: 0xee, count: (64 - bounds.count) * 8)
    return node(
      kind: NodeKind.innerKeyed, count: entries.count,
      payload: bounds.flatMap { le($0) } + padding + entries.flatMap { le($0) })
  }

  private func leaf(
    _ rows: ArraySlice<TestRow>, _ schema: TypeSchema, _ shape: TestShape, slot: Int64?
  ) -> UInt64 {
    let keys = rows.map(\.key)
    var random = TestRandom(seed: UInt64(bitPattern: keys[0]) ^ shape.salt)
    let isRun = keys.indices.allSatisfy { keys[$0] == keys[0] &+ Int64($0) }
    let base = isRun || keys[0] < .min + 100 || random.chance(2) ? keys[0] : slot ?? keys[0] - 7
    var keyEntry: UInt64 = 0
    if !(isRun && base == keys[0]) {
      let deltas = keys.map { UInt64(bitPattern: $0 &- base) }
      var width = 0
      while width < 3, deltas.last! >> (8 << UInt64(width)) != 0 { width += 1 }
      keyEntry = node(
        kind: NodeKind.column, form: UInt8(width + 1), count: keys.count,
        payload: deltas.flatMap { le($0).prefix(1 << width) })
    }
    var payload = le(base) + le(keyEntry)
    var entries: [UInt64] = []
    for column in schema.properties.indices {
      if case .integer(column) = schema.keyKind {
        entries.append(0)
        continue
      }
      entries.append(self.column(rows.map { $0.values[column] }, schema.properties[column], &random))
    }
    while entries.last == 0, random.chance(2) { entries.removeLast() }
    for entry in entries { payload += le(entry) }
    return node(kind: NodeKind.leaf, count: keys.count, payload: payload)
  }
}

/// A schema of every type, plain and optional, with an Int key in column 0 by chance.
func testSchema(keyed: Bool) -> TypeSchema {
  var properties = keyed ? [PropertySchema("id", .int64)] : []
  for type in ValueType.allCases {
    properties.append(PropertySchema("\(type)", type))
    properties.append(PropertySchema("\(type)?", type, isOptional: true))
  }
  return TypeSchema("Everything", properties, key: keyed ? 0 : nil)
}

extension TestRandom {
  mutating func keys(_ count: Int) -> [Int64] {
    switch below(5) {
    case 0: return (0..<count).map { Int64($0) }
    case 1:
      let base = Int64(below(100_000)) - 50_000
      return (0..<count).map { base + Int64($0) }
    case 2:
      var key = Int64(below(1000))
      return (0..<count).map { _ in
        key += 1 + Int64(below(3) == 0 ? below(40) : 0)
        return key
      }
    case 3: return Set((0..<count).map { _ in Int64(Int32(truncatingIfNeeded: next())) }).sorted()
    default: return Set((0..<count).map { _ in Int64(bitPattern: next()) } + [.min, .max]).sorted()
    }
  }

  mutating func row(_ key: Int64, _ schema: TypeSchema) -> TestRow {
    var values: [Value] = []
    for (column, property) in schema.properties.enumerated() {
      if case .integer(column) = schema.keyKind {
        values.append(.int(key))
      } else {
        values.append(value(property))
      }
    }
    return TestRow(key: key, values: values)
  }

  mutating func value(_ property: PropertySchema) -> Value {
    if property.isOptional, chance(3) { return .null }
    if chance(8) { return TestArena.zero(property.type) }
    return value(property.type, spread: spread)
  }

  /// Varies slowly, so that neighbouring rows tend to have values alike and leaves get different widths.
  private var spread: Int { Int(state >> 60) % 4 }
}

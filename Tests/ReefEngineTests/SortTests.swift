import ReefEngine
import Testing

@Suite struct SortTests {
  /// Random orders over random tables, with windows, against a stable sort of boxed values.
  @Test func ordersMatchOracle() throws {
    var random = TestRandom(seed: freshSeed("ordersMatchOracle"))
    for round in 0..<10 {
      let schema = testSchema(keyed: round % 2 == 0)
      let rows = random.keys([0, 1, 100, 400, 900][round % 5]).map { random.row($0, schema) }
      let arena = TestArena()
      let shape = TestShape(salt: random.next(), dense: random.chance(2))
      let table = try arena.root(version: 1, tables: [arena.table(rows, schema, shape)]).table(0)
      for _ in 0..<15 {
        let order = (0..<(1 + random.below(3))).map { _ in
          SortKey(column: random.below(schema.properties.count), ascending: random.chance(2))
        }
        let predicate: Predicate = random.chance(2) ? .always(true) : random.predicate(schema, rows, depth: 1)
        let compiled = try CompiledPredicate(predicate, for: schema)
        let matching = rows.filter { PredicateOracle.matches(predicate, $0) }
        let expected = sorted(matching, order)
        let result = try table.sortedKeys(where: compiled, by: order, schema: schema)
        if result != expected { Issue.record("\(order) of \(rows.count) rows where \(predicate)") }
        let (offset, limit) = (random.below(30), random.below(60))
        let window = try table.sortedKeys(
          where: compiled, by: order, schema: schema, offset: offset, limit: limit)
        if window != Array(expected.dropFirst(offset).prefix(limit)) {
          Issue.record("\(order) \(offset) \(limit) of \(rows.count) rows")
        }
        let keys = matching.map(\.key).reversed() + [42_424_242_424]
        let resorted = try table.sorted(Array(keys), by: order, schema: schema)
        #expect(resorted == sorted(matching.reversed(), order))
      }
    }
  }

  /// Tables large enough for the radix passes and for dropping rows on the way.
  @Test func manyRows() throws {
    var random = TestRandom(seed: freshSeed("manyRows"))
    let schema = TypeSchema(
      "Many",
      [
        PropertySchema("d", .double), PropertySchema("n", .int64, isOptional: true), PropertySchema("small", .int16),
        PropertySchema("s", .string), PropertySchema("u", .uint64),
      ])
    let rows = (0..<4_000).map { key in
      let u: UInt64 =
        switch key % 3 {
        case 0: random.next()
        case 1: UInt64(random.below(4))
        // Codes alike in all but their lowest bits.
        default: 0x1234_5678_0000_0000 | UInt64(random.below(1 << 20))
        }
      return TestRow(
        key: Int64(key),
        values: [
          .double(random.chance(300) ? random.pick([.nan, 0.0, -0.0, -.infinity]) : Double(random.next()) / 7),
          random.chance(4) ? .null : .int(random.chance(2) ? Int64(random.below(50)) : .min + Int64(random.below(2))),
          .int(Int64(random.below(30)) - 15), .string("prefix--" + String(random.next() % 3000, radix: 36)), .uint(u),
        ])
    }
    let arena = TestArena()
    let table = try arena.root(version: 1, tables: [arena.table(rows, schema, TestShape(salt: 5))]).table(0)
    for column in 0..<5 {
      for ascending in [true, false] {
        for second in [random.chance(2) ? 2 : 3] {
          let order = [SortKey(column: column, ascending: ascending), SortKey(column: second)]
          let expected = sorted(rows, order)
          #expect(try table.sortedKeys(by: order, schema: schema) == expected)
          for (offset, limit) in [(0, 1), (0, 100), (500, 1000), (3_990, 100), (20_000, 5)] {
            let window = try table.sortedKeys(by: order, schema: schema, offset: offset, limit: limit)
            #expect(window == Array(expected.dropFirst(offset).prefix(limit)))
          }
        }
      }
    }
    #expect(throws: StoreError.self) { try table.sortedKeys(by: [SortKey(column: 9)], schema: schema) }
  }

  private func sorted(_ rows: [TestRow], _ order: [SortKey]) -> [Int64] {
    rows.enumerated().sorted { a, b in
      for key in order {
        let result = rank(a.element.values[key.column], b.element.values[key.column])
        if result != 0 { return key.ascending ? result < 0 : result > 0 }
      }
      return a.offset < b.offset
    }.map(\.element.key)
  }

  /// nil, then NaN, then everything else.
  private func rank(_ a: Value, _ b: Value) -> Int {
    func group(_ value: Value) -> Int {
      value == .null ? 0 : PredicateOracle.order(value, value) == nil ? 1 : 2
    }
    let (x, y) = (group(a), group(b))
    return x != y ? x - y : x < 2 ? 0 : PredicateOracle.order(a, b)!
  }
}

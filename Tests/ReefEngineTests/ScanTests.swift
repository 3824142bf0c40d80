import ReefEngine
import Testing

@Suite struct ScanTests {
  /// Random conditions over random tables: the leaf kernels, the row test and the walk agree with the oracle.
  @Test func conditionsMatchOracle() throws {
    var random = TestRandom(seed: freshSeed("conditionsMatchOracle"))
    for round in 0..<12 {
      let schema = testSchema(keyed: round % 2 == 0)
      let rows = random.keys([0, 1, 64, 256, 600, 900][round % 6]).map { random.row($0, schema) }
      let arena = TestArena()
      let shape = TestShape(
        salt: random.next(), leafRows: random.chance(3) ? 70 : 256, fanOut: 64, dense: random.chance(2))
      let table = try arena.root(version: 1, tables: [arena.table(rows, schema, shape)]).table(0)
      for _ in 0..<60 {
        let predicate = random.predicate(schema, rows)
        let compiled = try CompiledPredicate(predicate, for: schema)
        let expected = rows.filter { PredicateOracle.matches(predicate, $0) }.map(\.key)
        if try table.keys(where: compiled) != expected { Issue.record("keys differ for \(predicate)") }
        #expect(try table.count(where: compiled) == expected.count)
        #expect(try table.first(where: compiled)?.key == expected.first)
        let (offset, limit) = (random.below(20), random.below(20))
        #expect(
          try table.keys(where: compiled, offset: offset, limit: limit)
            == Array(expected.dropFirst(offset).prefix(limit)))
        let set = Set(expected)
        for row in rows.prefix(100) {
          let position = try #require(try table.find(key: row.key))
          if try compiled.matches(position) != set.contains(row.key) {
            Issue.record("one row differs for \(predicate): \(row)")
          }
        }
      }
    }
  }

  @Test func nilSemantics() throws {
    let schema = TypeSchema("N", [PropertySchema("n", .int32, isOptional: true), PropertySchema("id", .int64)])
    let values: [Value] = [.null, .int(4), .int(5), .null, .int(6)]
    let rows = values.enumerated().map { TestRow(key: Int64($0.offset), values: [$0.element, .int(0)]) }
    let arena = TestArena(capacity: 1 << 20)
    let table = try arena.root(version: 1, tables: [arena.table(rows, schema, TestShape(salt: 3))]).table(0)
    func keys(_ predicate: Predicate) throws -> [Int64] {
      try table.keys(where: CompiledPredicate(predicate, for: schema))
    }
    #expect(try keys(.compare(column: 0, .notEqual, .int(5))) == [0, 1, 3, 4])
    #expect(try keys(.compare(column: 0, .equal, .null)) == [0, 3])
    #expect(try keys(.compare(column: 0, .notEqual, .null)) == [1, 2, 4])
    #expect(try keys(.compare(column: 0, .lessOrEqual, .null)) == [0, 3])
    #expect(try keys(.compare(column: 0, .less, .null)) == [])
    #expect(try keys(.not(.compare(column: 0, .less, .int(5)))) == [0, 2, 3, 4])
    #expect(try keys(.between(column: 0, lower: .null, upper: .int(9), includesUpper: true)) == [])
    #expect(try keys(.between(column: 0, lower: .null, upper: .null, includesUpper: true)) == [0, 3])
    #expect(try keys(.within(column: 0, [.null, .double(6)])) == [0, 3, 4])
    #expect(try keys(.compare(column: 0, .greater, .double(4.5))) == [2, 4])
    #expect(try keys(.compare(column: 1, .equal, .null)) == [])
  }

  @Test func wrongKindsAreErrors() throws {
    let schema = testSchema(keyed: true)
    func rejects(_ name: String, _ value: Value) {
      let column = schema.properties.firstIndex { $0.name == name }!
      #expect(throws: StoreError.self) { try CompiledPredicate(.compare(column: column, .equal, value), for: schema) }
      #expect(throws: StoreError.self) { try CompiledPredicate(.within(column: column, [value]), for: schema) }
      #expect(throws: StoreError.self) {
        try CompiledPredicate(.within(column: column, Array(repeating: value, count: 30)), for: schema)
      }
    }
    rejects("string", .int(1))
    rejects("string", .data([1]))
    rejects("data", .string("a"))
    rejects("bool", .int(1))
    rejects("int64", .bool(true))
    rejects("id", .string("1"))
    rejects("double", .date(1))
    rejects("date", .double(1))
    rejects("uuid", .string("a"))
    #expect(throws: StoreError.self) { try CompiledPredicate(.text(column: 3, .prefix, .string("a")), for: schema) }
    #expect(throws: StoreError.self) { try CompiledPredicate(.compare(column: 99, .equal, .null), for: schema) }
    #expect(throws: StoreError.self) { try CompiledPredicate(.compare(column: -1, .equal, .null), for: schema) }
  }

  /// Conditions on the key walk only the leaves that can hold it.
  @Test func keyRangesNarrowTheWalk() throws {
    let schema = TypeSchema("K", [PropertySchema("id", .int64), PropertySchema("n", .int64)], key: 0)
    let rows = (0..<5000).map { TestRow(key: Int64($0), values: [.int(Int64($0)), .int(Int64($0 % 7))]) }
    let arena = TestArena()
    let table = try arena.root(version: 1, tables: [arena.table(rows, schema, TestShape(salt: 1))]).table(0)
    func leaves(_ predicate: Predicate) throws -> Int {
      var count = 0
      try table.forEachSelection(where: CompiledPredicate(predicate, for: schema)) { (_, _) throws(StoreError) in
        count += 1
        return true
      }
      return count
    }
    let one = Predicate.compare(column: 0, .equal, .int(1234))
    #expect(try leaves(one) == 1)
    #expect(try leaves(.and([.compare(column: 1, .notEqual, .int(9)), one])) == 1)
    #expect(try leaves(.between(column: 0, lower: .int(300), upper: .int(600), includesUpper: true)) <= 3)
    #expect(try leaves(.within(column: 0, [.int(5), .int(4900), .int(7000)])) == 2)
    #expect(try leaves(.or([one, .compare(column: 0, .less, .double(10.5))])) == 2)
    #expect(try leaves(.not(.compare(column: 0, .less, .int(4990)))) == 1)
  }

  @Test func aggregates() throws {
    var random = TestRandom(seed: freshSeed("aggregates"))
    for round in 0..<8 {
      let schema = testSchema(keyed: round % 2 == 0)
      let rows = random.keys([1, 100, 300, 700][round % 4]).map { random.row($0, schema) }
      let arena = TestArena()
      let table = try arena.root(
        version: 1, tables: [arena.table(rows, schema, TestShape(salt: random.next(), dense: false))]
      ).table(0)
      for column in schema.properties.indices {
        let predicate: Predicate = random.chance(2) ? .always(true) : random.predicate(schema, rows)
        let compiled = try CompiledPredicate(predicate, for: schema)
        let values = rows.filter { PredicateOracle.matches(predicate, $0) }.map { $0.values[column] }
          .filter { $0 != .null }
        let result = try table.aggregate(column: column, in: schema, where: compiled)
        #expect(result.count == values.count)
        let ordered = values.filter { PredicateOracle.order($0, $0) != nil }
        let least = ordered.min { PredicateOracle.order($0, $1)! < 0 } ?? values.first ?? .null
        let most = ordered.max { PredicateOracle.order($0, $1)! < 0 } ?? values.first ?? .null
        expectSame(result.minimum, least)
        expectSame(result.maximum, most)
        expectSum(result, values, schema.properties[column].type)
      }
    }
  }

  private func expectSame(_ a: Value, _ b: Value) {
    if PredicateOracle.order(a, a) == nil, PredicateOracle.order(b, b) == nil, a != .null, b != .null { return }
    if a == .null && b == .null { return }
    if PredicateOracle.order(a, b) != 0 { Issue.record("\(a) is not \(b)") }
  }

  private func expectSum(_ result: ColumnAggregate, _ values: [Value], _ type: ValueType) {
    var integers = Int128(0)
    var reals: [Double] = []
    for value in values {
      switch value {
      case .int(let int): integers += Int128(int)
      case .uint(let uint): integers += Int128(uint)
      case .double(let real), .date(let real): reals.append(real)
      case .float(let float): reals.append(Double(float))
      default: return
      }
    }
    if let sum = result.integerSum {
      #expect(sum == integers)
    } else if case .double(let sum) = result.sum {
      // The tests' reals mix 1e300 with small ones: only an exact sum gets this right.
      let expected = exactSum(reals)
      if !(sum.isNaN && expected.isNaN), sum != expected { Issue.record("sum \(sum) is not \(expected)") }
    }
  }

  /// Grow-expansion after Shewchuk: non-overlapping partial sums, like Python's fsum.
  private func exactSum(_ values: [Double]) -> Double {
    if values.contains(where: { !$0.isFinite }) { return values.reduce(0, +) }
    var partials: [Double] = []
    for value in values {
      var x = value
      var kept: [Double] = []
      for partial in partials {
        let (a, b) = abs(x) < abs(partial) ? (partial, x) : (x, partial)
        let high = a + b
        let low = b - (high - a)
        if low != 0 { kept.append(low) }
        x = high
      }
      partials = kept + [x]
    }
    guard var sum = partials.popLast() else { return 0 }
    var low = 0.0
    while let next = partials.popLast() {
      let before = sum
      sum = before + next
      low = next - (sum - before)
      if low != 0 { break }
    }
    if let next = partials.last, (low < 0 && next < 0) || (low > 0 && next > 0) {
      let twice = low * 2
      if twice == (sum + twice) - sum { sum += twice }
    }
    return sum
  }
}

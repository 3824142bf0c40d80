import ReefEngine
import Testing

@Suite struct ReadTests {
  /// Every row is found, by key and by walking, with exactly its values; absent keys are not found.
  @Test func rowsReadBack() throws {
    var random = TestRandom(seed: freshSeed("rowsReadBack"))
    for count in [0, 1, 2, 63, 64, 65, 255, 256, 257, 700, 2500] {
      let schema = testSchema(keyed: random.chance(2))
      let rows = random.keys(count).map { random.row($0, schema) }
      let arena = TestArena()
      let small = random.chance(2)
      let shape = TestShape(
        salt: random.next(), leafRows: small ? 40 : 256, fanOut: small ? 5 : 64, extraDepth: random.below(3),
        dense: random.chance(2))
      let view = arena.root(version: 1, tables: [0, arena.table(rows, schema, shape)])
      #expect(try view.tableCount == 2)
      #expect(try view.table(0).count == 0)
      #expect(try view.table(0).find(key: 5) == nil)
      #expect(try view.table(9).rootEntry == 0)
      let table = try view.table(1)
      #expect(table.count == rows.count)
      try expect(table, holds: rows, schema)
      let known = Set(rows.map(\.key))
      for row in rows.prefix(300) {
        for key in [row.key &+ 1, row.key &- 1, row.key &+ 300] where !known.contains(key) {
          #expect(try table.find(key: key) == nil)
        }
      }
    }
  }

  private func expect(_ table: TableView, holds rows: [TestRow], _ schema: TypeSchema) throws {
    var cursor = table.rows()
    for row in rows {
      let found = try #require(try table.find(key: row.key))
      let next = try #require(try cursor.next())
      #expect(found.key == row.key && next.key == row.key && found.row == next.row)
      for column in row.values.indices {
        let value = try found.leaf.value(found.row, column: column, in: schema)
        if !TestArena.isIdentical(value, row.values[column]) {
          Issue.record("\(value) is not \(row.values[column]) in column \(column)")
        }
      }
    }
    #expect(try cursor.next() == nil)
  }

  /// Cursors from any key, both ways, against the sorted keys.
  @Test func cursors() throws {
    var random = TestRandom(seed: freshSeed("cursors"))
    let schema = TypeSchema("Plain", [PropertySchema("n", .int64)])
    for round in 0..<20 {
      let keys = random.keys(1 + random.below(2000))
      let arena = TestArena(capacity: 8 << 20)
      let shape = TestShape(
        salt: random.next(), leafRows: round % 2 == 0 ? 256 : 30, fanOut: round % 2 == 0 ? 64 : 4,
        dense: random.chance(2))
      let entry = arena.table(keys.map { TestRow(key: $0, values: [.int($0 / 2)]) }, schema, shape)
      let table = try arena.root(version: 1, tables: [entry]).table(0)
      var starts: [Int64] = [.min, .max, 0]
      for _ in 0..<30 { starts.append(random.pick(keys) &+ Int64(random.below(7) - 3)) }
      for start in starts {
        var up = table.rows(from: start)
        var down = table.rowsBackward(from: start)
        let above = keys.filter { $0 >= start }.prefix(400)
        let below = keys.filter { $0 <= start }.reversed().prefix(400)
        for key in above { #expect(try up.next()?.key == key) }
        for key in below { #expect(try down.next()?.key == key) }
        if above.count < 400 { #expect(try up.next() == nil) }
        if below.count < 400 { #expect(try down.next() == nil) }
      }
      for offset in [0, 1, keys.count / 2, keys.count - 1] where offset < keys.count {
        #expect(try table.row(at: offset)?.key == keys[offset])
      }
      #expect(try table.row(at: keys.count) == nil)
      #expect(try table.row(at: -1) == nil)
    }
  }

  @Test func leafBounds() throws {
    var random = TestRandom(seed: freshSeed("leafBounds"))
    let schema = TypeSchema("Plain", [PropertySchema("n", .int64)])
    for _ in 0..<40 {
      let keys = Array(random.keys(1 + random.below(255)).prefix(256))
      let arena = TestArena(capacity: 1 << 20)
      let rows = keys.map { TestRow(key: $0, values: [.int(1)]) }
      let table = try arena.root(version: 1, tables: [arena.table(rows, schema, TestShape(salt: 1))]).table(0)
      let leaf = try #require(try table.leaf(for: keys[0]))
      let buffer = UnsafeMutablePointer<Int64>.allocate(capacity: 256)
      defer { buffer.deallocate() }
      leaf.copyKeys(to: buffer)
      #expect(keys == Array(UnsafeBufferPointer(start: buffer, count: keys.count)))
      for key in keys.flatMap({ [$0, $0 &- 1, $0 &+ 1] }) + [.min, .max, 0] {
        #expect(leaf.lowerBound(key) == keys.firstIndex { $0 >= key } ?? keys.count)
        #expect(leaf.upperBound(key) == keys.firstIndex { $0 > key } ?? keys.count)
        #expect(leaf.find(key) == keys.firstIndex(of: key) ?? -1)
      }
    }
  }
}

import ReefEngine
import Testing

/// A change as the tests compare it: without where it lies.
private struct Change: Equatable {
  var kind: RowChange.Kind
  var key: Int64
  var columns: [Int] = []
}

@Suite struct DiffTests {
  /// Random edits, trees of equal and of different shapes: the walk equals a comparison of all rows.
  @Test func editsMatchBruteForce() throws {
    var random = TestRandom(seed: freshSeed("editsMatchBruteForce"))
    for round in 0..<40 {
      let schema = round % 3 == 0 ? testSchema(keyed: round % 2 == 0) : smallSchema
      let size = [0, 1, 50, 300, 900, 2500][round % 6]
      let rows = random.keys(schema.properties.count > 5 ? min(size, 400) : size).map { random.row($0, schema) }
      let arena = TestArena()
      let shape = randomShape(&random)
      let before = try table(arena, rows, schema, shape)
      var now = rows
      for step in 0..<6 {
        edit(&now, schema, step, &random)
        // The same cut shares what did not change; another cut moves every boundary.
        let after = try table(arena, now, schema, random.chance(3) ? randomShape(&random) : shape)
        let expected = bruteForce(rows, now)
        if try changes(before, after, schema) != expected {
          Issue.record("round \(round), step \(step): \(rows.count) rows to \(now.count)")
        }
        let back = try changes(after, before, schema)
        #expect(back == bruteForce(now, rows))
        let lists = try TableChanges(TableDiff(from: before, to: after, schema: schema))
        #expect(lists.inserted == expected.filter { $0.kind == .inserted }.map(\.key))
        #expect(lists.modified.map(\.columns.columns) == expected.filter { $0.kind == .modified }.map(\.columns))
        #expect(lists.isEmpty == expected.isEmpty)
      }
    }
  }

  private let smallSchema = TypeSchema(
    "Small",
    [
      PropertySchema("n", .int64), PropertySchema("s", .string), PropertySchema("o", .int16, isOptional: true),
      PropertySchema("d", .double),
    ])

  private func randomShape(_ random: inout TestRandom) -> TestShape {
    let small = random.chance(2)
    return TestShape(
      salt: random.next(), leafRows: small ? 20 : 256, fanOut: small ? 4 : 64, extraDepth: random.below(3),
      dense: random.chance(2))
  }

  private func table(
    _ arena: TestArena, _ rows: [TestRow], _ schema: TypeSchema, _ shape: TestShape
  ) throws -> TableView {
    let entry = arena.table(rows, schema, shape)
    return try arena.root(version: 1, tables: [entry]).table(0)
  }

  private func edit(_ rows: inout [TestRow], _ schema: TypeSchema, _ step: Int, _ random: inout TestRandom) {
    let edits = [1, 1, 3, 40, 400, 2][step]
    for _ in 0..<edits {
      switch rows.isEmpty ? 0 : random.below(4) {
      case 0:
        let near = rows.isEmpty ? 0 : random.pick(rows).key
        let key = random.chance(4) ? Int64(bitPattern: random.next()) : near &+ Int64(random.below(5) - 2)
        let at = rows.firstIndex { $0.key >= key } ?? rows.count
        if at == rows.count || rows[at].key != key { rows.insert(random.row(key, schema), at: at) }
      case 1:
        let at = random.below(rows.count)
        rows.removeSubrange(at..<min(rows.count, at + 1 + (random.chance(10) ? random.below(300) : 0)))
      default:
        let at = random.below(rows.count)
        let column = random.below(schema.properties.count)
        if case .integer(column) = schema.keyKind { continue }
        rows[at].values[column] = random.value(schema.properties[column])
      }
    }
    if random.chance(10) { rows = [] }
  }

  private func bruteForce(_ old: [TestRow], _ new: [TestRow]) -> [Change] {
    var result: [Change] = []
    let before = Dictionary(uniqueKeysWithValues: old.map { ($0.key, $0) })
    let after = Dictionary(uniqueKeysWithValues: new.map { ($0.key, $0) })
    for key in Set(before.keys).union(after.keys).sorted() {
      switch (before[key], after[key]) {
      case (let a?, let b?):
        let columns = a.values.indices.filter { !TestArena.isIdentical(a.values[$0], b.values[$0]) }
        if !columns.isEmpty { result.append(Change(kind: .modified, key: key, columns: columns)) }
      case (nil, _?): result.append(Change(kind: .inserted, key: key))
      default: result.append(Change(kind: .deleted, key: key))
      }
    }
    return result
  }

  private func changes(_ old: TableView, _ new: TableView, _ schema: TypeSchema) throws -> [Change] {
    var result: [Change] = []
    try TableDiff(from: old, to: new, schema: schema).forEach { (change) throws(StoreError) in
      #expect(change.old?.key ?? change.key == change.key && change.new?.key ?? change.key == change.key)
      #expect((change.old == nil) == (change.kind == .inserted) && (change.new == nil) == (change.kind == .deleted))
      result.append(Change(kind: change.kind, key: change.key, columns: change.columns.columns))
      return true
    }
    return result
  }

  /// What two versions share is not entered: shared nodes may be unreadable and the walk does not notice.
  @Test func sharedSubtreesAreNotRead() throws {
    let schema = smallSchema
    var rows = (0..<30_000).map {
      TestRow(key: Int64($0), values: [.int(Int64($0)), .string("s\($0 % 100)"), .null, .double(1)])
    }
    let arena = TestArena()
    let shape = TestShape(salt: 7)
    let before = arena.table(rows, schema, shape)
    let boundary = arena.used
    rows[12_345].values[0] = .int(-1)
    let old = try arena.root(version: 1, tables: [before]).table(0)
    let new = try arena.root(version: 2, tables: [arena.table(rows, schema, shape)]).table(0)
    // Only what the second version added, and the paths to it, may be read: ruin all leaves but one of the first.
    var ruined = 0
    try old.forEachLeaf { (leaf) throws(StoreError) in
      let offset = leaf.pointer - UnsafeRawPointer(arena.base)
      if leaf.find(12_345) < 0, offset < boundary {
        arena.base.storeBytes(of: 0xff, toByteOffset: offset, as: UInt8.self)
        ruined += 1
      }
      return true
    }
    #expect(ruined > 100)
    #expect(try changes(old, new, schema) == [Change(kind: .modified, key: 12_345, columns: [0])])
  }

  @Test func storedFormsDoNotMatter() throws {
    let schema = TypeSchema(
      "Forms", [PropertySchema("n", .int64), PropertySchema("s", .string), PropertySchema("b", .bool)])
    let arena = TestArena(capacity: 1 << 20)
    func view(_ columns: [UInt64], _ kind: UInt8 = NodeKind.leaf) throws -> TableView {
      let payload = arena.le(Int64(10)) + arena.le(UInt64(0)) + columns.flatMap { arena.le($0) }
      let leaf = arena.node(kind: kind, count: 2, payload: payload)
      return try arena.root(version: 1, tables: [arena.table(rows: 2, root: leaf, depth: 0, columns: 3)]).table(0)
    }
    func column(_ form: UInt8, _ payload: [UInt8], valueLength: Int = 0) -> UInt64 {
      arena.node(kind: NodeKind.column, form: form, count: 2, valueLength: valueLength, payload: payload)
    }
    let narrow = column(ColumnForm.int8, [5, 0xff])
    let wide = column(ColumnForm.int32, [5, 0, 0, 0, 0xff, 0xff, 0xff, 0xff])
    let fixed = column(ColumnForm.fixed, Array("abcd".utf8), valueLength: 2)
    let short = column(ColumnForm.short, [2, 0, 4, 0] + Array("abcd".utf8))
    let bits = column(ColumnForm.bits, [0, 0, 0, 0, 0, 0, 0, 0])
    #expect(try changes(view([narrow, fixed, bits]), view([wide, short]), schema).isEmpty)
    let other = column(ColumnForm.long, [1, 0, 0, 0, 4, 0, 0, 0] + Array("abcd".utf8))
    #expect(
      try changes(view([narrow, fixed]), view([0, other]), schema) == [
        Change(kind: .modified, key: 10, columns: [0, 1]), Change(kind: .modified, key: 11, columns: [0, 1]),
      ])
  }

  @Test func manyColumns() throws {
    let schema = TypeSchema("Wide", (0..<150).map { PropertySchema("c\($0)", .int16) })
    let row = TestRow(key: 1, values: (0..<150).map { .int(Int64($0)) })
    var changed = row
    for column in [0, 63, 64, 149] { changed.values[column] = .int(-1) }
    let arena = TestArena(capacity: 1 << 20)
    let old = try table(arena, [row], schema, TestShape(salt: 1))
    let new = try table(arena, [changed], schema, TestShape(salt: 1))
    #expect(try changes(old, new, schema) == [Change(kind: .modified, key: 1, columns: [0, 63, 64, 149])])
    var set = ColumnSet([3, 70])
    #expect(set.contains(3) && set.contains(70) && !set.contains(4) && !set.contains(700) && set.count == 2)
    #expect(set.isDisjoint(with: ColumnSet([4, 71])) && !set.isDisjoint(with: ColumnSet([70])))
    set.formUnion(ColumnSet([5, 140]))
    #expect(set.columns == [3, 5, 70, 140])
  }

  @Test func changedTables() throws {
    let arena = TestArena(capacity: 1 << 20)
    let rows = [TestRow(key: 1, values: [.int(1), .string("a"), .null, .double(0)])]
    let one = arena.table(rows, smallSchema, TestShape(salt: 1))
    let two = arena.table([], smallSchema, TestShape(salt: 1))
    let old = arena.root(version: 1, tables: [one, two])
    let new = arena.root(version: 2, tables: [one, one, two])
    #expect(try ReadView.changedTables(from: old, to: new) == [1, 2])
    let diff = TableDiff(from: try old.table(0), to: try new.table(0), schema: smallSchema)
    #expect(diff.isEmptyAtOnce)
  }

  @Test func damage() throws {
    var random = TestRandom(seed: freshSeed("damage"))
    let schema = smallSchema
    for _ in 0..<60 {
      let rows = random.keys(600).map { random.row($0, schema) }
      var now = rows
      edit(&now, schema, 3, &random)
      let arena = TestArena(capacity: 2 << 20)
      let shape = TestShape(salt: random.next(), leafRows: 20, fanOut: 4)
      let entries = [arena.table(rows, schema, shape), arena.table(now, schema, shape)]
      for _ in 0..<20 {
        for _ in 0..<(1 + random.below(20)) {
          let at = random.below(arena.used / 8) * 8
          let value = random.chance(2) ? UInt64(random.below(arena.used / 16)) : random.next()
          arena.base.storeBytes(of: value, toByteOffset: at, as: UInt64.self)
        }
        let view = ReadView(base: arena.base, limit: UInt64(arena.used), root: 0, version: 1)
        do {
          let diff = TableDiff(
            from: try TableView(view: view, entry: entries[0]), to: try TableView(view: view, entry: entries[1]),
            schema: schema)
          _ = try TableChanges(diff)
        } catch { _ = error }
      }
    }
  }
}

import Testing

@testable import ReefEngine

/// What an iteration reads of a column that it has checked.
@Suite struct CheckedColumnTests {
  /// It gives what the fully checked way gives, or declines.
  @Test func sameValues() throws {
    var random = TestRandom(seed: freshSeed("sameValues"))
    let schema = testSchema(keyed: true)
    var entered = 0
    for _ in 0..<6 {
      let rows = random.keys(400).map { random.row($0, schema) }
      let arena = TestArena()
      let table = try arena.root(version: 1, tables: [arena.table(rows, schema, TestShape(salt: random.next()))]).table(
        0)
      // Room behind the last node: else the last columns are all declined.
      let view = ReadView(base: table.view.base, limit: UInt64(arena.capacity), root: 0, version: 1)
      var cursor = table.leaves()
      while let leaf = try cursor.next() {
        let sound = leaf.soundColumns(.max >> 24)
        for column in 0..<schema.properties.count where sound >> UInt64(column) & 1 != 0 {
          guard let checked = view.checkedColumn(leaf.columnEntry(column)) else { continue }
          entered += 1
          let full = try leaf.column(column)
          for row in 0..<leaf.count {
            #expect(checked.isNull(row) == full.isNull(row) && checked.int(row) == full.int(row))
            #expect(checked.bool(row) == full.bool(row) && checked.uuid(row) == full.uuid(row))
            #expect(checked.float(row).bitPattern == full.float(row).bitPattern)
            #expect(checked.bytes(row).elementsEqual(full.bytes(row)))
          }
        }
        #expect(sound >> UInt64(schema.properties.count) == 0)
      }
    }
    #expect(entered > 50)
  }

  /// Another process scribbles over the node after it was checked: nothing beyond the version is read.
  @Test func scribbledNodes() throws {
    var random = TestRandom(seed: freshSeed("scribbledNodes"))
    let arena = TestArena(capacity: 1 << 20)
    let entry = arena.node(
      kind: NodeKind.column, form: ColumnForm.int64, count: 256, payload: .init(repeating: 7, count: 2048))
    let node = arena.base + Int(entry & 0xffff_ffff) * 16
    for _ in 0..<4000 {
      node.storeBytes(of: random.next(), as: UInt64.self)
      node.storeBytes(of: UInt8(random.below(16)) | UInt8(random.below(16)) << 4, toByteOffset: 1, as: UInt8.self)
      let limit = UInt64(Int(entry & 0xffff_ffff) * 16 + random.below(70_000))
      let view = ReadView(base: arena.base, limit: limit, root: 0, version: 1)
      guard let column = view.checkedColumn(entry) else { continue }
      let size = ColumnForm.fixedSize(column.form, count: 256, valueLength: column.valueLength)
      let end = column.values + size - UnsafeRawPointer(arena.base)
      #expect(end <= Int(limit), "form \(column.form)")
      if let nulls = column.nulls {
        #expect(UnsafeRawPointer(nulls + 4) - UnsafeRawPointer(arena.base) <= Int(limit))
      }
      #expect(column.blobs == nil)
      for row in [0, 255] where column.form == ColumnForm.fixed { #expect(column.bytes(row).count < 128) }
    }
    // Entries that lead anywhere.
    let view = ReadView(base: arena.base, limit: UInt64(arena.used), root: 0, version: 1)
    for entry in [0, UInt64(arena.used / 16), 0xffff_ffff, .max] { #expect(view.checkedColumn(entry) == nil) }
  }

  /// A column whose node is damaged is not said to be sound, and the rest is.
  @Test func damagedColumns() throws {
    var random = TestRandom(seed: freshSeed("damagedColumns"))
    let schema = testSchema(keyed: true)
    let rows = random.keys(200).map { random.row($0, schema) }
    let arena = TestArena()
    let table = try arena.root(version: 1, tables: [arena.table(rows, schema, TestShape(salt: 3))]).table(0)
    var cursor = table.leaves()
    let leaf = try #require(try cursor.next())
    let all = leaf.soundColumns(.max)
    #expect(all == (1 << UInt64(leaf.columnCount)) - 1)
    for column in 0..<leaf.columnCount where leaf.columnEntry(column) != 0 {
      let node = arena.base + Int(leaf.columnEntry(column) & 0xffff_ffff) * 16
      let head = node.load(as: UInt64.self)
      node.storeBytes(of: head & ~0xff, as: UInt64.self)
      #expect(leaf.soundColumns(.max) & 1 << UInt64(column) == 0)
      node.storeBytes(of: head, as: UInt64.self)
    }
    #expect(leaf.soundColumns(.max) == all && leaf.soundColumns(0) == 0)
  }
}

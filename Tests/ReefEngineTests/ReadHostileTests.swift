import Foundation
import ReefEngine
import Testing

/// Damage must end in an error or an answer: never in a trap, a hang, or a read outside of the file.
@Suite struct ReadHostileTests {
  @Test func randomDamage() throws {
    var random = TestRandom(seed: freshSeed("randomDamage"))
    let schema = testSchema(keyed: true)
    let deadline = Date().addingTimeInterval(6)
    for round in 0..<400 where Date() < deadline {
      let rows = random.keys(200 + random.below(300)).map { random.row($0, schema) }
      let arena = TestArena(capacity: 4 << 20)
      let shape = TestShape(salt: random.next(), leafRows: 50, fanOut: 4, dense: random.chance(2))
      let whole = arena.root(version: 1, tables: [arena.table(rows, schema, shape)])
      let saved = UnsafeMutableRawPointer.allocate(byteCount: arena.used, alignment: 16)
      defer { saved.deallocate() }
      saved.copyMemory(from: arena.base, byteCount: arena.used)
      for _ in 0..<(round == 0 ? 1 : 12) {
        for _ in 0..<(1 + random.below(30)) { damage(arena, &random) }
        // At times the file is cut short: everything at and beyond the limit is out of bounds.
        let limit = random.chance(4) ? UInt64(random.below(arena.used)) : UInt64(arena.used)
        let view = ReadView(base: whole.base, limit: limit, root: whole.root, version: 1)
        do { try readEverything(view, schema) } catch { _ = error }
        arena.base.copyMemory(from: saved, byteCount: arena.used)
      }
    }
  }

  private func damage(_ arena: TestArena, _ random: inout TestRandom) {
    // Structure lies in the last nodes written: aim there half of the time.
    let at = random.chance(2) ? arena.used - 1 - random.below(min(arena.used - 1, 4000)) : random.below(arena.used)
    switch random.below(4) {
    case 0: arena.base.storeBytes(of: UInt8(truncatingIfNeeded: random.next()), toByteOffset: at, as: UInt8.self)
    case 1: arena.base.storeBytes(of: random.chance(2) ? 0xff : 0, toByteOffset: at, as: UInt8.self)
    case 2:  // an entry that leads to some other node
      let word = at / 8 * 8
      arena.base.storeBytes(of: UInt64(random.below(arena.used / 16)), toByteOffset: word, as: UInt64.self)
    default:  // a header of another kind
      let head = at / 16 * 16
      arena.base.storeBytes(of: UInt8(random.below(10)), toByteOffset: head, as: UInt8.self)
    }
  }

  private func readEverything(_ view: ReadView, _ schema: TypeSchema) throws(StoreError) {
    let table = try view.table(0)
    _ = try? table.find(key: 17)
    _ = try? table.index(0)
    var sum = 0
    var cursor = table.leavesBackward()
    while let leaf = try? cursor.next() { sum &+= leaf.count }
    var rows = table.rows()
    while let position = try rows.next() {
      for column in schema.properties.indices {
        if let value = try? position.leaf.value(position.row, column: column, in: schema) { sum &+= value.hashValue }
        if let column = try? position.leaf.column(column) {
          sum &+= column.bytes(position.row).count &+ Int(truncatingIfNeeded: column.blobEntry(position.row))
        }
      }
    }
  }

  /// Trees that lead back into themselves, with every child present: 64 to the power of 12 paths.
  @Test func cycles() throws {
    for kind in [NodeKind.innerDense, NodeKind.innerKeyed] {
      let arena = TestArena(capacity: 1 << 20)
      let entries = [UInt64](repeating: UInt64(arena.used / 16), count: 64)
      let head =
        kind == NodeKind.innerDense
        ? arena.le(Int64(0)) : (0..<64).flatMap { arena.le(Int64($0)) }
      let node = arena.node(
        kind: kind, form: 10, count: 64, payload: head + entries.flatMap { arena.le($0) })
      let view = arena.root(version: 1, tables: [arena.table(rows: 5, root: node, depth: 12, columns: 1)])
      #expect(throws: StoreError.self) { try view.table(0).find(key: 3) }
      #expect(throws: StoreError.self) {
        var cursor = try view.table(0).leaves()
        while try cursor.next() != nil {}
      }
      let deep = arena.root(version: 1, tables: [arena.table(rows: 5, root: node, depth: 13, columns: 1)])
      #expect(throws: StoreError.self) { try deep.table(0) }
    }
  }
  /// Twelve levels of 64 children each, all the same node, without a single row below: 64 to the power of 11 visits.
  @Test func bushWithoutRows() throws {
    let arena = TestArena(capacity: 1 << 20)
    var entry: UInt64 = 0
    for level in 0..<12 {
      let entries = [UInt64](repeating: entry, count: 64)
      entry = arena.node(
        kind: NodeKind.innerDense, form: UInt8(level), count: 64,
        payload: arena.le(Int64(level)) + entries.flatMap { arena.le($0) })
    }
    let view = arena.root(version: 1, tables: [arena.table(rows: 5, root: entry, depth: 12, columns: 1)])
    #expect(throws: StoreError.self) {
      var cursor = try view.table(0).leavesBackward()
      while try cursor.next() != nil {}
    }
  }
}

import Foundation
import Testing

@testable import ReefEngine

/// A condition gives one answer, with an index and without: the same table is asked with a schema that knows of its
/// indexes and with one that does not.
@Suite struct IndexQueryTests {
  @Test(arguments: [ValueType.int64, .string])
  func answersAgree(_ keyType: ValueType) throws {
    var random = TestRandom(seed: freshSeed("answersAgree \(keyType)"))
    let type = IndexMaintenanceTests.schema(keyType)
    var plain = type
    for index in plain.properties.indices { plain.properties[index].isIndexed = false }
    // The kind of key decides how its column is read, so it stays; nothing looks it up in the key index without a plan.
    let engine = try Engine.open(
      EngineConfiguration(
        session: Session.Options(location: .memory("query-\(getpid())-\(UInt32.random(in: 0...UInt32.max))")),
        durability: .memory),
      Schema([type]))
    defer { engine.close() }
    var rows: [TestRow] = []
    let transaction = try engine.write()
    for number in 0..<2500 {
      let key: Value = keyType == .string ? .string("key \(number)") : .int(Int64(number) * 3)
      var values = [key]
      for property in type.properties.dropFirst() {
        values.append(
          property.isOptional && random.chance(3) ? .null : random.value(property.type, spread: random.below(4)))
      }
      let objectKey = try transaction.insert(table: 0) { encoder in
        for (column, value) in values.enumerated() { encoder.set(column: column, value: value) }
      }
      rows.append(TestRow(key: objectKey, values: values))
    }
    // In the transaction, then in the version.
    let before = try ask(try transaction.readView, type, plain, rows, &random)
    try transaction.commit()
    let after = try ask(try engine.pin().view, type, plain, rows, &random)
    print("answersAgree \(keyType): \(before + after) conditions answered by an index")
    #expect(before > 5 && after > 5)
  }

  private func ask(
    _ view: ReadView, _ type: TypeSchema, _ plain: TypeSchema, _ rows: [TestRow], _ random: inout TestRandom
  ) throws -> Int {
    let table = try view.table(0)
    var used = 0
    for _ in 0..<250 {
      let predicate = random.predicate(type, rows, depth: 2)
      let compiled = try CompiledPredicate(predicate, for: type)
      if try table.candidates(for: compiled) != nil { used += 1 }
      let keys = try table.keys(where: compiled)
      let expected = rows.filter { PredicateOracle.matches(predicate, $0) }.map(\.key)
      if keys != expected { Issue.record("\(keys.count) instead of \(expected.count) keys for \(predicate)") }
      #expect(try table.count(where: compiled) == expected.count)
      #expect(try table.first(where: compiled)?.key == expected.first)
      if type.key.map({ plain.properties[$0].type }) == .int64 {
        let scanned = try CompiledPredicate(predicate, for: plain)
        #expect(scanned.accesses.isEmpty)
        #expect(try table.keys(where: scanned) == expected)
      }
    }
    try askForFirst(table, type, rows, &random)
    return used
  }

  /// The index alone says which row is the first, says that there is none, or leaves it to others.
  private func askForFirst(
    _ table: TableView, _ type: TypeSchema, _ rows: [TestRow], _ random: inout TestRandom
  ) throws {
    var (answered, absent) = (0, 0)
    for _ in 0..<800 {
      let column = random.below(type.properties.count)
      let property = type.properties[column]
      // Values of rows, of other rows, and now and then of another type.
      let value =
        random.chance(2)
        ? random.pick(rows).values[random.chance(10) ? random.below(type.properties.count) : column]
        : random.value(property.type, spread: random.below(4))
      let predicate = Predicate.compare(column: column, .equal, value)
      let expected = rows.first { PredicateOracle.matches(predicate, $0) }?.key
      switch try table.firstIndexed(predicate, for: type) {
      case .unknown: continue
      case .absent:
        absent += 1
        #expect(expected == nil, "\(property.name) == \(value)")
      case .row(let position):
        answered += 1
        #expect(position.key == expected, "\(property.name) == \(value)")
      }
    }
    if case .integer = type.keyKind { #expect(answered > 5 && absent > 5) }
    #expect(try isUnknown(table.firstIndexed(.always(true), for: type)))
    #expect(try isUnknown(table.firstIndexed(.compare(column: 99, .equal, .int(1)), for: type)))
  }

  private func isUnknown(_ found: TableView.IndexedFirst) -> Bool {
    if case .unknown = found { true } else { false }
  }

  /// What an index is asked for, and what it cannot answer.
  @Test func accesses() throws {
    let schema = TypeSchema(
      "Ship",
      [
        PropertySchema("name", .string), PropertySchema("speed", .double, isOptional: true, isIndexed: true),
        PropertySchema("class", .string, isIndexed: true), PropertySchema("crew", .int16),
      ], key: 0)
    func positions(_ predicate: ReefEngine.Predicate) -> [Int] {
      IndexAccess.all(predicate, for: schema).map(\.position)
    }
    let slow = ReefEngine.Predicate.compare(column: 1, .less, .double(3))
    let scout = ReefEngine.Predicate.compare(column: 2, .equal, .string("scout"))
    let named = ReefEngine.Predicate.compare(column: 0, .equal, .string("Rocinante"))
    #expect(positions(slow) == [0])
    #expect(positions(.and([slow, scout, named])) == [0, 1, -1])
    #expect(positions(.or([scout, .text(column: 2, .prefix, .string("tan"))])) == [1])
    #expect(positions(.or([scout, slow])) == [])
    #expect(positions(.or([.and([slow, scout]), .and([named, scout])])) == [1])
    #expect(positions(.not(scout)) == [])
    #expect(positions(.compare(column: 3, .equal, .int(4))) == [])
    // A constant of another kind is compared by value, which is not how the index is ordered.
    #expect(positions(.compare(column: 1, .equal, .int(3))) == [])
    #expect(positions(.compare(column: 1, .equal, .null)) == [0])
    #expect(positions(.compare(column: 1, .less, .null)) == [])
    #expect(positions(.compare(column: 1, .notEqual, .double(3))) == [])
    #expect(positions(.text(column: 2, .contains, .string("a"))) == [])
  }
}

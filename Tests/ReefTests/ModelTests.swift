import Foundation
import Reef
import Testing

@Suite struct ModelTests {
  @Test func schemaFollowsTheDeclaration() {
    #expect(
      Spaceship.schema
        == TypeSchema(
          "Spaceship",
          [
            PropertySchema("id", .int64), PropertySchema("name", .string, isIndexed: true),
            PropertySchema("maxSpeed", .double), PropertySchema("launched", .date, isOptional: true),
          ], key: 0))
    let names = Everything.schema.properties.map(\.name)
    #expect(!names.contains("scratch") && !names.contains("double2") && !names.contains("shared"))
    #expect(names.contains("observed") && names.contains("int16"))
    #expect(Everything.schema.properties.map(\.type).contains(.uint64))
    #expect(Outer.Package.schema.name == "Package" && Outer.Package.schema.properties[1].name == "default")
    #expect(Outer.Package.schema.key == 0 && LogLine.schema.key == nil)
    #expect(Spaceship.columns.maxSpeed.number == 2)
  }

  @Test(arguments: UInt64(1)...5)
  func everyTypeComesBack(seed: UInt64) throws {
    var random = SeededRandom(seed)
    let store = try Store(inMemory: freshName(), models: Everything.self)
    let objects = (0..<700).map { Everything.random(id: $0, &random) }
    try store.write { try $0.insert(contentsOf: objects) }
    let snapshot = try store.snapshot()
    for object in objects {
      let view = try #require(snapshot[Everything.self, key: object.id])
      #expect(view.value == object, "seed \(seed)")
      #expect(view.string == object.string && Array(view.stringUTF8) == Array(object.string.utf8))
      #expect(
        view.stringOrNil == object.stringOrNil
          && view.stringOrNilUTF8.map(Array.init) == object.stringOrNil.map { Array($0.utf8) })
      #expect(Data(view.dataBytes) == object.data && view.uuid == object.uuid && view.uint64 == object.uint64)
      #expect(view.intOrNil == object.intOrNil && view.uuidOrNil == object.uuidOrNil)
    }
    #expect(snapshot.objects(Everything.self).values == objects)
    #expect(snapshot.damage == nil)
  }

  @Test func keysOfEachKind() throws {
    let store = try Store(inMemory: freshName(), models: Outer.Package.self, Session.self, LogLine.self)
    let token = UUID()
    let (first, second) = try store.write { transaction in
      for name in ["zlib", "apt", "bash", "é", ""] {
        try transaction.insert(Outer.Package(name: name, value: Int32(name.utf8.count)))
      }
      try transaction.insert(Session(token: token, user: "ann"))
      let first = try transaction.insert(LogLine(text: "one", level: -1))
      let second: ObjectKey = try transaction.insert(LogLine(text: "two", level: 2))
      return (first, second)
    }
    let snapshot = try store.snapshot()
    #expect(snapshot[Outer.Package.self, key: "bash"]?.value.value == 4)
    #expect(snapshot[Outer.Package.self, key: "nope"] == nil)
    #expect(snapshot.objects(Outer.Package.self).keys == ["", "apt", "bash", "zlib", "é"])
    #expect(snapshot.objects(Outer.Package.self).first?.name == "")
    #expect(snapshot[Session.self, key: token]?.user == "ann")
    #expect(snapshot[Session.self, key: UUID()] == nil)
    #expect(first < second && snapshot[LogLine.self, key: second]?.text == "two")
    #expect(snapshot.objects(LogLine.self).map(\.text) == ["one", "two"])
    #expect(snapshot.objects(LogLine.self).keys == [first, second])
  }

  @Test func bytesInPlace() throws {
    let store = try Store(inMemory: freshName(), models: Spaceship.self)
    let long = String(repeating: "Ω", count: 5000)
    try store.write {
      try $0.insert(Spaceship(id: 1, name: "Rocinante"))
      try $0.insert(Spaceship(id: 2, name: long))
    }
    let snapshot = try store.snapshot()
    let ship = try #require(snapshot[Spaceship.self, key: 1])
    #expect(ship.nameUTF8 == "Rocinante" && ship.nameUTF8.count == 9)
    #expect(ship.nameUTF8.withUnsafeBytes { $0[0] } == UInt8(ascii: "R"))
    let other = try #require(snapshot[Spaceship.self, key: 2])
    #expect(String(other.nameUTF8) == long && other.name == long)
  }

  /// A conformance as the documentation of `Model` shows it.
  @Test func writtenByHand() throws {
    let store = try Store(inMemory: freshName(), models: Point.self)
    try store.write { transaction in
      try transaction.insert(Point(id: 7, label: "seven"))
      try transaction.update(Point.self, key: 7) { $0.label = nil }
    }
    let snapshot = try store.snapshot()
    #expect(snapshot[Point.self, key: 7]?.value == Point(id: 7, label: nil))
    #expect(snapshot.objects(Point.self).where { $0.label == nil }.count == 1)
  }
}

struct Point: Equatable {
  var id: Int
  var label: String?
}

extension Point: Model {
  typealias PrimaryKey = Int
  static let schema = TypeSchema(
    "Point", [PropertySchema("id", .int64), PropertySchema("label", .string, isOptional: true)], key: 0)

  struct Columns: Sendable {
    var id: Column<Point, Int> { Column(0) }
    var label: Column<Point, String?> { Column(1) }
  }
  static var columns: Columns { Columns() }

  struct View: ObjectView {
    typealias Object = Point
    let _row: Row
    var id: Int { _row.integerKey }
    var label: String? { _row.value(1) }
  }
  struct Mutable: MutableObject {
    typealias Object = Point
    let _change: ObjectChange
    var id: Int { _change.integerKey }
    var label: String? {
      get { _change.value(1) }
      nonmutating set { _change.set(1, newValue) }
    }
  }
  func encode(into encoder: inout RowEncoder) {
    encoder.set(0, id)
    encoder.set(1, label)
  }
  init(row: Row) { self.init(id: row.integerKey, label: row.value(1)) }
}

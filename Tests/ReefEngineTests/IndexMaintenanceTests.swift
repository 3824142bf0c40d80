import Foundation
import Testing

@testable import ReefEngine

/// Indexes follow their table through random transactions: at every version each index holds exactly the pairs that the
/// rows call for, in order, and the key index finds every object.
@Suite struct IndexMaintenanceTests {
  static let types: [ValueType] = ValueType.allCases

  static func schema(_ key: ValueType) -> TypeSchema {
    var properties = [PropertySchema("id", key)]
    for type in types {
      properties.append(PropertySchema("\(type)", type, isIndexed: true))
      properties.append(PropertySchema("optional \(type)", type, isOptional: true, isIndexed: true))
    }
    return TypeSchema("Thing", properties, key: 0)
  }

  static func key(_ type: ValueType, _ random: inout TestRandom) -> Value {
    let number = random.below(900)
    switch type {
    case .string:
      // Some share their first 248 bytes: their index keys end in a hash.
      return .string(number % 5 == 0 ? String(repeating: "k", count: 300) + "\(number)" : "key \(number)")
    case .uuid: return .uuid(UUIDBytes(high: UInt64(number % 3), low: UInt64(number)))
    default: return .int(Int64(number) * (number % 2 == 0 ? 1 : 1 << 40))
    }
  }

  @Test(arguments: [ValueType.int64, .string, .uuid])
  func indexesFollowRows(_ keyType: ValueType) throws {
    var random = TestRandom(seed: freshSeed("indexesFollowRows \(keyType)"))
    let type = Self.schema(keyType)
    let name = "indexes-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
    // One of them on disk, where entries carry checksums.
    let path = FileManager.default.temporaryDirectory.path + "/\(name).reef"
    let onDisk = keyType == .uuid
    defer { if onDisk { for suffix in ["", ".lock", ".note"] { unlink(path + suffix) } } }
    let options = Session.Options(location: onDisk ? .file(path) : .memory(name))
    func open() throws -> Engine {
      try Engine.open(EngineConfiguration(session: options, durability: .memory), Schema([type]))
    }
    var engine = try open()
    defer { engine.close() }
    var objects: [Value: Int64] = [:]
    for round in 0..<25 {
      let before = objects
      let transaction = try engine.write()
      for _ in 0..<random.below(90) {
        try change(transaction, type, &objects, &random)
        // Written and read in the same transaction.
        if random.chance(100) { try verify(try transaction.readView, type, objects) }
      }
      if random.chance(5) {
        transaction.rollback()
        objects = before
      } else {
        try transaction.commit()
      }
      if round % 3 == 0 { try verify(try engine.pin().view, type, objects) }
      if onDisk {
        let head = RootSlot.newestHead(
          engine.session.data.base, session: engine.session.lock.word(LockLayout.Header.session))
        #expect(Checks.holds(try #require(head), after: 0, in: engine.session.data))
        if random.chance(6) {
          engine.close()
          engine = try open()
        }
      }
    }
    try verify(try engine.pin().view, type, objects)
    let transaction = try engine.write()
    for key in objects.values.shuffled(using: &random) { try transaction.delete(table: 0, key: key) }
    try transaction.commit()
    try verify(try engine.pin().view, type, [:])
  }

  private func change(
    _ transaction: WriteTransaction, _ type: TypeSchema, _ objects: inout [Value: Int64], _ random: inout TestRandom
  ) throws {
    switch random.below(4) {
    case 0, 1:
      let key = Self.key(type.properties[0].type, &random)
      if objects[key] != nil {
        #expect(throws: StoreError.self) {
          try transaction.insert(table: 0) { $0.set(column: 0, value: key) }
        }
        return
      }
      let values = type.properties.dropFirst().map { property in
        property.isOptional && random.chance(3) ? Value.null : random.value(property.type, spread: random.below(4))
      }
      objects[key] = try transaction.insert(table: 0) { encoder in
        encoder.set(column: 0, value: key)
        for (index, value) in values.enumerated() { encoder.set(column: index + 1, value: value) }
      }
    case 2:
      guard let object = objects.randomElement(using: &random) else { return }
      let column = 1 + random.below(type.properties.count - 1)
      let property = type.properties[column]
      let value =
        property.isOptional && random.chance(3) ? Value.null : random.value(property.type, spread: random.below(4))
      _ = try transaction.update(table: 0, key: object.value, column: column, value: value)
    default:
      guard let object = objects.randomElement(using: &random) else { return }
      #expect(try transaction.delete(table: 0, key: object.value))
      objects[object.key] = nil
    }
  }

  private func verify(_ view: ReadView, _ type: TypeSchema, _ objects: [Value: Int64]) throws {
    let table = try view.table(0)
    #expect(table.count == objects.count)
    var expected = [[IndexPair]](repeating: [], count: type.indexedColumns.count)
    var key = IndexKey()
    var rows = 0
    for (_, objectKey) in objects {
      let found = try table.find(key: objectKey)
      guard let position = found else {
        Issue.record("an object is missing")
        continue
      }
      rows += 1
      for (index, column) in type.indexedColumns.enumerated() {
        let value = try position.leaf.value(position.row, column: column, in: type)
        let fits = key.encode(value, type: type.properties[column].type, isOptional: type.properties[column].isOptional)
        #expect(fits)
        expected[index].append(IndexPair(key: key.bytes, objectKey: objectKey))
      }
    }
    for index in expected.indices {
      let (root, depth) = try table.index(index)
      let indexView = IndexView(view: view, root: root, depth: depth)
      try indexView.check()
      var found: [IndexPair] = []
      var cursor = try indexView.start()
      while let objectKey = try cursor.next() {
        cursor.copyKey(to: &key)
        found.append(IndexPair(key: key.bytes, objectKey: objectKey))
      }
      #expect(found == expected[index].sorted(), "\(type.properties[type.indexedColumns[index]].name)")
    }
    guard case .indexed = type.keyKind else { return }
    for (value, objectKey) in objects {
      let bytes: [UInt8] =
        switch value {
        case .string(let text): Array(text.utf8)
        case .uuid(let uuid):
          (0..<16).map { UInt8(truncatingIfNeeded: ($0 < 8 ? uuid.high : uuid.low) >> UInt64(56 - $0 % 8 * 8)) }
        default: []
        }
      let found = try KeyLookup.find(view, table: 0, column: 0, bytes: bytes, key: &key)
      #expect(found == objectKey)
    }
  }
}

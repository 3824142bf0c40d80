import Foundation
import ReefEngine
import ReefSystem

/// The store that damage is done to: a bit of everything that the format knows, and what must be found in it.
///
/// It is made on a disk, so that it is a durable store with all that belongs to one; the damaged copies lie in memory.
struct SampleStore {
  typealias Row = [Value]
  /// Rows by object key, table by table.
  typealias Model = [[Int64: Row]]

  static let items = TypeSchema(
    "Item",
    [
      PropertySchema("id", .int64), PropertySchema("quantity", .int32, isIndexed: true),
      PropertySchema("level", .int8), PropertySchema("price", .double), PropertySchema("ratio", .float),
      PropertySchema("flag", .bool), PropertySchema("name", .string, isIndexed: true),
      PropertySchema("note", .string, isOptional: true), PropertySchema("tag", .uuid),
      PropertySchema("when", .date, isOptional: true), PropertySchema("raw", .data), PropertySchema("big", .uint64),
    ], key: 0)
  static let named = TypeSchema("Named", [PropertySchema("key", .string), PropertySchema("value", .int64)], key: 0)
  static let sparse = TypeSchema(
    "Sparse", [PropertySchema("id", .int64), PropertySchema("value", .int32, isOptional: true, isIndexed: true)],
    key: 0)
  static let schema = Schema([items, named, sparse])

  /// The file as a clean close left it.
  var closed: [UInt8]
  /// The file while the store was open, as a killed process leaves it.
  var killed: [UInt8]
  /// The same file at an earlier clean close.
  var earlier: [UInt8]
  /// The lock file of the open store.
  var lock: [UInt8]
  /// What each version holds.
  var history: [UInt64: Model]
  var newest: UInt64

  /// `parts`: of how many parts one is made, for a smaller one. `isChecked`: fails where `folder` lies in memory.
  init(seed: UInt64, folder: String, parts: Int = 1, isChecked: Bool = true) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/sample.reef"
    var random = Mix(seed, 1)
    var model: Model = [[:], [:], [:]]
    var history: [UInt64: Model] = [:]
    func file(_ path: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) }
    var engine = try Examination.open(path)
    history[engine.newestVersion] = model
    func commit(_ body: (WriteTransaction) throws -> Void) throws {
      let transaction = try engine.write(.after(.seconds(10)))
      try body(transaction)
      history[try transaction.commit(durability: .full)] = model
    }
    try commit { transaction in
      for key in 0..<Int64(400 / parts) { try Self.insertItem(key, transaction, &model, &random) }
      for key in 0..<Int64(300 / parts) { try Self.insertNamed(key, transaction, &model, &random) }
      for _ in 0..<400 / parts {
        try Self.insertSparse(Int64(bitPattern: random.next()) >> 4, transaction, &model, &random)
      }
    }
    engine.close()
    earlier = try file(path)
    engine = try Examination.open(path)
    for round in 0..<6 {
      try commit { transaction in
        for _ in 0..<10 {
          let key = Int64(random.below(400))
          if model[0][key] != nil { try Self.updateItem(key, transaction, &model, &random) }
        }
        for key in 0..<Int64(6) { try Self.insertItem(400 + Int64(round) * 6 + key, transaction, &model, &random) }
        if let key = model[2].keys.sorted().dropFirst(random.below(300)).first {
          try transaction.delete(table: 2, key: key)
          model[2][key] = nil
        }
        if round == 3 {
          for key in Int64(50)..<60 {
            try transaction.delete(table: 0, key: key)
            model[0][key] = nil
          }
        }
      }
    }
    killed = try file(path)
    lock = try file(path + ".lock")
    newest = engine.newestVersion
    engine.close()
    self.history = history
    closed = try file(path)
    guard closed.count > 65536, StoreFile.isChecked(closed) == isChecked else {
      throw TortureError("\(folder) lies in memory: the sample has to be made on a disk")
    }
  }

  // Rows

  private static func text(_ random: inout Mix, _ length: Int) -> String {
    let letters = Array("abcdefghijklmnopqrstuvwxyz ")
    return String((0..<length).map { _ in letters[random.below(letters.count)] })
  }

  static func item(_ key: Int64, _ random: inout Mix) -> Row {
    let note: Value =
      switch random.below(24) {
      case 0: .string(text(&random, 700))
      case 1: random.chance(8) ? .string(text(&random, 40_000)) : .null
      case 2...6: .null
      default: .string(text(&random, random.below(30)))
      }
    return [
      .int(key), .int(Int64(random.below(1000)) - 500), .int(Int64(random.below(100)) - 50),
      .double(Double(random.below(100_000)) / 8), .float(Float(random.below(1000)) / 4), .bool(random.chance(2)),
      .string(text(&random, 3 + random.below(20))), note,
      .uuid(UUIDBytes(high: random.next(), low: random.next())),
      random.chance(3) ? .null : .date(Double(random.below(1_000_000))),
      .data((0..<random.below(12)).map { _ in random.byte() }), .uint(random.next()),
    ]
  }

  static func insertItem(
    _ key: Int64, _ transaction: WriteTransaction, _ model: inout Model, _ random: inout Mix
  ) throws {
    let row = item(key, &random)
    _ = try transaction.insert(table: 0) {
      for (column, value) in row.enumerated() { $0.set(column: column, value: value) }
    }
    model[0][key] = row
  }

  /// Named objects are numbered in the order of insertion.
  static func insertNamed(
    _ number: Int64, _ transaction: WriteTransaction, _ model: inout Model, _ random: inout Mix
  ) throws {
    let row: Row = [.string(text(&random, 4 + random.below(12)) + "-\(number)"), .int(Int64(random.below(1 << 40)))]
    let key = try transaction.insert(table: 1) {
      for (column, value) in row.enumerated() { $0.set(column: column, value: value) }
    }
    model[1][key] = row
  }

  static func insertSparse(
    _ key: Int64, _ transaction: WriteTransaction, _ model: inout Model, _ random: inout Mix
  ) throws {
    guard model[2][key] == nil else { return }
    let row: Row = [.int(key), random.chance(5) ? .null : .int(Int64(random.below(200)))]
    _ = try transaction.insert(table: 2) {
      for (column, value) in row.enumerated() { $0.set(column: column, value: value) }
    }
    model[2][key] = row
  }

  static func updateItem(
    _ key: Int64, _ transaction: WriteTransaction, _ model: inout Model, _ random: inout Mix
  ) throws {
    let fresh = item(key, &random)
    for column in [1, 3, 5, 6, 7] where column == 1 || random.chance(2) {
      _ = try transaction.update(table: 0, key: key, column: column, value: fresh[column])
      model[0][key]?[column] = fresh[column]
    }
  }
}

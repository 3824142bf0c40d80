import Foundation
import ReefEngine
import ReefSystem

/// A store of a test's own, in memory or in a folder, gone with it; with what the tests look at in it.
final class Place: @unchecked Sendable {
  let folder: String
  let store: String

  /// `inMemory`: an ephemeral store; else a file, on tmpfs or on the disk of the temporary folder.
  init(_ kind: Kind = .tmpfs) throws {
    let name = "scenario-\(UUID().uuidString)"
    switch kind {
    case .memory: (folder, store) = ("", name)
    case .tmpfs:
      folder = "/dev/shm/" + name
      store = folder + "/jobs.reef"
    case .disk:
      // As the store will call itself: without a doubled slash.
      folder = URL(fileURLWithPath: NSTemporaryDirectory()).resolvingSymlinksInPath().path + "/" + name
      store = folder + "/jobs.reef"
    case .folder(let path):
      folder = path
      store = path + "/jobs.reef"
    }
    if !folder.isEmpty { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
  }
  enum Kind { case memory, tmpfs, disk, folder(String) }

  deinit { if !folder.isEmpty { try? FileManager.default.removeItem(atPath: folder) } }

  static let counters = TypeSchema("Counter", [PropertySchema("id", .int64), PropertySchema("value", .int64)], key: 0)
  static let blocks = TypeSchema(
    "Block", [PropertySchema("id", .int64), PropertySchema("text", .string), PropertySchema("sum", .int64)], key: 0)

  func engine(_ durability: Durability = .memory, redo: RedoShape = RedoShape(), retention: Retention? = nil) throws
    -> Engine
  {
    var options = Session.Options(location: store.hasPrefix("/") ? .file(store) : .memory(store))
    options.peerName = "test"
    options.openTimeout = .seconds(10)
    var configuration = EngineConfiguration(session: options, durability: durability)
    configuration.redo = redo
    configuration.retention = retention
    return try Engine.open(configuration, Schema([Place.counters, Place.blocks]))
  }

  func worker(_ command: String, _ arguments: String..., environment: [String: String] = [:], wrapper: [String] = [])
    throws -> Worker
  {
    try Worker([command, store] + arguments, environment: environment, wrapper: wrapper)
  }

  /// Bytes of storage that the data file takes.
  var occupied: Int {
    var status = stat()
    return stat(store, &status) == 0 ? Int(status.st_blocks) * 512 : 0
  }
}

extension Engine {
  /// Values of all counters in the newest version.
  func counters() throws -> [Int64: Int64] {
    let pin = try pin()
    return try Self.counters(pin.view)
  }
  static func counters(_ view: ReadView) throws -> [Int64: Int64] {
    var values: [Int64: Int64] = [:]
    try view.table(0).forEachLeaf { (leaf) throws(StoreError) in
      let column = try leaf.column(1)
      for row in 0..<leaf.count { values[leaf.key(row)] = column.int(row) }
      return true
    }
    return values
  }

  func set(_ values: [Int64: Int64]) throws {
    let transaction = try write(.after(.seconds(10)))
    for (key, value) in values.sorted(by: { $0.key < $1.key }) {
      if try transaction.update(table: 0, key: key, column: 1, bits: UInt64(bitPattern: value)) == .missing {
        _ = try transaction.insert(table: 0) {
          $0.set(column: 0, int: key)
          $0.set(column: 1, int: value)
        }
      }
    }
    try transaction.commit()
  }
}

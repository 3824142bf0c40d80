import Foundation
import ReefEngine

/// A store opened by the command: without types, never making or writing one.
struct OpenedStore {
  let engine: Engine

  init(_ place: String) throws {
    let isMemory = place.hasPrefix("memory:")
    var options = Session.Options(location: isMemory ? .memory(String(place.dropFirst(7))) : .file(place))
    options.create = false
    options.readOnly = true
    options.peerName = "reef command"
    engine = try Engine.open(EngineConfiguration(session: options, durability: .memory))
  }

  func close() { engine.close() }

  var path: String { engine.session.path }
  var newestVersion: UInt64 { engine.newestVersion }
  var fileSize: Int { (try? engine.session.data.size()) ?? 0 }
  func peers() throws -> [PeerInfo] { try engine.session.peers() }
  func snapshot() throws -> DynamicSnapshot {
    DynamicSnapshot(try engine.pin(), types: try engine.storedSchema().schema.types)
  }

  /// What was counted since the session began.
  var counters: [(String, Int)] {
    typealias Statistics = LockLayout.Statistics
    return [
      ("commits", Statistics.commits), ("aborted", Statistics.aborts), ("taken over", Statistics.takeovers),
      ("reclaimed", Statistics.reclaimed), ("checkpoints", Statistics.checkpoints), ("wakes", Statistics.wakes),
      ("leaked", Statistics.leaked),
    ].map { ($0, Int(clamping: engine.session.lock.word($1))) }
  }
}

/// One version, read by the stored schema.
final class DynamicSnapshot {
  private let pin: Pin
  let types: [TypeSchema]

  init(_ pin: consuming Pin, types: [TypeSchema]) {
    self.pin = pin
    self.types = types
  }

  var version: UInt64 { pin.version }

  func type(named name: String) throws -> TypeSchema {
    guard let type = types.first(where: { $0.name == name }) else {
      let names = types.map(\.name).joined(separator: ", ")
      throw CommandFailure.error("the store has no type '\(name)'; it has \(names.isEmpty ? "none" : names)")
    }
    return type
  }

  private func table(_ type: TypeSchema) throws -> TableView {
    try pin.view.table(types.firstIndex { $0.name == type.name } ?? 0)
  }

  func count(of type: TypeSchema, where predicate: ReefEngine.Predicate = .always(true)) throws -> Int {
    try table(type).count(where: try CompiledPredicate(predicate, for: type))
  }

  private func values(_ leaf: LeafView, _ row: Int, _ type: TypeSchema) throws(StoreError) -> [Value] {
    var values: [Value] = []
    values.reserveCapacity(type.properties.count)
    for column in type.properties.indices { values.append(try leaf.value(row, column: column, in: type)) }
    return values
  }

  /// Calls back with each object that matches, in stored order, until told to stop.
  func forEach(of type: TypeSchema, where predicate: ReefEngine.Predicate, _ body: ([Value]) -> Bool) throws {
    try table(type).forEachMatch(where: try CompiledPredicate(predicate, for: type)) { (leaf, row) throws(StoreError) in
      body(try values(leaf, row, type))
    }
  }

  func sorted(of type: TypeSchema, where predicate: ReefEngine.Predicate, by order: [SortKey]) throws -> [[Value]] {
    var rows: [[Value]] = []
    try forEach(of: type, where: predicate) { values in
      rows.append(values)
      return true
    }
    // A stable sort: ties keep stored order.
    return rows.enumerated().sorted { left, right in
      for key in order {
        let comparison = left.element[key.column].order(right.element[key.column])
        if comparison != 0 { return key.ascending ? comparison < 0 : comparison > 0 }
      }
      return left.offset < right.offset
    }.map(\.element)
  }

  func object(of type: TypeSchema, key: Value) throws -> [Value]? {
    let table = try table(type)
    let objectKey: Int64?
    switch (type.keyKind, key) {
    case (.indexed(let column), _):
      var encoded = IndexKey()
      guard encoded.encode(key, type: type.properties[column].type, isOptional: false) else { return nil }
      let index = IndexView(view: pin.view, root: table.keyIndexRoot, depth: table.keyIndexDepth)
      objectKey = try index.find(encoded)
    case (_, .int(let number)): objectKey = number
    default: objectKey = nil
    }
    guard let objectKey, let position = try table.find(key: objectKey) else { return nil }
    return try values(position.leaf, position.row, type)
  }
}

import Foundation
import ReefSystem
import Testing

@testable import ReefEngine

/// Random transactions against a dictionary: inserts, updates, deletes, roll-backs, reopening, with pinned snapshots
/// that are verified before they are let go.
@Suite(.serialized) struct EngineRandomTests {
  static let type = TypeSchema(
    "Thing",
    [
      PropertySchema("id", .int64), PropertySchema("name", .string), PropertySchema("score", .double),
      PropertySchema("qty", .int32, isOptional: true, isIndexed: true), PropertySchema("flag", .bool),
      PropertySchema("note", .data, isOptional: true), PropertySchema("tag", .uuid),
    ], key: 0)

  struct Row: Equatable {
    var name: String
    var score: Double
    var qty: Int64?
    var flag: Bool
    var note: [UInt8]?
    var tag: UUIDBytes
  }

  static func row(_ random: inout SplitMix) -> Row {
    let length = Int(random.next() % 20)
    let long = random.next() % 200 == 0
    return Row(
      name: long
        ? String(repeating: "ß\(random.next() % 10)", count: 300 + Int(random.next() % 5000))
        : String((0..<length).map { _ in Character(Unicode.Scalar(UInt8(97 + random.next() % 26))) }),
      score: Double(random.next() % 1000) / 8,
      qty: random.next() % 4 == 0 ? nil : Int64(bitPattern: random.next()) >> Int64(33 + random.next() % 30),
      flag: random.next() & 1 == 0,
      note: random.next() % 3 == 0
        ? nil : (0..<(random.next() % 9)).map { _ in UInt8(truncatingIfNeeded: random.next()) },
      tag: UUIDBytes(high: random.next(), low: random.next() % 7))
  }

  static func encode(_ id: Int64, _ row: Row, _ encoder: inout RowEncoder) {
    encoder.set(column: 0, int: id)
    encoder.set(column: 1, string: row.name)
    encoder.set(column: 2, double: row.score)
    if let qty = row.qty {
      encoder.set(column: 3, int: Int64(Int32(truncatingIfNeeded: qty)))
    } else {
      encoder.setNull(column: 3)
    }
    encoder.set(column: 4, bool: row.flag)
    if let note = row.note {
      note.withUnsafeBytes { encoder.set(column: 5, bytes: $0) }
    } else {
      encoder.setNull(column: 5)
    }
    encoder.set(column: 6, uuidHigh: row.tag.high, low: row.tag.low)
  }

  static func insert(_ transaction: WriteTransaction, _ table: Int, _ key: Int64, _ row: Row) throws -> Bool {
    do throws(StoreError) {
      _ = try transaction.insert(table: table) { encode(key, row, &$0) }
      return true
    } catch {
      guard case .duplicateKey = error else { throw error }
      return false
    }
  }

  static func verify(_ view: ReadView, _ table: Int, _ model: [Int64: Row], _ context: String) throws {
    let table = try view.table(table)
    #expect(table.count == model.count, "\(context)")
    var keys = model.keys.sorted()[...]
    var bad = 0
    try table.forEachLeaf { (leaf) throws(StoreError) in
      for row in 0..<leaf.count {
        let key = leaf.key(row)
        if keys.first != key { bad += 1 } else { keys.removeFirst() }
        guard let expected = model[key] else { bad += 1; continue }
        let found = Row(
          name: String(decoding: try leaf.column(1).checkedBytes(row), as: UTF8.self),
          score: try leaf.column(2).double(row),
          qty: try leaf.column(3).isNull(row) ? nil : leaf.column(3).int(row),
          flag: try leaf.column(4).bool(row),
          note: try leaf.column(5).isNull(row) ? nil : Array(leaf.column(5).checkedBytes(row)),
          tag: try leaf.column(6).uuid(row))
        var wanted = expected
        wanted.qty = wanted.qty.map { Int64(Int32(truncatingIfNeeded: $0)) }
        if found != wanted { bad += 1 }
      }
      return true
    }
    #expect(bad == 0 && keys.isEmpty, "\(context): \(bad) bad rows, \(keys.count) missing")
    for key in model.keys.prefix(20) { #expect(try table.find(key: key) != nil, "\(context): \(key)") }
    // The index knows the same rows.
    let (root, depth) = try table.index(0)
    let index = IndexView(view: view, root: root, depth: depth)
    let statistics = try index.check()
    #expect(statistics.entries == model.count, "\(context): index entries")
  }

  @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
  func transactions(seed: UInt64) throws {
    var random = SplitMix(seed: seed)
    let folder = FileManager.default.temporaryDirectory.path
    let path = "\(folder)/reef-random-\(getpid())-\(seed).reef"
    let onDisk = seed % 2 == 0
    defer { for suffix in ["", ".lock", ".note"] { unlink(path + suffix) } }
    var options = Session.Options(location: onDisk ? .file(path) : .memory("random-\(getpid())-\(seed)"))
    options.peerName = "random"
    let configuration = EngineConfiguration(session: options, durability: .memory)
    var engine = try Engine.open(configuration, Schema([Self.type]))
    var model: [Int64: Row] = [:]
    var pins: [(Engine, OwnedPin, [Int64: Row])] = []
    let spread: UInt64 = seed % 3 == 0 ? .max : 3000
    for step in 0..<300 {
      let before = model
      let transaction = try engine.write(.after(.seconds(5)))
      let table = try #require(try engine.tableIndex(of: "Thing"))
      let sequential = random.next() % 5 == 0
      var next = (model.keys.max() ?? 0) &+ 1
      for _ in 0..<(1 + random.next() % (step % 10 == 0 ? 1500 : 12)) {
        let key = sequential && next < Int64.max / 2 ? next : Int64(bitPattern: random.next() % spread)
        next &+= 1
        switch random.next() % 8 {
        case 0, 1, 2, 3:
          let row = Self.row(&random)
          let inserted = try Self.insert(transaction, table, key, row)
          #expect(inserted == (model[key] == nil), "\(key)")
          if inserted { model[key] = row }
        case 4:
          let target =
            model.isEmpty
            ? key
            : model.keys[model.index(model.startIndex, offsetBy: Int(random.next() % UInt64(min(model.count, 50))))]
          let value = Int64(random.next() % 100_000)
          let outcome = try transaction.update(table: table, key: target, column: 3, value: .int(value))
          #expect((outcome == .missing) == (model[target] == nil))
          model[target]?.qty = value
        case 5:
          let target =
            model.isEmpty
            ? key
            : model.keys[model.index(model.startIndex, offsetBy: Int(random.next() % UInt64(min(model.count, 50))))]
          let row = Self.row(&random)
          for (column, value) in [
            (1, Value.string(row.name)), (2, .double(row.score)), (4, .bool(row.flag)),
            (5, row.note.map { .data($0) } ?? .null), (6, .uuid(row.tag)),
          ] where random.next() & 1 == 0 {
            let outcome = try transaction.update(table: table, key: target, column: column, value: value)
            #expect((outcome == .missing) == (model[target] == nil))
            if model[target] == nil { continue }
            switch column {
            case 1: model[target]?.name = row.name
            case 2: model[target]?.score = row.score
            case 4: model[target]?.flag = row.flag
            case 5: model[target]?.note = row.note
            default: model[target]?.tag = row.tag
            }
          }
        default:
          let target =
            random.next() & 1 == 0 || model.isEmpty
            ? key
            : model.keys[model.index(model.startIndex, offsetBy: Int(random.next() % UInt64(min(model.count, 50))))]
          let deleted = try transaction.delete(table: table, key: target)
          #expect(deleted == (model[target] != nil))
          model[target] = nil
        }
      }
      if random.next() % 6 == 0 {
        if random.next() & 1 == 0 {
          try Self.verify(transaction.readView, table, model, "seed \(seed) step \(step) own")
        }
        transaction.rollback()
        model = before
      } else {
        try transaction.commit()
      }
      if random.next() % 9 == 0 { pins.append((engine, try engine.ownedPin(), model)) }
      if random.next() % 11 == 0, !pins.isEmpty {
        let pin = pins.remove(at: Int(random.next() % UInt64(pins.count)))
        try Self.verify(pin.1.pin.view, table, pin.2, "seed \(seed) step \(step) pinned")
      }
      if step % 20 == 0 {
        let pin = try engine.ownedPin()
        try Self.verify(pin.pin.view, table, model, "seed \(seed) step \(step)")
      }
      if onDisk, random.next() % 40 == 0 {
        pins = []
        engine.close()
        engine = try Engine.open(configuration, Schema([Self.type]))
        let pin = try engine.ownedPin()
        try Self.verify(pin.pin.view, table, model, "seed \(seed) step \(step) reopened")
      }
    }
    pins = []
    engine.close()
  }
}

final class OwnedPin {
  let pin: Pin
  init(_ pin: consuming Pin) { self.pin = pin }
}

extension Engine {
  func ownedPin() throws(StoreError) -> OwnedPin {
    let pin = try pin()
    return OwnedPin(pin)
  }
}

struct SplitMix {
  var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}

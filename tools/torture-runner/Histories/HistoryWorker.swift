import Foundation
import ReefEngine
import ReefSystem

/// A process that makes history: transactions that read and append, snapshots that read, some of them twice.
enum HistoryWorker {
  static let type = TypeSchema(
    "List",
    [
      PropertySchema("id", .int64), PropertySchema("count", .int64), PropertySchema("last", .int64),
      PropertySchema("chain", .int64),
    ], key: 0)
  static let ballast = TypeSchema("Ballast", [PropertySchema("id", .int64), PropertySchema("text", .string)], key: 0)
  static let keys = 97
  /// The row that says which transaction made the version.
  static let makerKey: Int64 = 0

  static func open(_ path: String, full: Bool) throws -> Engine {
    var options = Session.Options(location: .file(path))
    options.peerName = "historian"
    var configuration = EngineConfiguration(session: options, durability: full ? .full : .memory)
    // Small: its end, and checkpoints, come often.
    configuration.redo.first = 65536
    configuration.redo.larger = 131_072
    configuration.redo.alignment = DataLayout.extentSize
    configuration.redo.after = 0
    return try Engine.open(configuration, Schema([type, ballast]))
  }

  static func read(_ view: ReadView, _ key: Int64) throws -> HistoryRecord.Read {
    var read = HistoryRecord.Read(key: key, count: 0, last: 0, chain: 0)
    if let row = try view.table(0).find(key: key) {
      read.count = try row.leaf.column(1).int(row.row)
      read.last = try row.leaf.column(2).int(row.row)
      read.chain = try row.leaf.column(3).int(row.row)
    }
    return read
  }

  /// `--history STORE LOG SEED INDEX full|memory`: until the log is full, or somebody ends it.
  static func run(_ words: [String]) throws {
    guard words.count == 5, let seed = UInt64(words[2]), let index = Int64(words[3]) else {
      throw TortureError("not for people")
    }
    let log = try HistoryLog(words[1], create: false)
    let engine = try open(words[0], full: words[4] == "full")
    let worker = Worker(engine: engine, log: log, index: index, random: Mix(seed, UInt64(index)))
    while log.hasRoom { try worker.step() }
  }

  private final class Worker {
    let engine: Engine
    let log: HistoryLog
    let index: Int64
    var random: Mix
    var number: Int64 = 0

    init(engine: Engine, log: HistoryLog, index: Int64, random: Mix) {
      self.engine = engine
      self.log = log
      self.index = index
      self.random = random
    }

    func step() throws {
      if random.chance(3) { try snapshot() } else { try transaction() }
    }

    func key() -> Int64 {
      // Some lists are in everybody's way.
      Int64(1 + (random.chance(2) ? random.below(5) : random.below(HistoryWorker.keys)))
    }

    func snapshot() throws {
      var record = HistoryRecord(kind: .snapshot)
      let again = random.chance(20)
      let wanted = (0..<(1 + random.below(5))).map { _ in key() }
      record.began = Board.now
      let pin = try engine.pin()
      for round in 0..<(again ? 3 : 1) {
        if round > 0 { usleep(UInt32(random.below(400))) }
        record.version = pin.version
        record.maker = try HistoryWorker.read(pin.view, HistoryWorker.makerKey).last
        record.reads = try wanted.map { try HistoryWorker.read(pin.view, $0) }
        record.ended = Board.now
        // A later look at an old version is no news: it does not count as going back.
        if round == 0 { log.append(record) } else { try compare(record.reads, pin.view) }
      }
    }

    private func compare(_ reads: [HistoryRecord.Read], _ view: ReadView) throws {
      for read in reads where try HistoryWorker.read(view, read.key) != read {
        throw TortureError("version \(view.version) changed while it was pinned")
      }
    }

    func transaction() throws {
      number += 1
      var record = HistoryRecord(kind: .transaction, id: index << 40 | number)
      record.began = Board.now
      let transaction = try engine.write(.after(.seconds(30)))
      let view = try transaction.readView
      record.version = view.version - 1
      record.maker = try HistoryWorker.read(view, HistoryWorker.makerKey).last
      var lists: [Int64: HistoryRecord.Read] = [:]
      for _ in 0..<(1 + random.below(4)) {
        let key = key()
        lists[key] = try HistoryWorker.read(view, key)
      }
      record.reads = lists.values.sorted { $0.key < $1.key }
      for read in record.reads where record.appends.isEmpty || random.chance(2) {
        var list = HistoryChecker.List(count: read.count, last: read.last, chain: read.chain)
        let element = record.id << 4 | Int64(record.appends.count)
        list.append(element)
        record.appends.append(HistoryRecord.Append(key: read.key, element: element))
        try put(transaction, read.key, [list.count, list.last, list.chain])
      }
      try put(transaction, HistoryWorker.makerKey, [0, record.id, 0])
      // Structure comes and goes.
      let other = Int64(random.below(600))
      if try !transaction.delete(table: 1, key: other) {
        let length = random.below(900)
        _ = try transaction.insert(table: 1) {
          $0.set(column: 0, int: other)
          $0.set(column: 1, string: String(repeating: "x", count: length))
        }
      }
      if random.chance(20) {
        transaction.rollback()
        record.kind = .rolledBack
        record.ended = Board.now
        record.appends = []
        log.append(record)
        return
      }
      log.append(record)
      let version = try transaction.commit()
      var ack = HistoryRecord(kind: .committed, id: record.id, version: version)
      ack.ended = Board.now
      log.append(ack)
    }

    private func put(_ transaction: WriteTransaction, _ key: Int64, _ values: [Int64]) throws {
      for (column, value) in values.enumerated() {
        let bits = UInt64(bitPattern: value)
        if try transaction.update(table: 0, key: key, column: column + 1, bits: bits) == .missing {
          _ = try transaction.insert(table: 0) {
            $0.set(column: 0, int: key)
            for (column, value) in values.enumerated() { $0.set(column: column + 1, int: value) }
          }
          return
        }
      }
    }
  }
}

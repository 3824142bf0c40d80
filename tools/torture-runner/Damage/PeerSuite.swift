import CLMDB
import CSQLite3
import Foundation

/// The same damage done to SQLite and LMDB in their default configurations: how far Reef's answers to it go beyond theirs.
/// A measure, not a search: nothing here is a failure.
final class PeerSuite: CaseSuite {
  static let suite = Suite(
    name: "peers", summary: "not a search: what the same damage does to SQLite and LMDB",
    run: { request in
      let total = request.size.count(small: 800, night: 16_000)
      var report = try CaseRunner(suite: "peers", cases: { try PeerSuite($0) }, request: request, total: total).run()
      report.failed = 0
      report.failures = []
      report.hasTotal = false
      return report
    },
    cases: { try PeerSuite($0) })

  private static let damages: [Damage] = [.flip, .run, .truncate, .extend, .zero, .swap, .torn, .replay]
  let classes = ["sqlite", "lmdb"].flatMap { peer in PeerSuite.damages.map { "\(peer), \($0.name)" } }
  private let request: Request
  private let sqlite: (now: [UInt8], before: [UInt8])
  private let lmdb: (now: [UInt8], before: [UInt8])
  private static let rows = 1000

  init(_ request: Request) throws {
    self.request = request
    let folder = request.folder + "/peers"
    try? FileManager.default.removeItem(atPath: folder)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    sqlite = try Self.made(folder + "/s.db", SQLitePeer.make)
    lmdb = try Self.made(folder + "/l.mdb", LMDBPeer.make)
  }

  private static func made(
    _ path: String, _ make: (String, Range<Int>) throws -> Void
  ) throws -> (now: [UInt8], before: [UInt8]) {
    func file() throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) }
    try make(path, 0..<rows / 2)
    let before = try file()
    try make(path, rows / 2..<rows)
    return (try file(), before)
  }

  func kind(of index: Int) -> Int { index % classes.count }

  static func value(_ key: Int) -> Int { key * 7919 % 1000 }
  static func text(_ key: Int) -> String { String(repeating: "row \(key) ", count: 4 + key % 20) }

  func run(_ index: Int, explain: Bool) -> Verdict {
    let isSQLite = kind(of: index) < Self.damages.count
    let damage = Self.damages[kind(of: index) % Self.damages.count]
    var random = Mix(request.seed, UInt64(index) &+ 1000)
    let (now, before) = isSQLite ? sqlite : lmdb
    var file = now
    Self.apply(damage, &file, before, &random)
    let path = request.folder + (isSQLite ? "/case.db" : "/case.mdb")
    for suffix in ["", "-journal", "-wal", "-shm", "-lock"] { unlink(path + suffix) }
    do {
      try Data(file).write(to: URL(fileURLWithPath: path))
      let problem = isSQLite ? try SQLitePeer.examine(path, Self.rows) : try LMDBPeer.examine(path, Self.rows)
      return Verdict(outcome: problem == nil ? .right : .wrong, detail: problem ?? "")
    } catch {
      return Verdict(outcome: .error, detail: "\(error)")
    }
  }

  /// As `Damage.apply`, for files whose format is not ours.
  private static func apply(_ damage: Damage, _ file: inout [UInt8], _ before: [UInt8], _ random: inout Mix) {
    let page = 4096
    func place(_ random: inout Mix) -> Int { random.chance(4) ? random.below(2 * page) : random.below(file.count) }
    switch damage {
    case .flip:
      for _ in 0..<(1 + random.below(random.chance(3) ? 64 : 3)) {
        file[place(&random)] ^= 1 << UInt8(random.below(8))
      }
    case .run:
      let at = place(&random)
      let length = min(file.count - at, 1 + random.below(random.chance(3) ? 4096 : 100))
      for index in at..<(at + length) { file[index] = random.byte() }
    case .truncate: file.removeLast(file.count - random.below(file.count))
    case .extend: file += (0..<(1 + random.below(70_000))).map { _ in random.byte() }
    case .zero:
      for _ in 0..<(1 + random.below(3)) {
        let at = place(&random) / page * page
        for index in at..<min(file.count, at + page) { file[index] = 0 }
      }
    case .swap:
      let (one, two) = (place(&random) / page * page, place(&random) / page * page)
      if one != two, max(one, two) + page <= file.count {
        for index in 0..<page { file.swapAt(one + index, two + index) }
      }
    case .torn:
      let old = random.chance(2)
      for index in random.below(100)..<128 { file[index] = old ? before[index] : 0 }
    default:
      for _ in 0..<(1 + random.below(4)) {
        let at = place(&random) / page * page
        if at + page <= min(file.count, before.count) {
          file.replaceSubrange(at..<at + page, with: before[at..<at + page])
        }
      }
    }
  }
}

/// A table with a primary key, an indexed number and a text.
private enum SQLitePeer {
  static func make(_ path: String, _ keys: Range<Int>) throws {
    try with(path) { base in
      try run(base, "create table if not exists t(id integer primary key, v integer, s text)")
      try run(base, "create index if not exists t_v on t(v)")
      try run(base, "begin")
      for key in keys {
        try run(base, "insert into t values(\(key), \(PeerSuite.value(key)), '\(PeerSuite.text(key))')")
      }
      try run(base, "commit")
    }
  }

  static func examine(_ path: String, _ rows: Int) throws -> String? {
    try with(path) { base in
      let all = (0..<rows).map { "\($0)|\(PeerSuite.value($0))|\(PeerSuite.text($0))" }
      if try ask(base, "select id, v, s from t order by id") != all { return "rows" }
      let some = (0..<rows).filter { (100..<200).contains(PeerSuite.value($0)) }.map(String.init)
      if try ask(base, "select id from t where v >= 100 and v < 200 order by id") != some { return "index" }
      if try ask(base, "select sum(v) from t") != ["\((0..<rows).reduce(0) { $0 + PeerSuite.value($1) })"] {
        return "sum"
      }
      try run(base, "begin")
      for key in rows..<rows + 40 { try run(base, "insert into t values(\(key), 5, 'new')") }
      try run(base, "delete from t where id < 10")
      try run(base, "commit")
      let after = all.dropFirst(10) + (rows..<rows + 40).map { "\($0)|5|new" }
      return try ask(base, "select id, v, s from t order by id") == Array(after) ? nil : "rows after writing"
    }
  }

  private static func with<R>(_ path: String, _ body: (OpaquePointer) throws -> R) throws -> R {
    var base: OpaquePointer?
    defer { sqlite3_close_v2(base) }
    guard sqlite3_open(path, &base) == SQLITE_OK, let base else { throw TortureError("open") }
    return try body(base)
  }
  private static func run(_ base: OpaquePointer, _ text: String) throws { _ = try ask(base, text) }

  private static func ask(_ base: OpaquePointer, _ text: String) throws -> [String] {
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(base, text, -1, &statement, nil) == SQLITE_OK else {
      throw TortureError(String(cString: sqlite3_errmsg(base)))
    }
    var rows: [String] = []
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_ROW:
        rows.append(
          (0..<sqlite3_column_count(statement)).map { column in
            sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "null"
          }.joined(separator: "|"))
      case SQLITE_DONE: return rows
      default: throw TortureError(String(cString: sqlite3_errmsg(base)))
      }
      if rows.count > 100_000 { return rows }
    }
  }
}

/// Numbers to texts.
private enum LMDBPeer {
  static func make(_ path: String, _ keys: Range<Int>) throws {
    try with(path) { environment in
      try transaction(environment) { transaction, table in
        for key in keys { try put(transaction, table, key, PeerSuite.text(key)) }
      }
    }
  }

  static func examine(_ path: String, _ rows: Int) throws -> String? {
    try with(path) { environment in
      let all = Dictionary(uniqueKeysWithValues: (0..<rows).map { ($0, PeerSuite.text($0)) })
      if try read(environment) != all { return "rows" }
      var after = all
      try transaction(environment) { transaction, table in
        for key in rows..<rows + 40 {
          try put(transaction, table, key, "new")
          after[key] = "new"
        }
      }
      return try read(environment) == after ? nil : "rows after writing"
    }
  }

  private static func check(_ code: Int32) throws {
    if code != 0 { throw TortureError(String(cString: mdb_strerror(code))) }
  }
  private static func with<R>(_ path: String, _ body: (OpaquePointer) throws -> R) throws -> R {
    var environment: OpaquePointer?
    try check(mdb_env_create(&environment))
    guard let environment else { throw TortureError("create") }
    defer { mdb_env_close(environment) }
    try check(mdb_env_set_mapsize(environment, 1 << 24))
    try check(mdb_env_open(environment, path, UInt32(MDB_NOSUBDIR | MDB_NOSYNC), 0o600))
    return try body(environment)
  }
  private static func transaction(
    _ environment: OpaquePointer, _ body: (OpaquePointer, MDB_dbi) throws -> Void
  ) throws {
    var transaction: OpaquePointer?
    try check(mdb_txn_begin(environment, nil, 0, &transaction))
    guard let transaction else { throw TortureError("begin") }
    do {
      var table = MDB_dbi()
      try check(mdb_dbi_open(transaction, nil, 0, &table))
      try body(transaction, table)
    } catch {
      mdb_txn_abort(transaction)
      throw error
    }
    try check(mdb_txn_commit(transaction))
  }
  private static func put(_ transaction: OpaquePointer, _ table: MDB_dbi, _ key: Int, _ text: String) throws {
    var number = UInt64(key).bigEndian
    var bytes = Array(text.utf8)
    let size = bytes.count
    try withUnsafeMutableBytes(of: &number) { keyBytes in
      try bytes.withUnsafeMutableBytes { textBytes in
        var from = MDB_val(mv_size: 8, mv_data: keyBytes.baseAddress)
        var value = MDB_val(mv_size: size, mv_data: textBytes.baseAddress)
        try check(mdb_put(transaction, table, &from, &value, 0))
      }
    }
  }
  private static func read(_ environment: OpaquePointer) throws -> [Int: String] {
    var transaction: OpaquePointer?
    try check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction))
    defer { mdb_txn_abort(transaction) }
    var table = MDB_dbi()
    try check(mdb_dbi_open(transaction, nil, 0, &table))
    var cursor: OpaquePointer?
    try check(mdb_cursor_open(transaction, table, &cursor))
    defer { mdb_cursor_close(cursor) }
    var found: [Int: String] = [:]
    var (key, value) = (MDB_val(), MDB_val())
    while true {
      let code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
      if code == MDB_NOTFOUND { return found }
      try check(code)
      guard key.mv_size == 8, let at = key.mv_data else { return [:] }
      let number = Int(truncatingIfNeeded: UInt64(bigEndian: at.loadUnaligned(as: UInt64.self)))
      found[number] = String(
        decoding: UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size), as: UTF8.self)
    }
  }
}

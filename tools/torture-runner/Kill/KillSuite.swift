import Foundation
import ReefEngine
import ReefSystem

/// Processes of all kinds are killed by SIGKILL at random, again and again, while others have the store open. Nobody waits
/// for the dead; what was acknowledged is there, and nothing is half there.
enum KillSuite {
  static let suite = Suite(
    name: "kill", summary: "processes of all kinds are killed at random; the next writer takes over", run: run)

  static func run(_ request: Request) throws -> Report {
    let kills = request.size.count(small: 600, night: 100_000)
    var report = Report(
      suite: suite.name, seed: "\(request.seed)",
      columns: ["kills", "p50 µs", "p99 µs", "most µs", "takeovers", "wrong"])
    report.hasTotal = false
    for place in KillRun.Place.allCases {
      let onDisk = place == .disk
      let folder = onDisk ? Torture.diskFolder + "-kill" : request.folder + "/kill-\(place)"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      if place == .names, !Scene.probe(Ward.wrapper) {
        print("NOT RUN: two PID name spaces: they are not permitted")
        report.rows.append(Report.Row(name: "two PID name spaces: NOT RUN", counts: [:]))
        continue
      }
      var run = try KillRun(request, folder: folder, place: place)
      try run.go(kills * place.share / 10)
      report.rows += run.rows
      report.failed += run.failures.count
      report.failures += run.failures.map {
        Report.Failure(what: $0, replay: "tools/torture kill --seed \(request.seed) (processes race: not exactly)")
      }
    }
    return report
  }
}

struct KillRun {
  enum Place: CaseIterable {
    case tmpfs, disk, names
    /// Tenths of all kills.
    var share: Int {
      switch self {
      case .tmpfs: 7
      case .disk: 1
      case .names: 2
      }
    }
  }
  private struct Figures {
    var times: [UInt64] = []
    var killed = 0
    var takeovers: UInt64 = 0
    var wrong = 0
  }

  private let request: Request
  private let path: String
  private let place: Place
  private let engine: Engine
  private var ward: TenantProcess?
  private var random: Mix
  private var figures: [String: Figures] = [:]
  private var killed = 0
  private(set) var failures: [String] = []
  private var last: Int64 = 0
  private var serial = 0

  init(_ request: Request, folder: String, place: Place) throws {
    self.request = request
    self.place = place
    path = folder + "/jobs.reef"
    random = Mix(request.seed, place == .tmpfs ? 1 : place == .disk ? 2 : 3)
    engine = try Victim.open(path)
    let transaction = try engine.write(.after(.seconds(10)))
    for row in 0..<Victim.rows {
      _ = try transaction.insert(table: 0) {
        $0.set(column: 0, int: row)
        $0.set(column: 1, int: 0)
      }
    }
    _ = try transaction.commit()
    if place == .names { ward = try TenantProcess("ward", Ward.wrapper, ["--ward", path]) }
  }

  var rows: [Report.Row] {
    figures.sorted { $0.key < $1.key }.map { name, figures in
      let sorted = figures.times.sorted()
      func at(_ part: Double) -> Int { sorted.isEmpty ? 0 : Int(sorted[Int(Double(sorted.count - 1) * part)] / 1000) }
      return Report.Row(
        name: name,
        counts: [
          "kills": figures.killed, "p50 µs": at(0.5), "p99 µs": at(0.99), "most µs": at(1),
          "takeovers": Int(figures.takeovers), "wrong": figures.wrong,
        ])
    }
  }

  private mutating func start(_ role: Victim.Role) throws -> Living {
    serial += 1
    let inside = ward != nil && random.chance(2)
    return try Living(
      role, path, request.folder + "/words-\(place)-\(serial)", random.next(), in: inside ? ward : nil)
  }

  /// Where somebody was killed, and where the next writer lives.
  private func name(_ victim: Living, nextInside: Bool) -> String {
    guard ward != nil else { return "\(place)" }
    return "killed \(victim.isInside ? "inside" : "outside"), next \(nextInside ? "inside" : "outside")"
  }

  mutating func go(_ count: Int) throws {
    defer {
      ward?.end()
      engine.close()
    }
    var others = try [Victim.Role.reader, .follower, .opener].map { try start($0) }
    defer { for other in others { _ = try? other.kill() } }
    while killed < count, failures.count < 20 {
      let writer = try start(place == .disk && random.chance(2) ? .durable : .writer)
      // From its first breath to some thousand commits.
      let patience = Board.now + 20_000_000_000
      if !random.chance(8) {
        while writer.words[.state] != 2, Board.now < patience, writer.isRunning { usleep(50) }
      }
      usleep(UInt32(random.below(random.chance(4) ? 8000 : 300)))
      let nextInside = ward != nil && random.chance(2)
      let row = name(writer, nextInside: nextInside)
      let before = failures.count
      if random.chance(3) {
        let at = random.below(others.count)
        try end(others[at], row)
        others[at] = try start(others[at].role)
      }
      try end(writer, row)
      try takeOver(after: writer, inside: nextInside, row)
      figures[row, default: Figures()].wrong += failures.count - before
    }
    let transaction = try engine.write(.after(.seconds(10)))
    defer { transaction.rollback() }
    let report = try transaction.spaceReport()
    if report.liveWithoutBit + report.waitingTwice + report.liveAndFree + report.damaged != 0 {
      failures.append("at the end: \(report)")
    }
  }

  private mutating func end(_ living: Living, _ row: String) throws {
    if let status = try living.kill() { failures.append("a \(living.role.rawValue) ended by itself, status \(status)") }
    if living.words[.wrong] != 0 { failures.append("a \(living.role.rawValue) saw what cannot be") }
    killed += 1
    figures[row, default: Figures()].killed += 1
  }

  private var takeovers: UInt64 { engine.session.lock.word(LockLayout.Statistics.takeovers) }

  /// The next writer: how long it waits, and what it finds.
  private mutating func takeOver(after writer: Living, inside: Bool, _ row: String) throws {
    let takeoversBefore = takeovers
    guard let (time, values) = try inside ? nextInside() : nextHere() else { return }
    figures[row, default: Figures()].times.append(time)
    figures[row, default: Figures()].takeovers += takeovers - takeoversBefore
    if time > 1_000_000_000 { failures.append("kill \(killed): the next writer waited \(time / 1_000_000) ms") }
    let acknowledged = max(last, Int64(writer.words[.acknowledged]))
    guard values.count == 1, let found = values.first, found == acknowledged || found == acknowledged + 1 else {
      failures.append("kill \(killed): \(values.sorted()) after \(acknowledged)")
      last = values.max() ?? last
      return
    }
    last = found
  }

  private mutating func nextHere() throws -> (UInt64, Set<Int64>)? {
    let began = Board.now
    let transaction: WriteTransaction
    do {
      transaction = try engine.write(.after(.seconds(10)))
    } catch {
      failures.append("kill \(killed): nobody could write for ten seconds: \(error)")
      return nil
    }
    let time = Board.now - began
    defer { transaction.rollback() }
    return (time, try Victim.values(transaction.readView))
  }

  private mutating func nextInside() throws -> (UInt64, Set<Int64>)? {
    guard let ward else { return nil }
    let answer = try ward.ask("takeover", within: 20)
    guard let time = answer.value, let low = try ward.ask("low").value, let high = try ward.ask("high").value else {
      failures.append("kill \(killed): the other name space could not write: \(answer)")
      return nil
    }
    return (UInt64(time), [low, high])
  }
}

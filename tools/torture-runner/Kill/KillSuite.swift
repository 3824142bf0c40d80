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
    for (name, count, onDisk) in [("tmpfs", kills - kills / 10, false), ("disk", kills / 10, true)] {
      let folder = onDisk ? Torture.diskFolder + "-kill" : request.folder + "/kill"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      var run = try KillRun(request, folder: folder, onDisk: onDisk)
      try run.go(count)
      report.rows.append(Report.Row(name: name, counts: run.counts))
      report.failed += run.failures.count
      report.failures += run.failures.map {
        Report.Failure(what: $0, replay: "tools/torture kill --seed \(request.seed) (processes race: not exactly)")
      }
    }
    return report
  }
}

private struct KillRun {
  private let request: Request
  private let path: String
  private let folder: String
  private let onDisk: Bool
  private let engine: Engine
  private var random: Mix
  private var times: [UInt64] = []
  private var killed = 0
  private(set) var failures: [String] = []
  private var last: Int64 = 0
  private var serial = 0

  init(_ request: Request, folder: String, onDisk: Bool) throws {
    self.request = request
    self.folder = folder
    self.onDisk = onDisk
    path = folder + "/jobs.reef"
    random = Mix(request.seed, onDisk ? 2 : 1)
    engine = try Victim.open(path)
    let transaction = try engine.write(.after(.seconds(10)))
    for row in 0..<Victim.rows {
      _ = try transaction.insert(table: 0) {
        $0.set(column: 0, int: row)
        $0.set(column: 1, int: 0)
      }
    }
    _ = try transaction.commit()
  }

  var counts: [String: Int] {
    let sorted = times.sorted()
    func at(_ part: Double) -> Int { sorted.isEmpty ? 0 : Int(sorted[Int(Double(sorted.count - 1) * part)] / 1000) }
    return [
      "kills": killed, "p50 µs": at(0.5), "p99 µs": at(0.99), "most µs": at(1),
      "takeovers": Int(engine.session.lock.word(LockLayout.Statistics.takeovers)), "wrong": failures.count,
    ]
  }

  private final class Living {
    let process = Process()
    let role: Victim.Role
    let words: SharedWords
    let wordsPath: String

    init(_ role: Victim.Role, _ store: String, _ wordsPath: String, _ seed: UInt64) throws {
      self.role = role
      self.wordsPath = wordsPath
      words = try SharedWords(wordsPath, create: true)
      process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      process.arguments = ["--victim", store, wordsPath, role.rawValue, "\(seed)"]
      try process.run()
    }

    deinit { try? FileManager.default.removeItem(atPath: wordsPath) }
  }

  private mutating func start(_ role: Victim.Role) throws -> Living {
    serial += 1
    return try Living(role, path, request.folder + "/words-\(serial)", random.next())
  }

  mutating func go(_ count: Int) throws {
    defer { engine.close() }
    var others = try [Victim.Role.reader, .follower, .opener].map { try start($0) }
    defer { for other in others { end(other) } }
    while killed < count, failures.count < 20 {
      let writer = try start(onDisk && random.chance(2) ? .durable : .writer)
      // From its first breath to some thousand commits.
      let patience = Board.now + 20_000_000_000
      if !random.chance(8) {
        while writer.words[.state] != 2, Board.now < patience, writer.process.isRunning { usleep(50) }
      }
      usleep(UInt32(random.below(random.chance(4) ? 8000 : 300)))
      if random.chance(3) {
        let at = random.below(others.count)
        end(others[at])
        others[at] = try start(others[at].role)
      }
      end(writer)
      try takeOver(after: writer)
    }
    let transaction = try engine.write(.after(.seconds(10)))
    defer { transaction.rollback() }
    let report = try transaction.spaceReport()
    if report.liveWithoutBit + report.waitingTwice + report.liveAndFree + report.damaged != 0 {
      failures.append("at the end: \(report)")
    }
  }

  private mutating func end(_ living: Living) {
    if let end = ChildEnd.of(living.process, wait: false) {
      failures.append("a \(living.role.rawValue) ended by itself, status \(end.status)")
    } else {
      kill(living.process.processIdentifier, SIGKILL)
      _ = ChildEnd.of(living.process, wait: true)
    }
    if living.words[.wrong] != 0 { failures.append("a \(living.role.rawValue) saw what cannot be") }
    killed += 1
  }

  /// The next writer: how long it waits, and what it finds.
  private mutating func takeOver(after writer: Living) throws {
    let began = Board.now
    let transaction: WriteTransaction
    do {
      transaction = try engine.write(.after(.seconds(10)))
    } catch {
      failures.append("kill \(killed): nobody could write for ten seconds: \(error)")
      return
    }
    let time = Board.now - began
    times.append(time)
    if time > 1_000_000_000 { failures.append("kill \(killed): the next writer waited \(time / 1_000_000) ms") }
    let values = try Victim.values(transaction.readView)
    transaction.rollback()
    let acknowledged = max(last, Int64(writer.words[.acknowledged]))
    guard values.count == 1, let found = values.first, found == acknowledged || found == acknowledged + 1 else {
      failures.append("kill \(killed): \(values.sorted()) after \(acknowledged)")
      last = values.max() ?? last
      return
    }
    last = found
  }
}

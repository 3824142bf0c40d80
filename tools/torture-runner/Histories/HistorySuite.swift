import Foundation
import ReefEngine
import ReefSystem

/// Up to eight processes run random transactions, and are killed and replaced; what they saw is checked.
enum HistorySuite {
  static let suite = Suite(
    name: "histories", summary: "random transactions by processes that are killed; their histories are checked",
    run: run)

  private static let processes = 8
  /// Histories are checked in rounds, so that memory stays what one of them takes.
  private static let perRound = 150_000

  static func run(_ request: Request) throws -> Report {
    let wanted = request.size.count(small: 60_000, night: 10_000_000)
    var report = Report(
      suite: suite.name, seed: "\(request.seed)",
      columns: ["transactions", "snapshots", "versions", "kills", "anomalies"])
    // A tenth of them on a disk, in full durability.
    for (name, share, full) in [("memory", wanted - wanted / 10, false), ("full", wanted / 10, true)] {
      let folder = full ? Torture.diskFolder + "-histories" : request.folder + "/" + name
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      var run = Run(folder: folder, logs: request.folder, seed: request.seed, full: full)
      try run.go(until: share)
      let row = [
        "transactions": run.checker.transactions, "snapshots": run.checker.snapshots,
        "versions": Int(run.checker.version), "kills": run.kills, "anomalies": run.anomalies.count,
      ]
      report.rows.append(Report.Row(name: name, counts: row))
      report.failed += run.anomalies.count
      report.failures += run.anomalies.map {
        Report.Failure(what: $0, replay: "tools/torture histories --seed \(request.seed) (processes race: not exactly)")
      }
      if !full {
        report.rows.append(Report.Row(name: "planted, caught", counts: ["anomalies": 0, "versions": run.caught]))
      }
    }
    report.hasTotal = false
    return report
  }

  private struct Run {
    let folder: String
    let logs: String
    let seed: UInt64
    let full: Bool
    var checker = HistoryChecker(version: 0, maker: 0)
    var kills = 0
    var anomalies: [String] = []
    var caught = 0
    private var spawned: Int64 = 0

    init(folder: String, logs: String, seed: UInt64, full: Bool) {
      (self.folder, self.logs, self.seed, self.full) = (folder, logs, seed, full)
    }

    mutating func go(until wanted: Int) throws {
      let path = folder + "/jobs.reef"
      // Open throughout: what the dead leave is for the living to put right, not for a new session.
      let engine = try HistoryWorker.open(path, full: full)
      defer { engine.close() }
      do {
        let pin = try engine.pin()
        let start = try HistoryWorker.read(pin.view, HistoryWorker.makerKey)
        checker = HistoryChecker(version: pin.version, maker: start.last)
      }
      var random = Mix(seed, full ? 1 : 0)
      var isFirst = true
      while checker.transactions < wanted, anomalies.isEmpty {
        let histories = try round(engine, path, min(wanted - checker.transactions, HistorySuite.perRound), &random)
        // A transaction of one's own ends the round: it waits for whatever is still to become visible.
        let transaction = try engine.write(.after(.seconds(30)))
        let view = try transaction.readView
        let (end, maker) = (view.version - 1, try HistoryWorker.read(view, HistoryWorker.makerKey).last)
        transaction.rollback()
        let before = checker
        checker.check(histories, upTo: end, madeBy: maker)
        let pin = try engine.pin()
        for key in 1...Int64(HistoryWorker.keys) {
          let read = try HistoryWorker.read(pin.view, key)
          let list = checker.lists[key] ?? HistoryChecker.List()
          if list != HistoryChecker.List(count: read.count, last: read.last, chain: read.chain) {
            anomalies.append("at the end of a round the list \(key) is \(read), not \(list)")
          }
        }
        anomalies += checker.anomalies
        if isFirst, !full, anomalies.isEmpty { try plant(histories, before, end, maker, &random) }
        isFirst = false
      }
    }

    /// The checker checked.
    private mutating func plant(
      _ histories: [[HistoryRecord]], _ before: HistoryChecker, _ end: UInt64, _ maker: Int64, _ random: inout Mix
    ) throws {
      for (name, plant) in PlantedAnomalies.all {
        var wrong = histories
        guard plant(&wrong, &random) else { throw TortureError("\(name) could not be planted") }
        var checker = before
        checker.check(wrong, upTo: end, madeBy: maker)
        if checker.anomalies.isEmpty {
          anomalies.append("a planted anomaly was not found: \(name)")
        } else {
          caught += 1
        }
      }
    }

    private mutating func start(_ path: String) throws -> (process: Process, log: String) {
      let log = logs + "/history-\(spawned)"
      _ = try HistoryLog(log, create: true)
      let process = Process()
      process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      process.arguments = ["--history", path, log, "\(seed)", "\(spawned + 1)", full ? "full" : "memory"]
      try process.run()
      spawned += 1
      return (process, log)
    }

    /// Runs processes until about so many transactions are done; returns what all of them said.
    private mutating func round(_ engine: Engine, _ path: String, _ wanted: Int, _ random: inout Mix) throws
      -> [[HistoryRecord]]
    {
      let first = engine.newestVersion
      var living: [(process: Process, log: String)] = []
      var logs: [String] = []
      defer { for log in logs { try? FileManager.default.removeItem(atPath: log) } }
      for _ in 0..<(2 + random.below(HistorySuite.processes - 1)) {
        living.append(try start(path))
        logs.append(living[living.count - 1].log)
      }
      let limit = Board.now + 120_000_000_000
      while engine.newestVersion - first < UInt64(wanted), Board.now < limit {
        usleep(UInt32(5_000 + random.below(40_000)))
        let at = random.below(living.count)
        if let end = ChildEnd.of(living[at].process, wait: false) {
          if end.isExit, end.status != 0 { anomalies.append("a process ended with status \(end.status)") }
        } else {
          kill(living[at].process.processIdentifier, SIGKILL)
          _ = ChildEnd.of(living[at].process, wait: true)
          kills += 1
        }
        living[at] = try start(path)
        logs.append(living[at].log)
      }
      for (process, _) in living {
        if ChildEnd.of(process, wait: false) == nil {
          kill(process.processIdentifier, SIGKILL)
          _ = ChildEnd.of(process, wait: true)
        }
        kills += 1
      }
      return try logs.map { try HistoryLog($0, create: false).records() }
    }
  }
}

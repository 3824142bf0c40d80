import CStepper
import Foundation

/// Two processes run by turns through the engine's protocols, each from one access of shared memory to another; whatever
/// order they are in, both see what is right, and leave what is right.
enum InterleavingSuite {
  static let suite = Suite(
    name: "interleavings", summary: "two processes by turns, between any two of their accesses to shared memory",
    run: run, cases: { InterleavingCases($0) })

  static let columns = ["points", "and", "schedules", "blocked", "stalled", "ms each", "failures"]

  static func run(_ request: Request) throws -> Report {
    var report = Report(suite: suite.name, seed: "\(request.seed)", columns: columns)
    report.hasTotal = false
    guard stepper_supported() else {
      report.rows.append(Report.Row(name: "not run: it needs an x86-64 processor and pages of 4 KiB", counts: [:]))
      return report
    }
    let isNight = if case .night = request.size { true } else { false }
    let each = Double(request.size.count(small: 1500, night: 0)) / Duet.all.map(\.weight).reduce(0, +)
    for (index, duet) in Duet.all.enumerated() where report.failed < 20 {
      let found = try rehearse(index, request, most: isNight ? 0 : max(1, Int((each * duet.weight).rounded())))
      report.rows.append(Report.Row(name: duet.name, counts: found.counts))
      report.failed += found.failures.count
      report.failures += found.failures.map {
        Report.Failure(
          what: "\(duet.name): \($0.what)",
          replay: "tools/torture interleavings --seed \(request.seed) --case \(index * Schedule.numbers + $0.schedule)")
      }
    }
    var all = Report.Row(name: "all", counts: [:])
    for row in report.rows { all.counts.merge(row.counts) { $0 + $1 } }
    for column in ["points", "and", "ms each"] { all.counts[column] = nil }
    report.rows.append(all)
    return report
  }

  struct Found {
    var counts = Dictionary(uniqueKeysWithValues: columns.map { ($0, 0) })
    var failures: [(schedule: Int, what: String)] = []
  }

  /// One duet, by so many schedules (0: far more), or by `schedule` alone.
  static func rehearse(_ index: Int, _ request: Request, most: Int, schedule: Int? = nil) throws -> Found {
    let folder = Duet.all[index].onDisk ? Torture.diskFolder + "-turns" : request.folder + "/turns"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let words = ["\(index)", folder, "\(request.seed)", "\(most)"] + (schedule.map { ["\($0)"] } ?? [])
    let began = Board.now
    let (text, end) = try StepSuite.lines(["--duet"] + words)
    var found = Found()
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 2).map(String.init)
      switch words[0] {
      case "points": (found.counts["points"], found.counts["and"]) = (Int(words[1]), Int(words[2]))
      case "schedule":
        found.counts["schedules", default: 0] += 1
        found.counts["blocked", default: 0] += Int(words[1]) ?? 0
        found.counts["stalled", default: 0] += Int(words[2]) ?? 0
      case "failure": found.failures.append((Int(words[1]) ?? 0, words.count > 2 ? words[2] : ""))
      default: break
      }
    }
    if end?.isWell != true { found.failures.append((0, "the rehearsal ended with status \(end?.status ?? -1)")) }
    let count = max(1, found.counts["schedules"] ?? 0)
    found.counts["ms each"] = Int((Board.now - began) / 1_000_000) / count
    found.counts["failures"] = found.failures.count
    return found
  }
}

/// A single schedule, to look at again: duet and schedule in one number.
private final class InterleavingCases: CaseSuite {
  private let request: Request
  let classes = Duet.all.map(\.name)

  init(_ request: Request) { self.request = request }

  func kind(of index: Int) -> Int { min(index / Schedule.numbers, classes.count - 1) }

  func run(_ index: Int, explain: Bool) -> Verdict {
    let number = index % Schedule.numbers
    let schedule = Schedule(number: number)
    let steps = schedule.segments(request.seed &+ UInt64(kind(of: index))).map {
      "\($0.player == 0 ? "first" : "second") to \($0.goal == .max ? "its end" : "\($0.goal)")"
    }
    if explain { print(steps.joined(separator: ", ")) }
    do {
      let found = try InterleavingSuite.rehearse(kind(of: index), request, most: 1, schedule: number)
      if let failure = found.failures.first { return Verdict(outcome: .wrong, detail: failure.what) }
      return Verdict(outcome: .right, detail: "both saw what they should, and left it so")
    } catch {
      return Verdict(outcome: .wrong, detail: "\(error)")
    }
  }
}

import CStepper
import Foundation

/// A process dies before each single store into shared memory, in everything that processes do with a store; those that
/// live, and those that come, go on as if nothing had been.
enum StepSuite {
  static let suite = Suite(
    name: "steps", summary: "a process dies before each single store into shared memory", run: run,
    cases: { StepCases($0) })

  static func run(_ request: Request) throws -> Report {
    var report = Report(
      suite: suite.name, seed: "\(request.seed)", columns: ["stores", "deaths", "alive", "most ms", "failures"])
    report.hasTotal = false
    guard stepper_supported() else {
      report.rows.append(Report.Row(name: "not run: it needs an x86-64 processor and pages of 4 KiB", counts: [:]))
      return report
    }
    let acts = SteppedAct.all
    let isNight = if case .night = request.size { true } else { false }
    let deaths = request.size.count(small: 700, night: 0)
    // What is broken everywhere need not be seen everywhere.
    for (index, act) in acts.enumerated() where report.failed < 20 {
      let found = try nursery(index, request, most: isNight ? 0 : max(1, deaths / acts.count))
      report.rows.append(Report.Row(name: act.name, counts: found.counts))
      report.failed += found.failures.count
      report.failures += found.failures.map {
        Report.Failure(
          what: "\(act.name), before store \($0.store): \($0.what)",
          replay: "tools/torture steps --seed \(request.seed) --case \(index * StepCases.places + $0.store)")
      }
    }
    var all = Report.Row(name: "all", counts: [:])
    for row in report.rows { all.counts.merge(row.counts) { $0 + $1 } }
    all.counts["most ms"] = report.rows.map { $0.counts["most ms"] ?? 0 }.max()
    report.rows.append(all)
    return report
  }

  struct Found {
    var counts = ["stores": 0, "deaths": 0, "alive": 0, "most ms": 0, "failures": 0]
    var failures: [(store: Int, what: String)] = []
  }

  /// What a process of this program says that forks others, and how it ended.
  static func lines(_ words: [String]) throws -> (text: String, end: ChildEnd?) {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = words
    // Long copies in vector stores: a string instruction is a store for each of its bytes.
    process.environment = ProcessInfo.processInfo.environment.merging([
      "GLIBC_TUNABLES":
        "glibc.cpu.x86_rep_movsb_threshold=1000000000:glibc.cpu.x86_rep_stosb_threshold=1000000000"
    ]) { $1 }
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    return (text, ChildEnd.of(process, wait: true))
  }

  /// One act, with so many deaths (0: before every store), or the one before `store` alone.
  static func nursery(_ index: Int, _ request: Request, most: Int, store: Int? = nil) throws -> Found {
    let folder = SteppedAct.all[index].onDisk ? Torture.diskFolder + "-steps" : request.folder + "/steps"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let words = ["\(index)", folder, "\(request.seed)", "\(most)"] + (store.map { ["\($0)"] } ?? [])
    let (text, end) = try lines(["--nursery"] + words)
    var found = Found()
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 2).map(String.init)
      switch words[0] {
      case "stores": found.counts["stores"] = Int(words[1])
      case "death": found.counts["deaths", default: 0] += 1
      case "alive": found.counts["alive", default: 0] += 1
      case "slowest": found.counts["most ms"] = max(found.counts["most ms"] ?? 0, (Int(words[1]) ?? 0) / 1_000_000)
      case "failure": found.failures.append((Int(words[1]) ?? 0, words.count > 2 ? words[2] : ""))
      default: break
      }
    }
    if end?.isWell != true { found.failures.append((0, "the nursery ended with status \(end?.status ?? -1)")) }
    found.counts["failures"] = found.failures.count
    return found
  }
}

/// A single death, to look at again: act and store in one number.
private final class StepCases: CaseSuite {
  static let places = 1_000_000
  private let request: Request
  let classes = SteppedAct.all.map(\.name)

  init(_ request: Request) { self.request = request }

  func kind(of index: Int) -> Int { min(index / StepCases.places, classes.count - 1) }

  func run(_ index: Int, explain: Bool) -> Verdict {
    do {
      let store = index % StepCases.places
      let found = try StepSuite.nursery(kind(of: index), request, most: 1, store: store)
      if let failure = found.failures.first { return Verdict(outcome: .wrong, detail: failure.what) }
      let died = found.counts["deaths"] == 1
      return Verdict(outcome: .right, detail: died ? "died before store \(store)" : "there was no such store")
    } catch {
      return Verdict(outcome: .wrong, detail: "\(error)")
    }
  }
}

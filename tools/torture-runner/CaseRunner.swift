import Foundation

/// Runs the cases of a suite in children, one child at a time: a child that dies, or hangs, is replaced by one that goes
/// on behind the case that killed it.
struct CaseRunner {
  let suite: String
  let cases: (Request) throws -> any CaseSuite
  let request: Request
  let total: Int
  /// Nanoseconds that a case may take.
  static let limit: UInt64 = 1_000_000_000
  /// A child runs no more than this, for leaks of dead cases add up.
  static let batch = 4000

  func run() throws -> Report {
    let all = try cases(request)
    let board = try Board(request.folder + "/board", count: total, create: true)
    var said: [Int: String] = [:]
    var next = 0
    while next < total {
      let end = min(total, next + Self.batch)
      let child = try Child(suite, request, board, from: next, to: end)
      var stuck = false
      while child.isRunning {
        usleep(5000)
        if board.current >= 0, Board.now &- board.began > Self.limit, board.current >= next {
          stuck = true
          child.kill()
        }
      }
      for (index, line) in child.lines() { said[index] = line }
      let current = board.current
      if current < 0 && child.isWell {
        next = end
        continue
      }
      guard current >= next else {
        throw TortureError("a child of \(suite) ended before its first case: \(child.ending)")
      }
      // Under load a second may pass with nothing done: what was slow is tried again, alone.
      if stuck, let seconds = try alone(current, board, &said) {
        said[current] = "took longer than a second, and alone \(seconds) s: \(said[current] ?? "")"
        board[current] = .hang
      } else if !stuck {
        said[current] = child.ending
        board[current] = .death
      }
      board.current = -1
      next = current + 1
    }
    return report(all, board, said)
  }

  /// Runs a case once more. The seconds it took, where it was too slow again.
  private func alone(_ index: Int, _ board: Board, _ said: inout [Int: String]) throws -> Double? {
    board[index] = .notRun
    board.current = -1
    let child = try Child(suite, request, board, from: index, to: index + 1)
    // The child makes its samples first, on a disk that others may be writing to: only the case itself counts.
    let started = Board.now
    var isLate = false
    while child.isRunning {
      usleep(1000)
      let now = Board.now
      if board.current < 0 ? now > started + 300 * Self.limit : now > board.began + 20 * Self.limit {
        if !isLate { said[index] = child.whereabouts }
        isLate = true
        child.kill()
      }
    }
    if !isLate { for (index, line) in child.lines() { said[index] = line } }
    if board.current < 0 && child.isWell {
      // The board's slowest is of this case, or of a slower one that was well: this one ended.
      return nil
    }
    if isLate { return 20 }
    board[index] = .death
    said[index] = child.ending
    return nil
  }

  private func report(_ cases: any CaseSuite, _ board: Board, _ said: [Int: String]) -> Report {
    let isComplete = !(0..<total).contains { board[$0] == .notRun }
    let columns = Outcome.allCases.filter { $0 != .notRun || !isComplete }.map(\.name)
    var skipped: Set<Int> = []
    var report = Report(suite: suite, seed: "\(request.seed)", columns: ["cases"] + columns)
    report.rows = cases.classes.map { Report.Row(name: $0, counts: [:]) }
    for index in 0..<total {
      let outcome = board[index]
      let kind = cases.kind(of: index)
      report.rows[kind].counts["cases", default: 0] += 1
      report.rows[kind].counts[outcome.name, default: 0] += 1
      if outcome == .notRun, skipped.insert(kind).inserted {
        print("NOT RUN: \(cases.classes[kind]): \(said[index] ?? "")")
      }
      guard outcome.isFailure else { continue }
      report.failed += 1
      if report.failures.count < 1000 {
        report.failures.append(
          Report.Failure(
            what: "case \(index), \(cases.classes[kind]): \(outcome.name): \(said[index] ?? "")",
            replay: "tools/torture \(suite) --seed \(request.seed) --size \(total) --case \(index)"))
      }
    }
    return report
  }
}

/// A process that runs some of the cases.
final class Child {
  private let process = Process()
  private let output: String
  private var wasKilled = false

  init(_ suite: String, _ request: Request, _ board: Board, from: Int, to: Int) throws {
    output = request.folder + "/said"
    _ = FileManager.default.createFile(atPath: output, contents: nil)
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = [
      suite, "--seed", "\(request.seed)", "--worker", board.path, "\(board.count)", "\(from)", "\(to)",
      request.folder,
    ]
    process.standardOutput = FileHandle(forWritingAtPath: output)
    process.standardError = FileHandle(forWritingAtPath: output + ".errors") ?? FileHandle.nullDevice
    board.current = -1
    try process.run()
  }

  private var known: ChildEnd?
  private func end(wait: Bool) -> ChildEnd? {
    if known == nil { known = ChildEnd.of(process, wait: wait) }
    return known
  }

  var isRunning: Bool { end(wait: false) == nil }
  func kill() {
    if wasKilled { return }
    wasKilled = true
    Foundation.kill(process.processIdentifier, SIGKILL)
  }

  /// What its main thread does: its state, the processor time it had, the system call it is in and where that sleeps.
  /// Tells a hang of the engine from a disk that does not answer.
  var whereabouts: String {
    func said(_ file: String) -> String {
      let path = "/proc/\(process.processIdentifier)/\(file)"
      return (try? FileHandle(forReadingFrom: URL(fileURLWithPath: path)).readToEnd())
        .map { String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines) } ?? "?"
    }
    let fields = said("stat").split(separator: " ")
    guard fields.count > 14 else { return "gone" }
    let call = "in \(said("wchan")), system call \(said("syscall"))"
    return "state \(fields[2]), \(fields[13]) + \(fields[14]) ticks, \(call)"
  }

  var isWell: Bool {
    end(wait: true)?.isWell ?? false
  }
  var ending: String {
    guard let end = end(wait: true) else { return "ended" }
    return end.isExit ? "ended with status \(end.status)" : "signal \(end.status)"
  }

  /// What it said about its cases.
  func lines() -> [(Int, String)] {
    guard let text = try? String(contentsOfFile: output, encoding: .utf8) else { return [] }
    return text.split(separator: "\n").compactMap { line in
      let parts = line.split(separator: " ", maxSplits: 1)
      guard parts.count == 2, let index = Int(parts[0]) else { return nil }
      return (index, String(parts[1]))
    }
  }

  /// What a child does.
  static func work(_ suite: Suite, _ request: Request, board path: String, count: Int, from: Int, to: Int) throws {
    guard let cases = try suite.cases?(request) else { return }
    let board = try Board(path, count: count, create: false)
    for index in from..<to {
      board.began = Board.now
      board.current = index
      let verdict = cases.run(index, explain: false)
      board[index] = verdict.outcome
      if verdict.outcome.isFailure || verdict.outcome == .notRun {
        print(index, verdict.detail.replacingOccurrences(of: "\n", with: " ").prefix(240))
        fflush(nil)
      }
      board.slowest = max(board.slowest, Board.now &- board.began)
    }
    board.current = -1
  }
}

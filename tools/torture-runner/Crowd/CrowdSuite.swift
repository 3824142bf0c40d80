import Foundation

/// More processes than a store was made for, all at once: each gets its turn, or a typed error that names the limit; and
/// when they are gone, nothing of them is left.
enum CrowdSuite {
  static let suite = Suite(
    name: "crowd", summary: "a thousand processes at once; peers, reader slots and versions run out", run: run)

  static let outcomes: [Outcome] = [.right, .error, .wrong, .death, .hang]

  static func run(_ request: Request) throws -> Report {
    let size = request.size.count(small: 200, night: 1000)
    var report = Report(
      suite: suite.name, seed: "\(request.seed)", columns: ["processes"] + outcomes.map(\.name) + ["ms"])
    report.hasTotal = false
    for scenario in Crowd.Scenario.allCases {
      let began = Board.now
      var row = Report.Row(name: scenario.name, counts: [:])
      for line in try crowd(scenario, size, request) {
        let words = line.split(separator: " ", maxSplits: 2)
        if words.count == 3, words[0] == "count", let count = Int(words[1]) {
          row.counts[String(words[2]), default: 0] += count
        } else if line.hasPrefix("failure ") {
          report.failed += 1
          report.failures.append(
            Report.Failure(
              what: "\(scenario.name): \(line.dropFirst(8))",
              replay: "tools/torture crowd --seed \(request.seed) --size \(size) (processes race: not exactly)"))
        }
      }
      row.counts["ms"] = Int((Board.now - began) / 1_000_000)
      report.rows.append(row)
    }
    return report
  }

  /// A process that never opened a store, and so can be forked, plays it.
  private static func crowd(_ scenario: Crowd.Scenario, _ size: Int, _ request: Request) throws -> [String] {
    let folder = request.folder + "/\(scenario.rawValue)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = ["--crowd", scenario.rawValue, folder, "\(request.seed)", "\(size)"]
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    guard ChildEnd.of(process, wait: true)?.isWell == true else {
      throw TortureError("the crowd of \(scenario.name) ended: \(text.suffix(400))")
    }
    return text.split(separator: "\n").map(String.init)
  }
}

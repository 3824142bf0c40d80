import Foundation

/// `tools/torture`: searches for whatever breaks a store.
@main
struct Torture {
  static let usage = """
    Searches for whatever breaks a store. Every run says its seed, and how to repeat what it found.

    USE   tools/torture [SUITE] [options]        all suites without one

    \((Suites.all + Suites.others).map { "  " + $0.name + String(repeating: " ", count: max(1, 14 - $0.name.count)) + $0.summary }
      .joined(separator: "\n"))

      --seed S       repeats a run (default: a new one each time)
      --size SIZE    small (default), night, or a number of cases
      --case N       this case alone, with all that is to say about it
      --json FILE    the counts and failures, for other programs

    EXIT  0 nothing broke · 1 something did · 2 wrong use
    """

  /// Where files may be made whose syncs count; the name is this process's own.
  static var diskFolder: String {
    let folder = URL(fileURLWithPath: NSTemporaryDirectory()).resolvingSymlinksInPath().path
    return folder + "/reef-torture-\(getpid())"
  }

  static func main() {
    var words = Array(CommandLine.arguments.dropFirst())
    if words.contains("--help") || words.contains("-h") {
      print(usage)
      return
    }
    do {
      #if REEF_FUZZ
        if words.first == "fuzz" { return try Fuzzer.run(Array(words.dropFirst())) }
      #endif
      if words.first == "--victim" { return try Victim.run(Array(words.dropFirst())) }
      if words.first == "--ward" { return try Ward.run(Array(words.dropFirst())) }
      if words.first == "--workload" { return try TracedWorkload.run(Array(words.dropFirst())) }
      if words.first == "--tenant" { return Tenant.run() }
      if words.first == "--nursery" { return try Nursery.run(Array(words.dropFirst())) }
      if words.first == "--crowd" { return try Crowd.run(Array(words.dropFirst())) }
      if words.first == "--duet" { return try Rehearsal.run(Array(words.dropFirst())) }
      if words.first == "--history" { return try HistoryWorker.run(Array(words.dropFirst())) }
      if let at = words.firstIndex(of: "--worker") {
        try work(words, at)
        return
      }
      var name: String?
      var seed = UInt64.random(in: 1...999_999_999)
      var request = Request(seed: seed, size: .small, only: nil, folder: "")
      var json: String?
      while !words.isEmpty {
        let word = words.removeFirst()
        func value() throws -> String {
          guard !words.isEmpty else { throw TortureError("\(word) needs a value") }
          return words.removeFirst()
        }
        func number() throws -> Int {
          let text = try value()
          guard let number = Int(text), number >= 0 else { throw TortureError("\(text) is no number") }
          return number
        }
        switch word {
        case "--seed": seed = UInt64(try number())
        case "--size":
          let text = try value()
          guard let size = text == "small" ? .small : text == "night" ? .night : Int(text).map(Request.Size.number)
          else { throw TortureError("\(text) is no size") }
          request.size = size
        case "--case": request.only = try number()
        case "--json": json = try value()
        default:
          guard !word.hasPrefix("-"), name == nil, Suites.named(word) != nil else {
            throw TortureError("\(word) is no suite or option; see --help")
          }
          name = word
        }
      }
      request.seed = seed
      exit(try run(name.flatMap(Suites.named).map { [$0] } ?? Suites.all, request, json) ? 0 : 1)
    } catch {
      FileHandle.standardError.write(Data("torture: \(error)\n".utf8))
      exit(2)
    }
  }

  private static func run(_ suites: [Suite], _ request: Request, _ json: String?) throws -> Bool {
    var request = request
    var reports: [Report] = []
    for suite in suites {
      request.folder = "/dev/shm/reef-torture-\(getpid())-\(suite.name)"
      try FileManager.default.createDirectory(atPath: request.folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: request.folder) }
      print("--- \(suite.name): \(suite.summary)")
      print("seed \(request.seed); again: tools/torture \(suite.name) --seed \(request.seed)")
      if let only = request.only {
        if suite.cases == nil, suite.name == MutantSuite.suite.name {
          let report = try suite.run(request)
          print(report.text)
          return report.failed == 0
        }
        guard let cases = try suite.cases?(request) else { throw TortureError("\(suite.name) has no cases") }
        print("case \(only), \(cases.classes[cases.kind(of: only)])")
        let verdict = cases.run(only, explain: true)
        print("\(verdict.outcome.name): \(verdict.detail)")
        return !verdict.outcome.isFailure
      }
      let began = Board.now
      var report = try suite.run(request)
      report.seconds = Double(Board.now - began) / 1e9
      print(report.text)
      print("\(report.failed == 0 ? "nothing broke" : "\(report.failed) failures"), \(Int(report.seconds.rounded())) s")
      reports.append(report)
    }
    if let json {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      try encoder.encode(reports).write(to: URL(fileURLWithPath: json))
    }
    return reports.allSatisfy { $0.failed == 0 }
  }

  /// `SUITE --seed S --worker BOARD COUNT FROM TO FOLDER`
  private static func work(_ words: [String], _ at: Int) throws {
    guard words.count == at + 6, let suite = Suites.named(words[0]), let seed = UInt64(words[2]),
      let count = Int(words[at + 2]), let from = Int(words[at + 3]), let to = Int(words[at + 4])
    else { throw TortureError("not for people") }
    let request = Request(seed: seed, size: .small, only: nil, folder: words[at + 5])
    try Child.work(suite, request, board: words[at + 1], count: count, from: from, to: to)
  }
}

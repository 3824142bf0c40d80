import CBench
import Foundation

@main enum Driver {
  static func main() {
    signal(SIGPIPE, SIG_IGN)
    let arguments = CommandLine.arguments.dropFirst()
    switch arguments.first {
    case "case": Case.main(arguments.dropFirst())
    case "partner": Partner.main(arguments.dropFirst())
    default: Session(Options.parse(Array(arguments))).run()
    }
  }
}

struct Options {
  var workloads = Plan.known
  var n: Int?
  var runs = 5
  var peers: Set<String>?
  var json: String?
  var patience = 20.0

  static let help = """
    Measures Reef beside LMDB, SQLite and the bare programs that bound it, in the same run.

    USE  tools/bench [W…] [--n N] [--runs R] [--peers lmdb,sqlite] [--json FILE] [--patience SECONDS]

      W…          workloads, of \(Plan.known.joined(separator: " ")) (all)
      --n N       objects in the store, instead of each workload's own sizes
      --runs R    measured runs after a warm-up, of which medians are quoted (5)
      --peers P   the peers that take part: lmdb, sqlite, none (both)
      --json F    one JSON object a line into F, or to the output where F is -
      --patience  how long to wait for a quiet moment before each comparison (20)

    """

  static func parse(_ arguments: [String]) -> Options {
    var options = Options()
    var named: [String] = []
    var index = 0
    func usage(_ message: String) -> Never {
      FileHandle.standardError.write(Data("bench: \(message) (see --help)\n".utf8))
      exit(2)
    }
    while index < arguments.count {
      let word = arguments[index]
      index += 1
      if word == "--help" || word == "-h" {
        print(help)
        exit(0)
      }
      if !word.hasPrefix("-") {
        let name = word.uppercased()
        guard Plan.known.contains(name) else { usage("no workload '\(word)'") }
        named.append(name)
        continue
      }
      guard index < arguments.count else { usage("\(word) needs a value") }
      let value = arguments[index]
      index += 1
      switch word {
      case "--n":
        guard let n = Int(value), n >= 100 else { usage("--n: '\(value)' is not a number of at least 100") }
        options.n = n
      case "--runs":
        guard let runs = Int(value), runs >= 1 else { usage("--runs: '\(value)' is not a positive number") }
        options.runs = runs
      case "--peers":
        let peers = Set(value.split(separator: ",").map(String.init)).subtracting(["none"])
        guard peers.isSubset(of: ["lmdb", "sqlite"]) else {
          usage("--peers: '\(value)' is not among lmdb, sqlite, none")
        }
        options.peers = peers
      case "--json": options.json = value
      case "--patience":
        guard let seconds = Double(value), seconds >= 0 else { usage("--patience: '\(value)' is not a time") }
        options.patience = seconds
      default: usage("unknown option \(word)")
      }
    }
    if !named.isEmpty { options.workloads = named }
    return options
  }

  func takesPart(_ program: String) -> Bool {
    guard let peers else { return true }
    if program.hasPrefix("lmdb") { return peers.contains("lmdb") }
    return program != "sqlite" || peers.contains("sqlite")
  }
}

/// One call of the driver: all trials, one after the other.
struct Session {
  let options: Options
  let place = Place.make()

  init(_ options: Options) { self.options = options }

  func run() {
    let report = Report(json: options.json)
    // An interrupt must not leave gigabytes in memory.
    let sources = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        removeFolders()
        exit(128 + number)
      }
      source.resume()
      return source
    }
    report.begin(options: options)
    for workload in options.workloads {
      for trial in Plan.trials(workload, n: options.n) { measure(trial, report) }
    }
    removeFolders()
    withExtendedLifetime(sources) {}
    if report.finish() > 0 { exit(1) }
  }

  private func measure(_ trial: Trial, _ report: Report) {
    let programs = trial.programs.filter(options.takesPart)
    let cases = programs.map { program in
      Case(
        workload: trial.workload, group: trial.group, program: program, n: trial.n, memory: place.memory,
        disk: place.disk)
    }
    let helpers = cases.map { Helper($0.arguments) }
    for helper in helpers { helper.expect("ready") }
    var results = [[[Measurement]]](repeating: [], count: programs.count)
    var loudest = 0.0
    // The first round warms up and is not counted; after it the programs take turns.
    for round in 0...options.runs {
      if round == 1 { loudest = Loudness.waitForQuiet(patience: options.patience) }
      for (index, helper) in helpers.enumerated() {
        helper.send("run")
        guard let run = try? JSONDecoder().decode([Measurement].self, from: Data(helper.receive().utf8)) else {
          fail("\(helper.title) gave no measurement")
        }
        if round > 0 { results[index].append(run) }
      }
    }
    for helper in helpers { helper.finish() }
    for folder in [place.memory, place.disk] {
      for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
        try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
      }
    }
    report.add(trial, programs: programs, results: results, loudness: loudest)
  }
}

import Foundation

/// What the command line asks for.
struct Options {
  /// Workloads, and where a variant was named the variants of it.
  var wanted: [(workload: String, groups: [String])] = Plan.usual.map { ($0, []) }
  var n: Int?
  var givenRuns: Int?
  var runs: Int { givenRuns ?? (quick ? 3 : 5) }
  var pace: Double { quick ? 0.1 : 1 }
  var peers: Set<String>?
  var json: String?
  var patience: Double?
  var quick = false
  var targets = false

  static let help = """
    Measures Reef beside LMDB, SQLite and the bare programs that bound it, in the same run.

    USE  tools/bench [W…[/VARIANT,…]] [--n N] [--runs R] [--quick] [--targets] [--peers lmdb,sqlite] [--json FILE]

      W…          workloads, of \(Plan.known.joined(separator: " "))
                  (all but \(Plan.onDemand.joined(separator: " and "))); W3/sparse or W6/sort,sum: those variants only
      --n N       objects in the store, instead of each workload's own sizes
      --runs R    measured runs after a warm-up, of which medians are quoted (5; quick: 3)
      --quick     a coarse look: a tenth of the objects and of the time, no waiting for a quiet moment
      --targets   also prints which target of docs/measuring.md this run meets
      --peers P   the peers that take part: lmdb, sqlite, none (both)
      --json F    one JSON object a line into F, or to the output where F is -
      --patience  how long to wait for a quiet moment before each comparison, in seconds (20)

    """

  static func parse(_ arguments: [String]) -> Options {
    var options = Options()
    var named: [(String, [String])] = []
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
        let parts = word.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts[0].uppercased()
        guard Plan.known.contains(name) else { usage("no workload '\(parts[0])'") }
        let groups = parts.count < 2 ? [] : parts[1].split(separator: ",").map(String.init)
        for group in groups where !Plan.trials(name, n: nil, quick: false).contains(where: { $0.isNamed(group) }) {
          usage("\(name) has no variant '\(group)'")
        }
        named.append((name, groups))
        continue
      }
      switch word {
      case "--quick":
        options.quick = true
        continue
      case "--targets":
        options.targets = true
        continue
      default: break
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
        options.givenRuns = runs
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
    if !named.isEmpty {
      options.wanted = named
    } else if options.targets {
      options.wanted = Plan.known.map { ($0, []) }
    }
    return options
  }

  var trials: [Trial] {
    wanted.flatMap { workload, groups in
      Plan.trials(workload, n: n, quick: quick).filter { trial in
        groups.isEmpty || groups.contains(where: trial.isNamed)
      }
    }
  }

  func takesPart(_ program: String) -> Bool {
    guard let peers else { return true }
    if program.hasPrefix("lmdb") { return peers.contains("lmdb") }
    return program != "sqlite" || peers.contains("sqlite")
  }
}

/// A figure that the project has set itself, judged by the rows of one run.
struct Target: Sendable {
  enum Verdict { case met, missed, unmeasured }
  /// "W6 sort"
  var name: String
  /// "≤ 1.5 × a C radix sort"
  var bound: String
  var limit: Double
  var isUpper = true
  /// What is compared with the limit; nil where the run does not tell.
  var measured: @Sendable (Rows) -> Double?

  func verdict(_ value: Double?) -> Verdict {
    guard let value, value.isFinite else { return .unmeasured }
    return (isUpper ? value <= limit : value >= limit) ? .met : .missed
  }
}

/// The rows of a run, to be asked by name.
struct Rows {
  var all: [(workload: String, variant: String, n: Int, row: Report.Row)] = []

  /// The middle of a variant, or one of its extra figures: at one size, or at the largest there is.
  func value(_ workload: String, _ variant: String, _ program: String = "reef", n: Int? = nil, key: String? = nil)
    -> Double?
  {
    let rows = all.filter {
      $0.workload == workload && $0.variant == variant && $0.row.program == program && (n == nil || $0.n == n)
    }
    guard let row = rows.max(by: { $0.n < $1.n })?.row else { return nil }
    return key.map { row.extra[$0] } ?? row.middle
  }

  /// Reef's figure over that of the best of the peers.
  func ratio(
    _ workload: String, _ variant: String, to peers: [String], n: Int? = nil, key: String? = nil, best: Bool = true
  )
    -> Double?
  {
    let sample = all.first { $0.workload == workload && $0.variant == variant }?.row
    let higher = key == nil && sample?.higherIsBetter == true
    let values = peers.compactMap { value(workload, variant, $0, n: n, key: key) }
    guard let own = value(workload, variant, n: n, key: key),
      let other = higher ? values.max() : values.min(), other > 0
    else { return nil }
    return own / other
  }
}

/// a ÷ b, where both are known.
func quotient(_ a: Double?, _ b: Double?) -> Double? {
  guard let a, let b, b != 0 else { return nil }
  return a / b
}

extension Target {
  private static let lmdb = ["lmdb", "lmdb-writemap"]

  private static func atMost(
    _ limit: Double, _ name: String, _ bound: String, _ measured: @escaping @Sendable (Rows) -> Double?
  )
    -> Target
  {
    Target(name: name, bound: "≤ \(bound)", limit: limit, measured: measured)
  }
  private static func atLeast(
    _ limit: Double, _ name: String, _ bound: String, _ measured: @escaping @Sendable (Rows) -> Double?
  )
    -> Target
  {
    Target(name: name, bound: "≥ \(bound)", limit: limit, isUpper: false, measured: measured)
  }

  static let all: [Target] = reading + writing + notices + crowds

  private static let reading: [Target] = [
    atMost(0.4, "W1 append, large", "0.4 × LMDB append") { rows in
      rows.ratio("W1", "append", to: lmdb)
    },
    atMost(0.8, "W1 append, 10⁴", "0.8 × LMDB append") { $0.ratio("W1", "append", to: lmdb, n: 10_000) },
    atMost(32, "W1 bytes per object", "32 B") { $0.value("W1", "bytes-per-object") },
    atMost(0.45, "W2 scan all", "0.45 × LMDB") { $0.ratio("W2", "all", to: lmdb) },
    atMost(0.15, "W3 one", "0.15 × LMDB") { $0.ratio("W3", "one", to: lmdb) },
    atMost(0.15, "W3 two", "0.15 × LMDB") { $0.ratio("W3", "two", to: lmdb) },
    atMost(0.4, "W3 sparse", "0.4 × LMDB") { $0.ratio("W3", "sparse", to: lmdb) },
    atMost(0.5, "W3 string", "0.5 × LMDB") { $0.ratio("W3", "string", to: lmdb) },
    atMost(1, "W4 filter", "1 × flat loop") { $0.ratio("W4", "scan", to: ["floor"]) },
    atMost(0.2, "W5 equal, no index", "0.2 × SQLite") { $0.ratio("W5", "equal-scan", to: ["sqlite"]) },
    atMost(0.4, "W5 equal, indexed", "0.4 × LMDB") { $0.ratio("W5", "equal-indexed", to: lmdb) },
    atMost(5, "W5 contains", "5 ms") { $0.value("W5", "contains") },
    atMost(1.5, "W6 sort", "1.5 × radix sort in C") { $0.ratio("W6", "sort", to: ["floor"]) },
    atMost(3, "W6 first 100", "3 ms") { $0.value("W6", "first-100") },
    atMost(1.5, "W6 sum", "1.5 × flat loop") { $0.ratio("W6", "sum", to: ["floor"]) },
    atMost(1.5, "W6 average", "1.5 × flat loop") { $0.ratio("W6", "average", to: ["floor"]) },
    atMost(0.6, "W8 open and close", "0.6 × LMDB") { $0.ratio("W8", "open-close", to: lmdb) },
    atMost(3, "W8 open and close, escaping", "3 × LMDB") { $0.ratio("W8", "open-close-escaping", to: lmdb) },
    atMost(20, "W8 move to the newest", "20 ns") { $0.value("W8", "advance") },
  ]

  private static let writing: [Target] = [
    atLeast(5, "W7 memory", "5 × LMDB nosync + writemap") { $0.ratio("W7", "memory", to: ["lmdb-writemap"]) },
    atLeast(25, "W7 memory", "25 × LMDB nosync") { $0.ratio("W7", "memory", to: ["lmdb"]) },
    atLeast(0.5, "W7 memory, large ÷ 10⁴", "0.5") {
      quotient($0.value("W7", "memory"), $0.value("W7", "memory", n: 10_000))
    },
    atMost(10, "W7 memory, p99 ÷ p50", "10") {
      quotient($0.value("W7", "memory", key: "p99"), $0.value("W7", "memory", key: "p50"))
    },
    atLeast(1.8, "W7 full", "1.8 × LMDB") { $0.ratio("W7", "full", to: lmdb) },
    atLeast(1.3, "W7 full", "1.3 × SQLite") { $0.ratio("W7", "full", to: ["sqlite"]) },
    atMost(1.3, "W7 full, p50", "1.3 × pwrite + fdatasync") { $0.ratio("W7", "full", to: ["floor"], key: "p50") },
    atLeast(5, "W10 writer", "5 × LMDB") { $0.ratio("W10", "writer", to: lmdb) },
    atLeast(5, "W10 reader", "5 × LMDB") { $0.ratio("W10", "reader", to: lmdb) },
    atLeast(0.95, "W12 rate with a pin ÷ without", "0.95") { $0.ratio("W12", "rate", to: ["reef-unpinned"]) },
    atMost(2, "W12 file with a pin ÷ before", "2") {
      quotient($0.value("W12", "growth", key: "during"), $0.value("W12", "growth", key: "before"))
    },
    atMost(1.05, "W12 file after release ÷ before", "1.05") {
      quotient($0.value("W12", "growth", key: "after"), $0.value("W12", "growth", key: "before"))
    },
  ]

  /// Each way in each placement, beside the bare program: `await` beside the bare FIFO.
  private static let notices: [Target] = Plan.placements.flatMap { place -> [Target] in
    var targets: [Target] = []
    for (way, title) in [("futex", "futex"), ("fifo", "FIFO")] {
      targets.append(
        atMost(1.25, "W9 \(title), \(place)", "1.25 × bare") { $0.ratio("W9", "\(way)-\(place)", to: ["floor"]) })
      targets.append(
        atMost(2, "W9 \(title), \(place), p99", "2 × bare") {
          $0.ratio("W9", "\(way)-\(place)", to: ["floor"], key: "p99")
        })
    }
    targets.append(atMost(1, "W9 spin, \(place)", "1 µs") { $0.value("W9", "spin-\(place)") })
    targets.append(
      atMost(2, "W9 spin, \(place), p99", "2 × bare") {
        $0.ratio("W9", "spin-\(place)", to: ["floor"], key: "p99")
      })
    targets.append(
      atMost(25, "W9 await, \(place), above bare FIFO", "25 µs") { rows in
        guard let own = rows.value("W9", "await-\(place)"), let bare = rows.value("W9", "fifo-\(place)", "floor")
        else { return nil }
        return own - bare
      })
    return targets
  }

  private static let crowds: [Target] =
    [2, 4, 8].flatMap { writers -> [Target] in
      [
        atLeast(0.8, "W13 memory, \(writers) writers ÷ one", "0.8") {
          quotient($0.value("W13", "memory-\(writers)"), $0.value("W13", "memory-1"))
        },
        atLeast(0.8, "W13 memory, \(writers) writers, fairness", "0.8") {
          $0.value("W13", "memory-\(writers)", key: "fairness")
        },
      ]
    } + [
      atLeast(4, "W13 full, 8 writers ÷ one", "4") {
        quotient($0.value("W13", "full-8"), $0.value("W13", "full-1"))
      },
      // "No faster than the depth and the cache misses": LMDB has both of them too.
      atMost(1, "W14 lookup, largest ÷ 10⁴", "LMDB's own growth") { growth($0, "one", inverse: false) },
      atMost(1, "W14 commit, largest ÷ 10⁴", "LMDB's own growth") { growth($0, "memory", inverse: true) },
      atMost(1.5, "W14 snapshot, largest ÷ 10⁴", "1.5") {
        quotient($0.value("W14", "open-close"), $0.value("W14", "open-close", n: 10_000))
      },
      atMost(25, "W14 commit, 1,024 slots − 1 slot", "25 ns") { rows in
        guard let many = rows.value("W14", "memory-slots-1024"), let one = rows.value("W14", "memory-slots-1")
        else { return nil }
        return 1e9 / many - 1e9 / one
      },
      atMost(0.1, "W15 joined", "0.1 ms") { $0.value("W15", "joined") },
      atMost(1, "W15 cold, less page faults", "1 ms") { start($0, "cold") },
      atMost(1, "W15 after a kill, less page faults", "1 ms") { start($0, "after-kill") },
      atMost(8, "memory of a reader", "8 MB") { $0.value("MEMORY", "reader") },
      atMost(1, "memory, lock file", "1 MB") { $0.value("MEMORY", "lock-file") },
    ]

  /// How much dearer the largest store is than one of 10⁴, over the same of LMDB.
  private static func growth(_ rows: Rows, _ variant: String, inverse: Bool) -> Double? {
    func factor(_ program: String) -> Double? {
      let large = rows.value("W14", variant, program)
      let small = rows.value("W14", variant, program, n: 10_000)
      return inverse ? quotient(small, large) : quotient(large, small)
    }
    return quotient(factor("reef"), factor("lmdb-writemap"))
  }

  /// A start without its page faults, at the 2.4 µs that a first touch costs on this kind of machine.
  private static func start(_ rows: Rows, _ variant: String) -> Double? {
    guard let time = rows.value("W15", variant), let faults = rows.value("W15", variant, key: "faults") else {
      return nil
    }
    return max(0, time - faults * 0.0024)
  }
}

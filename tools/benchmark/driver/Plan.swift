/// One comparison: a variant group of a workload at one size, and the programs that take part.
struct Trial {
  var workload: String
  var group: String
  var n: Int
  var programs: [String]

  /// "futex" names futex-one-core and its like.
  func isNamed(_ name: String) -> Bool { group == name || group.hasPrefix(name + "-") }
}

/// Which trials there are. Names are those of docs/measuring.md, and those in the JSON output.
enum Plan {
  static let ways = ["spin", "futex", "fifo", "await"]
  static let placements = ["one-core", "two-cores-idle", "two-cores-busy"]
  static let known = [
    "W1", "W2", "W3", "W4", "W5", "W6", "W7", "W8", "W9", "W10", "W11", "W12", "W13", "W14", "W15",
    "MEMORY",
  ]

  /// Those that only run when they are named, or where targets are judged.
  static let onDemand = ["W14"]
  static var usual: [String] { known.filter { !onDemand.contains($0) } }

  static func trials(_ workload: String, n: Int?, quick: Bool) -> [Trial] {
    let million = [n ?? (quick ? 100_000 : 1_000_000)]
    let both = n.map { [$0] } ?? [10_000, million[0]]
    func each(_ groups: [String], _ sizes: [Int], _ programs: [String]) -> [Trial] {
      sizes.flatMap { n in groups.map { Trial(workload: workload, group: $0, n: n, programs: programs) } }
    }
    switch workload {
    case "W1":
      return each(["append"], both, ["reef", "lmdb", "lmdb-writemap", "sqlite", "floor"])
        + each(["random"], both, ["reef", "lmdb", "lmdb-writemap", "sqlite"])
    case "W2", "W4": return each([workload == "W2" ? "all" : "scan"], million, ["reef", "lmdb", "sqlite", "floor"])
    case "W3":
      return each(["one"], million, ["reef", "lmdb", "sqlite", "floor"])
        + each(["two", "sparse", "string"], million, ["reef", "lmdb", "sqlite"])
    case "W5":
      return each(["equal-scan", "contains"], million, ["reef", "lmdb", "sqlite", "floor"])
        + each(["equal-indexed"], million, ["reef", "lmdb", "sqlite"])
    case "W6": return each(["sort", "first-100", "sum", "average"], million, ["reef", "lmdb", "sqlite", "floor"])
    case "W7":
      return each(["memory"], both, ["reef", "lmdb", "lmdb-writemap", "sqlite"])
        + each(["relaxed"], both, ["reef", "lmdb", "lmdb-writemap", "sqlite"])
        + each(["full"], both, ["reef", "lmdb", "lmdb-writemap", "sqlite", "floor", "floor-dsync"])
    case "W8":
      return each(["open-close", "advance"], million, ["reef", "lmdb", "sqlite"])
        + each(["open-close-escaping"], million, ["reef", "lmdb"])
    case "W9":
      return placements.flatMap { place in
        ways.map { way in
          Trial(
            workload: "W9", group: "\(way)-\(place)", n: 1, programs: way == "await" ? ["reef"] : ["reef", "floor"])
        }
      } + [Trial(workload: "W9", group: "futex-one-core-1k", n: 1, programs: ["reef", "floor"])]
        + [Trial(workload: "W9", group: "futex-two-cores-idle-1k", n: 1, programs: ["reef", "floor"])]
    case "W10": return each(["duet"], million, ["reef", "lmdb", "lmdb-writemap", "sqlite"])
    case "W11":
      let sizes = n.map { [$0] } ?? (quick ? [10_000, 100_000] : [100_000, 1_000_000])
      return each(["one-change", "one-change-sorted", "thousand-changes", "thousand-replaced"], sizes, ["reef"])
    case "W13":
      let size = [n ?? 100_000]
      return each([1, 2, 4, 8].map { "memory-\($0)" }, size, ["reef", "lmdb-writemap", "sqlite"])
        + each([1, 2, 4, 8].map { "full-\($0)" }, size, ["reef", "lmdb", "sqlite"])
    case "W14":
      let sizes = n.map { [$0] } ?? [10_000, 100_000, 1_000_000] + (quick ? [] : [10_000_000])
      return each(["one", "memory", "open-close", "advance"], sizes, ["reef", "lmdb-writemap"])
        // Reef alone: behind an old snapshot LMDB and SQLite reuse no space, and would fill the memory.
        + each(
          ["memory", "open-close"].flatMap { kind in [1, 16, 256, 1_024].map { "\(kind)-slots-\($0)" } },
          million, ["reef"])
    case "W15": return each(["cold", "joined", "after-kill"], million, ["reef", "lmdb", "sqlite"])
    case "MEMORY": return each(["memory"], million, ["reef", "lmdb", "sqlite"])
    case "W12": return each(["pins"], million, ["reef", "reef-unpinned", "lmdb"])
    default: return []
    }
  }
}

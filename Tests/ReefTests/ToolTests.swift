import Foundation
import Testing

/// The scripts and programs under `tools`: what they promise about output and exit status.
@Suite struct ToolTests {
  static let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path

  /// A small run of the driver: its rows have the names that docs/measuring.md gives them, and the programs agree.
  @Test func benchmarkRowsHaveTheirNames() async throws {
    let result = try await Programs.run(
      try Programs.built("reef-bench"),
      ["W1", "W2", "W4", "W5", "W6", "W8", "--quick", "--n", "1000", "--runs", "1", "--json", "-"])
    #expect(result.status == 0, "\(result.output)")
    #expect(!result.output.contains("!!"), "\(result.output)")
    var rows: Set<String> = []
    for line in result.lines where line.hasPrefix("{") {
      let row = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      let median = try #require(row["median"] as? Double)
      #expect(median >= 0)
      #expect(row["min"] as? Double ?? .nan <= median && median <= row["max"] as? Double ?? .nan)
      #expect(row["n"] as? Int == 1000)
      #expect(row["unit"] is String)
      rows.insert([row["workload"], row["variant"], row["program"]].map { $0 as? String ?? "" }.joined(separator: " "))
    }
    for program in ["reef", "lmdb", "sqlite"] {
      for variant in [
        "W1 append", "W1 random", "W1 bytes-per-object", "W2 all", "W4 scan", "W5 equal-scan", "W5 contains",
        "W5 equal-indexed", "W6 sort", "W6 first-100", "W6 sum", "W6 average", "W8 open-close", "W8 advance",
      ] {
        #expect(rows.contains("\(variant) \(program)"), "no row for \(variant) \(program)")
      }
    }
    for row in ["W1 append floor", "W2 all floor", "W4 scan floor", "W1 append lmdb-writemap"] {
      #expect(rows.contains(row), "no row for \(row)")
    }
  }

  /// The workloads of several processes, each as short as it goes: they end, agree, and tell what they promise.
  @Test func benchmarkOfSeveralProcesses() async throws {
    let result = try await Programs.run(
      try Programs.built("reef-bench"),
      [
        "W11", "W13/memory-2,full-2", "W14/one,memory-slots-16", "W15", "MEMORY", "--quick", "--n", "1000", "--runs",
        "1",
        "--targets", "--json", "-",
      ])
    #expect(result.status == 0, "\(result.output)")
    var extras: [String: Set<String>] = [:]
    for line in result.lines where line.hasPrefix("{") {
      let row = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      guard row["program"] as? String == "reef", let variant = row["variant"] as? String else { continue }
      #expect(row["median"] as? Double ?? -1 > 0, "\(line)")
      extras["\(row["workload"] ?? "") \(variant)"] = Set(row.keys)
      // Every change is told once: a moved object as a deletion and an insertion, a replaced one likewise.
      switch variant {
      case "one-change": #expect(row["told"] as? Double == 1)
      case "one-change-sorted": #expect((1...2).contains(row["told"] as? Double ?? 0))
      case "thousand-changes": #expect((80...100).contains(row["told"] as? Double ?? 0), "\(line)")
      case "thousand-replaced": #expect(row["told"] as? Double == 200)
      default: break
      }
    }
    for (row, keys) in [
      "W11 one-change": ["p99"], "W11 one-change-sorted": [], "W11 thousand-changes": [], "W11 thousand-replaced": [],
      "W13 memory-2": ["fairness", "longest"], "W13 full-2": ["fairness", "longest"], "W14 one": [],
      "W14 memory-slots-16": ["p50", "p99"], "W15 cold": ["faults"], "W15 joined": [], "W15 after-kill": [],
      "MEMORY reader": ["before"], "MEMORY lock-file": [],
    ] {
      let found = try #require(extras[row], "no row for \(row)")
      #expect(found.isSuperset(of: keys), "\(row) lacks some of \(keys)")
    }
    #expect(result.output.contains("not measured"), "no table of targets")
  }

  @Test func benchmarkRefusesWrongUse() async throws {
    let bench = try Programs.built("reef-bench")
    for wrong in [["W99"], ["W3/none"], ["--n"], ["--runs", "none"], ["--peers", "oracle"], ["--what"]] {
      #expect(try await Programs.run(bench, wrong).status == 2, "\(wrong)")
    }
    #expect(try await Programs.run(bench, ["--help"]).status == 0)
  }

  @Test func setupIsQuietWhereAllIsThere() async throws {
    let result = try await Programs.run("\(Self.top)/tools/setup", [])
    #expect(result.status == 0, "\(result.output)")
    #expect(result.lines.isEmpty, "\(result.output)")
    #expect(try await Programs.run("\(Self.top)/tools/setup", ["--what"]).status == 2)
  }

  @Test func setupSaysWhatIsMissing() async throws {
    // Without a PATH to a toolchain the message must say so, and the status must be its own.
    let result = try await Programs.run("/usr/bin/env", ["PATH=/usr/bin:/bin", "\(Self.top)/tools/setup"])
    if Programs.inPath("swift")?.hasPrefix("/usr/bin/") == true { return }
    #expect(result.status == 3, "\(result.output)")
    #expect(result.output.contains("Swift 6.3"))
  }
}

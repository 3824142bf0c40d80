import CBench
import Foundation

/// The table for people and the JSON lines for programs.
final class Report {
  private let json: String?
  private var lines: [String] = []
  private var disagreements = 0
  private var rows = Rows()

  init(json: String?) { self.json = json }

  private func say(_ text: String) {
    // With the rows on the output, the table goes beside it.
    if json == "-" { FileHandle.standardError.write(Data((text + "\n").utf8)) } else { writeLine(text) }
  }

  func begin(options: Options) {
    let load = (try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8))?.split(separator: " ").prefix(3)
    say(
      "Medians of \(options.runs) runs after a warm-up, programs taking turns; \(bench_cpu_count()) processors, "
        + "load \(load?.joined(separator: " ") ?? "unknown").")
    say("× is how many times better than the program named: above 1 Reef is ahead. Spinning needs a free processor.")
  }

  /// One row: a variant of one program over all runs.
  struct Row {
    var program: String
    var values: [Double]
    var unit: String
    var extra: [String: Double]
    var higherIsBetter: Bool
    var middle: Double { median(values) }
  }

  /// What is known beforehand.
  private static let answers: [String: UInt64] = [
    "W4 scan 1000000": 124_640, "W5 equal-scan 1000000": 1, "W5 contains 1000000": 13,
  ]

  func add(_ trial: Trial, programs: [String], results: [[[Measurement]]], loudness: Double) {
    var order: [String] = []
    var rows: [String: [Row]] = [:]
    var checks: [String: Set<UInt64>] = [:]
    for (index, program) in programs.enumerated() {
      guard let first = results[index].first else { continue }
      for (at, sample) in first.enumerated() {
        let runs = results[index].map { $0[at] }
        if !order.contains(sample.variant) { order.append(sample.variant) }
        var extra: [String: Double] = [:]
        for name in sample.extra.keys { extra[name] = median(runs.compactMap { $0.extra[name] }) }
        rows[sample.variant, default: []].append(
          Row(
            program: program, values: runs.map(\.value), unit: sample.unit, extra: extra,
            higherIsBetter: sample.higherIsBetter))
        checks[sample.variant, default: []].formUnion(runs.compactMap(\.check))
      }
    }
    say("")
    say(
      "\(trial.workload) \(trial.group)\(trial.n > 1 ? ", n = \(trial.n)" : "")"
        + (loudness > 0.15 ? " (not quiet: \(Int(loudness * 100)) % of the machine in use by others)" : ""))
    for variant in order {
      let group = rows[variant] ?? []
      let reef = group.first { $0.program == "reef" }
      for row in group {
        write(row, variant: variant, reef: row.program == "reef" ? nil : reef)
        record(row, trial: trial, variant: variant)
        self.rows.all.append((trial.workload, variant, trial.n, row))
      }
      if let found = checks[variant], found.count > 1 {
        disagreements += 1
        say("  !! the programs disagree about the answer: \(found.sorted())")
      }
      if let answer = Report.answers["\(trial.workload) \(variant) \(trial.n)"], checks[variant] != [answer] {
        disagreements += 1
        say("  !! the answer is not \(answer)")
      }
    }
  }

  private func write(_ row: Row, variant: String, reef: Row?) {
    var line = "  " + pad(variant, 26) + pad(row.program, 14)
    line += pad(number(row.middle), 12, left: true) + " " + pad(row.unit, 12)
    line += pad("\(number(row.values.min() ?? .nan))…\(number(row.values.max() ?? .nan))", 24)
    if let reef, row.middle > 0, reef.middle > 0 {
      let ratio = row.higherIsBetter ? reef.middle / row.middle : row.middle / reef.middle
      line += pad("×\(number(ratio))", 10)
    } else {
      line += pad("", 10)
    }
    let extra = row.extra.sorted { $0.key < $1.key }.map { "\($0.key) \(number($0.value))" }
    say(line + extra.joined(separator: " "))
  }

  private func record(_ row: Row, trial: Trial, variant: String) {
    func digits(_ value: Double) -> String { value.isFinite ? String(format: "%.6g", value) : "null" }
    var line = "{\"workload\":\"\(trial.workload)\",\"variant\":\"\(variant)\",\"program\":\"\(row.program)\""
    line += ",\"n\":\(trial.n),\"median\":\(digits(row.middle))"
    line += ",\"min\":\(digits(row.values.min() ?? .nan)),\"max\":\(digits(row.values.max() ?? .nan))"
    line += ",\"unit\":\"\(row.unit)\""
    for name in row.extra.keys.sorted() { line += ",\"\(name)\":\(digits(row.extra[name] ?? .nan))" }
    lines.append(line + "}")
  }

  /// One line for each target: what was measured, and whether that meets it.
  func judge() {
    say("")
    say("Targets (peers at their best; of several sizes the largest)")
    var counts: [Target.Verdict: Int] = [:]
    for target in Target.all {
      let value = target.measured(rows)
      let verdict = target.verdict(value)
      counts[verdict, default: 0] += 1
      let word = verdict == .met ? "met" : verdict == .missed ? "MISSED" : "not measured"
      say(
        "  " + pad(target.name, 42) + pad(target.bound, 30) + pad(value.map(number) ?? "–", 12, left: true) + "  "
          + word)
    }
    say("  \(counts[.met] ?? 0) met, \(counts[.missed] ?? 0) missed, \(counts[.unmeasured] ?? 0) not measured")
  }

  /// Writes the JSON; returns how many comparisons were void.
  func finish() -> Int {
    let text = lines.map { $0 + "\n" }.joined()
    switch json {
    case "-": FileHandle.standardOutput.write(Data(text.utf8))
    case let path?:
      do { try text.write(toFile: path, atomically: true, encoding: .utf8) } catch { fail("\(path): \(error)") }
    case nil: break
    }
    return disagreements
  }

  private func pad(_ text: String, _ width: Int, left: Bool = false) -> String {
    let space = String(repeating: " ", count: max(0, width - text.count))
    return left ? space + text : text + space
  }

  private func number(_ value: Double) -> String {
    guard value.isFinite else { return "–" }
    let size = abs(value)
    let text = String(format: size >= 1000 ? "%.0f" : size >= 100 ? "%.1f" : "%.2f", value)
    guard size >= 10_000 else { return text }
    var grouped = ""
    for (offset, digit) in text.reversed().enumerated() {
      if offset > 0 && offset % 3 == 0 && digit != "-" { grouped.append(",") }
      grouped.append(digit)
    }
    return String(grouped.reversed())
  }
}

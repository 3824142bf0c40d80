import Foundation

/// What a suite found: a table of counts, and whatever failed.
struct Report: Encodable {
  struct Row: Encodable {
    var name: String
    var counts: [String: Int]
  }
  struct Failure: Encodable {
    var what: String
    var replay: String
  }

  var suite: String
  var seed: String
  var columns: [String]
  var rows: [Row] = []
  var failures: [Failure] = []
  var failed = 0
  var seconds = 0.0
  /// Whether the rows add up to something.
  var hasTotal = true

  var text: String {
    let width = max(10, rows.map(\.name.count).max() ?? 0)
    func pad(_ text: String, _ length: Int, left: Bool = false) -> String {
      let fill = String(repeating: " ", count: max(0, length - text.count))
      return left ? fill + text : text + fill
    }
    var lines = [pad("", width) + columns.map { "  " + pad($0, max(7, $0.count), left: true) }.joined()]
    var all = Row(name: "all", counts: [:])
    for row in rows { for (name, count) in row.counts { all.counts[name, default: 0] += count } }
    for row in hasTotal && rows.count > 1 ? rows + [all] : rows {
      lines.append(
        pad(row.name, width)
          + columns.map { "  " + pad("\(row.counts[$0] ?? 0)", max(7, $0.count), left: true) }.joined())
    }
    for failure in failures.prefix(20) { lines.append("\(failure.what)\n    replay: \(failure.replay)") }
    if failed > failures.count { lines.append("… and \(failed - failures.count) more") }
    return lines.joined(separator: "\n")
  }
}

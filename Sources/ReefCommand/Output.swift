import Foundation
import ReefEngine

/// One object as JSON, its properties in the order of the schema.
func jsonObject(_ values: [Value], _ type: TypeSchema) -> String {
  let members = zip(type.properties, values).map { "\(Value.quoted($0.name)):\($1.json)" }
  return "{" + members.joined(separator: ",") + "}"
}

/// Columns that line up, without trailing spaces.
func aligned(_ rows: [[String]], indent: String = "") -> String {
  let columns = rows.map(\.count).max() ?? 0
  let widths = (0..<columns).map { column in rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0 }
  return rows.map { row in
    var line = indent
    for (column, cell) in row.enumerated() {
      line += cell
      if column < row.count - 1 { line += String(repeating: " ", count: widths[column] - cell.count + 2) }
    }
    return line
  }.joined(separator: "\n")
}

/// 1234567 as "1,234,567".
func grouped(_ number: some BinaryInteger) -> String {
  var text = ""
  for (offset, digit) in String(number).reversed().enumerated() {
    if offset > 0, offset % 3 == 0, digit != "-" { text.append(",") }
    text.append(digit)
  }
  return String(text.reversed())
}

/// A size for people.
func bytes(_ count: Int) -> String {
  let units: [(String, Double)] = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)]
  for (unit, size) in units where Double(count) >= size { return String(format: "%.1f %@", Double(count) / size, unit) }
  return "\(count) B"
}

/// How long ago, for people.
func age(since time: Double, now: Double = Date().timeIntervalSince1970) -> String {
  let seconds = max(0, now - time)
  if seconds < 1 { return String(format: "%.0f ms", seconds * 1000) }
  if seconds < 120 { return String(format: "%.1f s", seconds) }
  if seconds < 7200 { return String(format: "%.0f min", seconds / 60) }
  if seconds < 172_800 { return String(format: "%.0f h", seconds / 3600) }
  return String(format: "%.0f days", seconds / 86_400)
}

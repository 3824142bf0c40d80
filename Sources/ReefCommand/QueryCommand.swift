import Foundation
import ReefEngine

enum QueryCommand: Command {
  static let name = "query"
  static let summary = "objects that meet a condition, as JSON"
  static let help = """
    USE  reef query STORE TYPE [CONDITION] [--sort P,-Q] [--limit N] [--offset N] [--properties A,B] [--count]

      reef query packages.reef Package 'section = "libs" and installedSize > 1000' --sort -installedSize --limit 5
      reef query packages.reef Package 'not (name hasPrefix "lib") and homepage != null' --count

    Prints the objects that meet the condition, one JSON object a line, in stored order or by --sort (a - before a property
    turns its order round).

    CONDITION compares properties with values: = != < <= > >=, in (a, b), between a and b, contains, hasPrefix, hasSuffix,
    is null, is not null; joined by and, or, not and parentheses. A true-or-false property may stand alone. Text is quoted
    with " or '; dates are written 2026-01-31 or 2026-01-31T12:00:00Z, bytes as hex digits.
    """

  static func run(_ words: ArraySlice<String>) throws {
    let arguments = try Arguments(
      words, flags: ["--count"], valued: ["--sort", "--limit", "--offset", "--properties"])
    try arguments.expect(2...3, "STORE TYPE")
    let limit = try arguments.number("--limit")
    let offset = try arguments.number("--offset") ?? 0
    let store = try OpenedStore(arguments.places[0])
    defer { store.close() }
    let snapshot = try store.snapshot()
    let type = try snapshot.type(named: arguments.places[1])
    var predicate = ReefEngine.Predicate.always(true)
    if arguments.places.count > 2 {
      do { predicate = try ConditionParser.parse(arguments.places[2], type: type) } catch {
        throw CommandFailure.usage("\(error)")
      }
    }
    if arguments.has("--count") {
      print(try snapshot.count(of: type, where: predicate))
      return
    }
    let columns = try chosen(arguments["--properties"], type)
    let order = try self.order(arguments["--sort"], type)
    var skipped = 0
    var printed = 0
    func show(_ values: [Value]) -> Bool {
      if skipped < offset {
        skipped += 1
        return true
      }
      if let limit, printed >= limit { return false }
      printed += 1
      let line =
        columns.map { column in "\(Value.quoted(type.properties[column].name)):\(values[column].json)" }
        .joined(separator: ",")
      print("{\(line)}")
      return true
    }
    if order.isEmpty {
      try snapshot.forEach(of: type, where: predicate, show)
    } else {
      for values in try snapshot.sorted(of: type, where: predicate, by: order) where !show(values) { break }
    }
  }

  private static func chosen(_ list: String?, _ type: TypeSchema) throws -> [Int] {
    guard let list else { return Array(type.properties.indices) }
    return try list.split(separator: ",").map { try column(String($0), type) }
  }

  private static func order(_ list: String?, _ type: TypeSchema) throws -> [SortKey] {
    try (list ?? "").split(separator: ",").map { word in
      SortKey(column: try column(String(word.drop { $0 == "-" }), type), ascending: !word.hasPrefix("-"))
    }
  }

  private static func column(_ name: String, _ type: TypeSchema) throws -> Int {
    guard let column = type.properties.firstIndex(where: { $0.name == name }) else {
      let names = type.properties.map(\.name).joined(separator: ", ")
      throw CommandFailure.usage("\(type.name) has no property '\(name)'; it has \(names)")
    }
    return column
  }
}

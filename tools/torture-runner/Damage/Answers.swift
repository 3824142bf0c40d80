import ReefEngine

/// A question to a store, and how the right answer follows from the model.
struct Question: Sendable {
  var name: String
  var table: Int
  var ask: @Sendable (TableView) throws -> [Value]
  var expect: @Sendable ([Int64: SampleStore.Row]) -> [Value]
}

/// What is asked of every store, with and without index, sorted and summed up. Right answers are kept by version.
final class Answers {
  private var known: [UInt64: [[Value]]] = [:]

  func expected(_ version: UInt64, _ model: SampleStore.Model, keep: Bool) -> [[Value]] {
    if keep, let known = known[version] { return known }
    let answers = Answers.questions.map { $0.expect(model[$0.table]) }
    if keep { known[version] = answers }
    return answers
  }

  private static func compiled(_ predicate: Predicate, _ table: Int) throws -> CompiledPredicate {
    try CompiledPredicate(predicate, for: SampleStore.schema.types[table])
  }

  private static func matches(
    _ name: String, _ table: Int, _ predicate: Predicate, _ isMatch: @escaping @Sendable (SampleStore.Row) -> Bool
  ) -> Question {
    Question(
      name: name, table: table,
      ask: { view in try view.keys(where: try compiled(predicate, table)).sorted().map(Value.int) },
      expect: { rows in rows.filter { isMatch($0.value) }.keys.sorted().map(Value.int) })
  }

  private static func int(_ value: Value) -> Int64? { if case .int(let number) = value { number } else { nil } }
  private static func text(_ value: Value) -> String? { if case .string(let text) = value { text } else { nil } }
  private static func real(_ value: Value) -> Double { if case .double(let number) = value { number } else { 0 } }

  static let questions: [Question] = [
    matches(
      "quantity between -100 and 100, by index", 0,
      .between(column: 1, lower: .int(-100), upper: .int(100), includesUpper: true)
    ) { (-100...100).contains(int($0[1]) ?? .min) },
    matches("name begins with m, by index", 0, .text(column: 6, .prefix, .string("m"))) {
      text($0[6])?.hasPrefix("m") ?? false
    },
    matches("price over 6000", 0, .compare(column: 3, .greater, .double(6000))) { real($0[3]) > 6000 },
    matches("flag", 0, .compare(column: 5, .equal, .bool(true))) { $0[5] == .bool(true) },
    matches("note contains ab", 0, .text(column: 7, .contains, .string("ab"))) { text($0[7])?.contains("ab") ?? false },
    matches("no note", 0, .compare(column: 7, .equal, .null)) { $0[7] == .null },
    matches("sparse value 7, by index", 2, .compare(column: 1, .equal, .int(7))) { $0[1] == .int(7) },
    matches("id between 100 and 200", 0, .between(column: 0, lower: .int(100), upper: .int(200), includesUpper: false))
    { (100..<200).contains(int($0[0]) ?? .min) },
    Question(
      name: "sorted by name", table: 0,
      ask: { try $0.sortedKeys(by: [SortKey(column: 6)], schema: SampleStore.items).map(Value.int) },
      expect: { rows in
        rows.keys.sorted {
          let (a, b) = (
            Array((text(rows[$0]?[6] ?? .null) ?? "").utf8), Array((text(rows[$1]?[6] ?? .null) ?? "").utf8)
          )
          return a.lexicographicallyPrecedes(b) || a == b && $0 < $1
        }.map(Value.int)
      }),
    Question(
      name: "dearest ten", table: 0,
      ask: {
        try $0.sortedKeys(by: [SortKey(column: 3, ascending: false)], schema: SampleStore.items, limit: 10).map(
          Value.int)
      },
      expect: { rows in
        rows.keys.sorted {
          let (a, b) = (real(rows[$0]?[3] ?? .null), real(rows[$1]?[3] ?? .null))
          return a > b || a == b && $0 < $1
        }.prefix(10).map(Value.int)
      }),
    Question(
      name: "backward", table: 2,
      ask: { try $0.sortedKeys(by: [SortKey(column: 0, ascending: false)], schema: SampleStore.sparse).map(Value.int) },
      expect: { rows in rows.keys.sorted(by: >).map(Value.int) }),
    Question(
      name: "sum and bounds of quantity", table: 0,
      ask: {
        let sums = try $0.aggregate(column: 1, in: SampleStore.items)
        return [sums.sum, sums.minimum, sums.maximum, .int(Int64(sums.count))]
      },
      expect: { rows in
        let values = rows.values.compactMap { int($0[1]) }
        return [
          .int(values.reduce(0, +)), values.min().map(Value.int) ?? .null, values.max().map(Value.int) ?? .null,
          .int(Int64(values.count)),
        ]
      }),
    Question(
      name: "count", table: 1, ask: { [.int(Int64(try $0.count(where: nil)))] }, expect: { [.int(Int64($0.count))] }),
    Question(
      name: "sum of sparse values", table: 2,
      ask: { [try $0.aggregate(column: 1, in: SampleStore.sparse).sum] },
      expect: { rows in [.int(rows.values.compactMap { int($0[1]) }.reduce(0, +))] }),
  ]
}

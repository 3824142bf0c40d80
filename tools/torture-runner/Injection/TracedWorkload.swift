import Foundation
import ReefEngine

/// The workload of `exhaustion` in a process of its own, under a tracer. `--workload STORE full|memory FILE`
enum TracedWorkload {
  /// What it leaves in FILE for its parent, who looks at the store afterwards.
  struct Result: Codable {
    var possible: [[Int64: Int64]]
    var errors: [String]
    var wrong: [String]
  }
  /// A call that the tracer sees: what was before it is the loader's, and what comes behind the second the program's end.
  static let mark = "/reef-torture-begins"

  static func run(_ words: [String]) throws {
    guard words.count == 3 else { throw TortureError("not for people") }
    // A hang ends, and says what it was.
    alarm(25)
    let file = URL(fileURLWithPath: words[2])
    try JSONEncoder().encode(Result(possible: [[:]], errors: [], wrong: [])).write(to: file)
    let workload = Workload(words[0], words[1] == "full" ? .full : .memory)
    _ = access(mark, F_OK)
    workload.run()
    _ = access(mark, F_OK)
    let result = Result(
      possible: workload.possible, errors: workload.errors.map { "\($0)" }, wrong: workload.wrong)
    try JSONEncoder().encode(result).write(to: file)
    _exit(0)
  }
}

/// The calls of one traced run's first thread, between the two marks.
struct TraceLog {
  struct Call {
    var name: String
    /// Which of all calls of that name it is in its thread, as the tracer counts.
    var number: Int
    var line: Substring
  }
  var calls: [Call] = []

  init(_ text: String) {
    var counts: [Substring: Int] = [:]
    var first: Substring?
    var isWithin = false
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
      guard parts.count == 2, let brace = parts[1].firstIndex(of: "(") else { continue }
      let call = parts[1].drop { $0 == " " }
      guard call.first?.isLetter == true, let end = call.firstIndex(of: "(") else { continue }
      _ = brace
      first = first ?? parts[0]
      guard parts[0] == first else { continue }
      let name = call[..<end]
      counts[name, default: 0] += 1
      if call.contains(TracedWorkload.mark) {
        isWithin.toggle()
        continue
      }
      if isWithin { calls.append(Call(name: String(name), number: counts[name] ?? 0, line: call)) }
    }
  }
}

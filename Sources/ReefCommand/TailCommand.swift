import Foundation
import ReefEngine

enum TailCommand: Command {
  static let name = "tail"
  static let summary = "commits as they happen, with counts per type"
  static let help = """
    USE  reef tail STORE [--after VERSION] [--commits N] [--seconds S] [--json]

    Prints one line for each commit from now on: its version, and how many objects of each type it inserted (+), changed (~)
    and deleted (-). Commits that came too fast to be looked at one by one are told together.

      --after V     begin after version V, where it is still there, instead of now
      --commits N   end after N lines
      --seconds S   end after S seconds
    """

  static func run(_ words: ArraySlice<String>) throws {
    let arguments = try Arguments(words, flags: ["--json"], valued: ["--after", "--commits", "--seconds"])
    try arguments.expect(1...1, "STORE")
    let count = try arguments.number("--commits") ?? Int.max
    let seconds = try arguments.number("--seconds")
    let after = try arguments.number("--after")
    let store = try OpenedStore(arguments.places[0])
    defer { store.close() }
    let end = seconds.map { Date().timeIntervalSince1970 + Double($0) }
    var shown = 0
    try store.follow(after: after.map { UInt64($0) }) { step in
      if let step {
        print(arguments.has("--json") ? json(step) : line(step))
        fflush(nil)
        shown += 1
      }
      return shown < count && end.map { Date().timeIntervalSince1970 < $0 } ?? true
    }
  }

  private static func line(_ step: CommitStep) -> String {
    let versions = step.to - step.from > 1 ? "\(step.from + 1)–\(step.to)" : "\(step.to)"
    let parts = step.types.map { type in
      var counts: [String] = []
      if type.inserted > 0 { counts.append("+\(grouped(type.inserted))") }
      if type.modified > 0 { counts.append("~\(grouped(type.modified))") }
      if type.deleted > 0 { counts.append("-\(grouped(type.deleted))") }
      return "\(type.name) \(counts.joined(separator: " "))"
    }
    let what =
      parts.isEmpty
      ? (step.isGap ? "versions in between are gone" : "no object changed") : parts.joined(separator: ", ")
    return "version \(versions)  \(what)"
  }

  private static func json(_ step: CommitStep) -> String {
    let types = step.types.map { type in
      "\(Value.quoted(type.name)):{\"inserted\":\(type.inserted),\"modified\":\(type.modified),\"deleted\":\(type.deleted)}"
    }
    return
      "{\"after\":\(step.from),\"version\":\(step.to),\"gap\":\(step.isGap),\"changes\":{\(types.joined(separator: ","))}}"
  }
}

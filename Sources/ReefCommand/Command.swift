import Foundation
import Glibc
import ReefEngine

/// What went wrong, and the exit status that says so.
struct CommandFailure: Error {
  var message: String
  var status: Int32

  /// The command was called in a wrong way.
  static func usage(_ message: String) -> CommandFailure { CommandFailure(message: message, status: 2) }
  static func error(_ message: String) -> CommandFailure { CommandFailure(message: message, status: 1) }
}

/// One command of `reef`.
protocol Command {
  static var name: String { get }
  /// One line for the list of commands.
  static var summary: String { get }
  static var help: String { get }
  static func run(_ words: ArraySlice<String>) throws
}

@main enum ReefCommand {
  static var commands: [any Command.Type] {
    [
      InfoCommand.self, PeersCommand.self, TailCommand.self, GetCommand.self, QueryCommand.self, DumpCommand.self,
      CheckCommand.self, SalvageCommand.self,
    ]
  }

  static func main() {
    signal(SIGPIPE, SIG_DFL)  // `reef dump … | head` ends quietly
    do {
      try run(Array(CommandLine.arguments.dropFirst()))
    } catch let failure as CommandFailure {
      complain(failure.message)
      exit(failure.status)
    } catch let wrong as Arguments.Wrong {
      complain("\(wrong.message) (see 'reef \(CommandLine.arguments.dropFirst().first ?? "") --help')")
      exit(2)
    } catch {
      complain("\(error)")
      exit(1)
    }
  }

  private static func run(_ words: [String]) throws {
    guard let first = words.first else {
      complain("no command given\n" + overview)
      exit(2)
    }
    if ["--help", "-h", "help"].contains(first) {
      if words.count > 1, let command = commands.first(where: { $0.name == words[1] }) {
        print(command.help)
      } else {
        print(overview)
      }
      return
    }
    guard let command = commands.first(where: { $0.name == first }) else {
      throw CommandFailure.usage("no command '\(first)'; there are \(commands.map { $0.name }.joined(separator: ", "))")
    }
    let rest = words.dropFirst()
    if rest.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
      print(command.help)
      return
    }
    try command.run(rest)
  }

  static var overview: String {
    let list = commands.map { "  \($0.name)\(String(repeating: " ", count: 8 - $0.name.count))\($0.summary)" }
    return """
      reef looks into a Reef store, also while other processes use it.

      USE  reef COMMAND STORE …      reef COMMAND --help

      \(list.joined(separator: "\n"))

      STORE is the path of a store, or memory:NAME for one in memory.
      EXIT  0 all well · 1 an error, or nothing found · 2 wrong use
      """
  }

  private static func complain(_ message: String) {
    FileHandle.standardError.write(Data("reef: \(message)\n".utf8))
  }
}

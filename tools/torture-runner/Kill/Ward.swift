import Foundation
import ReefEngine

/// A process that lives in a name space of its own, where it starts victims, kills them, and takes over from the dead. What
/// it is told and answers are lines, as with a `Tenant`. `--ward STORE`
enum Ward {
  static let wrapper = ["/usr/bin/unshare", "--fork", "--pid", "--mount-proc", "--kill-child"]

  private struct State {
    let engine: Engine
    let path: String
    var victims: [Int32: Process] = [:]
    var values: Set<Int64> = []

    mutating func obey(_ words: [String]) throws -> Int64 {
      switch words[0] {
      case "start":
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["--victim", path] + words.dropFirst()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.standardError
        try process.run()
        victims[process.processIdentifier] = process
        return Int64(process.processIdentifier)
      case "end":
        guard let id = Int32(words[1]), let process = victims.removeValue(forKey: id) else {
          throw TortureError("no victim: \(words)")
        }
        if let end = ChildEnd.of(process, wait: false) { return Int64(1000 + end.status) }
        kill(id, SIGKILL)
        _ = ChildEnd.of(process, wait: true)
        return 0
      case "takeover":
        let began = Board.now
        let transaction = try engine.write(.after(.seconds(10)))
        let time = Board.now - began
        defer { transaction.rollback() }
        values = try Victim.values(transaction.readView)
        return Int64(time)
      case "low": return values.min() ?? -1
      case "high": return values.max() ?? -1
      case "takeovers": return Int64(engine.session.lock.word(LockLayout.Statistics.takeovers))
      case "close":
        engine.close()
        return 0
      default: throw TortureError("unknown: \(words)")
      }
    }
  }

  static func run(_ arguments: [String]) throws {
    guard arguments.count == 1 else { throw TortureError("not for people") }
    var state = State(engine: try Victim.open(arguments[0]), path: arguments[0])
    while let line = readLine() {
      var answer: String
      do {
        answer = "ok \(try state.obey(line.split(separator: " ").map(String.init)))"
      } catch let error as StoreError {
        answer = "error \(error)"
      } catch {
        answer = "wrong \(error)"
      }
      answer = answer.replacingOccurrences(of: "\n", with: " ") + "\n"
      try? FileHandle.standardOutput.write(contentsOf: Data(answer.utf8))
    }
  }
}

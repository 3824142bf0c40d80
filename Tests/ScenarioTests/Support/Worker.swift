import Foundation
import Testing

/// A process of the scenario worker: `reef-scenario COMMAND STORE …`.
final class Worker: @unchecked Sendable {
  let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var buffer = Data()
  /// It did not end in time and was ended from here: that is no death of its own.
  private(set) var isOverdue = false
  var id: Int32 { process.processIdentifier }

  init(_ arguments: [String], environment: [String: String] = [:], wrapper: [String] = []) throws {
    signal(SIGPIPE, SIG_IGN)
    let command = wrapper + [Worker.executable] + arguments
    process.executableURL = URL(fileURLWithPath: command[0])
    process.arguments = Array(command.dropFirst())
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = input
    process.standardOutput = output
    try process.run()
  }

  deinit { if process.isRunning { kill(id, SIGKILL) } }

  /// Helper executables lie beside the test bundle.
  static let executable: String = {
    var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    for _ in 0..<5 {
      let path = folder.appendingPathComponent("reef-scenario").path
      if FileManager.default.isExecutableFile(atPath: path) { return path }
      folder.deleteLastPathComponent()
    }
    return "reef-scenario"
  }()

  func send(_ line: String) { try? input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

  /// Its next line; nil when it ended, or said nothing in time.
  func reply(within seconds: Double = 30) -> String? {
    let descriptor = output.fileHandleForReading.fileDescriptor
    let end = Date().addingTimeInterval(seconds)
    while true {
      if let index = buffer.firstIndex(of: 10) {
        let line = String(decoding: buffer[buffer.startIndex..<index], as: UTF8.self)
        buffer.removeSubrange(...index)
        return line
      }
      var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let left = end.timeIntervalSinceNow
      guard left > 0, Glibc.poll(&poll, 1, Int32(left * 1000)) > 0 else { return nil }
      var bytes = [UInt8](repeating: 0, count: 65536)
      let count = read(descriptor, &bytes, bytes.count)
      guard count > 0 else { return nil }
      buffer.append(contentsOf: bytes.prefix(count))
    }
  }

  func ask(_ line: String, within seconds: Double = 30) -> String? {
    send(line)
    return reply(within: seconds)
  }

  /// Everything it still says, until it ends. One that goes on for longer is ended, and that is a failure.
  func rest(within seconds: Double = 60) -> [String] {
    var lines: [String] = []
    let end = Date().addingTimeInterval(seconds)
    while let line = reply(within: max(0, end.timeIntervalSinceNow)) { lines.append(line) }
    wait(within: max(1, end.timeIntervalSinceNow), "it had said \(lines.count) lines, the last \(lines.last ?? "none")")
    return lines
  }

  /// Waits for its end; past the deadline it is ended, with a word about where it stood.
  func wait(within seconds: Double = 60, _ context: @autoclosure () -> String = "") {
    let end = Date().addingTimeInterval(seconds)
    while process.isRunning, end.timeIntervalSinceNow > 0 { usleep(1000) }
    if process.isRunning {
      func read(_ name: String) -> String {
        (try? String(contentsOfFile: "/proc/\(id)/\(name)", encoding: .utf8)) ?? ""
      }
      let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/task")) ?? []
      let places = threads.map { "\(read("task/\($0)/wchan")) in \(read("task/\($0)/syscall"))" }
      isOverdue = true
      kill(id, SIGKILL)
      Issue.record(
        "\(process.arguments ?? []) with \(process.environment?["REEF_KILL"] ?? "no order to die") did not end: \(state ?? "?"), \(places); \(context())"
      )
    }
    process.waitUntilExit()
  }

  func die() {
    kill(id, SIGKILL)
    wait()
  }
  func stop() {
    kill(id, SIGSTOP)
    for _ in 0..<2000 where state != "T" { usleep(1000) }
  }
  func goOn() { kill(id, SIGCONT) }
  var state: String? {
    guard let text = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8) else { return nil }
    return text.split(separator: ")").last?.split(separator: " ").first.map(String.init)
  }

  func finish() {
    try? input.fileHandleForWriting.close()
    wait()
  }

  var wasKilled: Bool {
    wait()
    return !isOverdue && process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
  }
}

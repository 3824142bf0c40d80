import Foundation
import Testing

/// A worker process under the test's thumb: one line in, one line out.
final class Peer: @unchecked Sendable {
  let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var buffer = Data()
  var id: Int32 { process.processIdentifier }

  /// `wrapper`: a command that starts the worker (such as `unshare`).
  init(environment: [String: String] = [:], wrapper: [String] = []) throws {
    signal(SIGPIPE, SIG_IGN)
    let command = wrapper + [Peer.worker]
    process.executableURL = URL(fileURLWithPath: command[0])
    process.arguments = Array(command.dropFirst())
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = input
    process.standardOutput = output
    try process.run()
  }

  deinit {
    if process.isRunning { kill(id, SIGKILL) }
  }

  /// Helper executables lie beside the test bundle.
  static let worker: String = {
    var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    for _ in 0..<4 {
      let path = folder.appendingPathComponent("reef-test-worker").path
      if FileManager.default.isExecutableFile(atPath: path) { return path }
      folder.deleteLastPathComponent()
    }
    return "reef-test-worker"
  }()

  func send(_ line: String) {
    try? input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
  }

  /// The next line of its output; nil when it ended, or said nothing in time.
  func reply(within seconds: Double = 15) -> String? {
    let descriptor = output.fileHandleForReading.fileDescriptor
    let end = Date().addingTimeInterval(seconds)
    while true {
      if let index = buffer.firstIndex(of: 10) {
        let line = String(decoding: buffer[..<index], as: UTF8.self)
        buffer.removeSubrange(...index)
        return line
      }
      var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let left = end.timeIntervalSinceNow
      guard left > 0, Glibc.poll(&poll, 1, Int32(left * 1000)) > 0 else { return nil }
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = read(descriptor, &bytes, bytes.count)
      guard count > 0 else { return nil }
      buffer.append(contentsOf: bytes.prefix(count))
    }
  }

  @discardableResult
  func ask(_ line: String, within seconds: Double = 15) -> String? {
    send(line)
    return reply(within: seconds)
  }

  func die() {
    kill(id, SIGKILL)
    process.waitUntilExit()
  }
  func stop() {
    kill(id, SIGSTOP)
    // Stopped for sure once the system says so.
    for _ in 0..<1000 where Peer.state(id) != "T" { usleep(1000) }
  }
  func goOn() { kill(id, SIGCONT) }

  static func state(_ id: Int32) -> String? {
    guard let text = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8) else { return nil }
    return text.split(separator: ")").last?.split(separator: " ").first.map(String.init)
  }

  func close() { try? input.fileHandleForWriting.close() }

  /// Ends by itself, its input closed.
  func finish() -> Int32 {
    close()
    process.waitUntilExit()
    return process.terminationStatus
  }
}

/// A store name of its own for each test, in memory or in a folder; what is left of it goes with it.
final class TestStore: @unchecked Sendable {
  let name = "test-\(UUID().uuidString)"
  let folder: String
  let inMemory: Bool

  init(inMemory: Bool = true) throws {
    self.inMemory = inMemory
    folder = NSTemporaryDirectory() + "/reef-" + name
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit {
    for path in files { try? FileManager.default.removeItem(atPath: path) }
    try? FileManager.default.removeItem(atPath: folder)
  }

  var path: String { inMemory ? "/dev/shm/reef-\(geteuid())-\(name).reef" : folder + "/jobs.reef" }
  var spec: String { inMemory ? "memory:\(name)" : "file:\(path)" }
  var files: [String] { [path, path + ".lock", path + ".note"] }
  var left: [String] { files.filter { FileManager.default.fileExists(atPath: $0) } }

  func peer(_ name: String, environment: [String: String] = [:], wrapper: [String] = []) throws -> Peer {
    let peer = try Peer(environment: environment, wrapper: wrapper)
    peer.send("open \(spec) \(name)")
    return peer
  }
}

/// Waits until `condition` holds.
func eventually(within seconds: Double = 5, _ condition: () -> Bool) -> Bool {
  let end = Date().addingTimeInterval(seconds)
  while Date() < end {
    if condition() { return true }
    usleep(2000)
  }
  return condition()
}

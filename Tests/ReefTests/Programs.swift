import Foundation

/// The programs of this package that lie beside the test binary, and how to run them.
enum Programs {
  struct Missing: Error, CustomStringConvertible { var description: String }
  struct Result: Sendable {
    var status: Int32
    var output: String
    var lines: [Substring] { output.split(separator: "\n") }
  }

  static func built(_ name: String) throws -> String {
    let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    let path = folder.appendingPathComponent(name).path
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw Missing(description: "\(name) was not built beside the tests (\(folder.path))")
    }
    return path
  }

  static func inPath(_ name: String) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// Runs a program to its end; standard output and error together. Waits on a thread of its own: tests share few.
  static func run(_ path: String, _ arguments: [String]) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Swift.Result { try finish(path, arguments) }) }
    }
  }

  private static func finish(_ path: String, _ arguments: [String]) throws -> Result {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let signal = process.terminationReason == .uncaughtSignal
    return Result(
      status: signal ? 128 + process.terminationStatus : process.terminationStatus,
      output: String(decoding: data, as: UTF8.self))
  }

  /// A new folder that is on a disk: beside the build, which nobody keeps in memory by accident.
  static func diskFolder() throws -> String {
    let beside = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    let folder = beside.appendingPathComponent("test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder.path
  }
}

import Foundation

/// Power loss: what `reef-scenario powerLoss` makes of all workloads of up to three operations, or of every so-manieth: a size in numbers is which.
enum PowerLossSuite {
  static let suite = Suite(
    name: "power-loss", summary: "images that a power loss may leave, each opened as after a boot", run: run)

  static func run(_ request: Request) throws -> Report {
    let share = request.size.count(small: 40, night: 1)
    // A number says of how many workloads one is taken.
    let perEvent = if case .night = request.size { 60 } else { 4 }
    // The watched file has to lie on a disk, for on tmpfs nothing is synced.
    let disk = Torture.diskFolder
    try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: disk) }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      .deletingLastPathComponent().appendingPathComponent("reef-scenario")
    process.arguments = [
      "powerLoss", disk, "\(request.seed)", "\(perEvent)", "\(request.seed % UInt64(share))", "\(share)",
      request.folder,
    ]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    var report = Report(suite: suite.name, seed: "\(request.seed)", columns: ["images", "failures"])
    let lines = text.split(separator: "\n").map(String.init)
    let result = lines.firstIndex { $0.hasPrefix("images ") }
    let words = result.map { lines[$0].split(separator: " ") } ?? []
    guard process.terminationReason == .exit, words.count >= 4, let images = Int(words[1]), let bad = Int(words[3])
    else { throw TortureError("reef-scenario said: \(text.prefix(500)), status \(process.terminationStatus)") }
    report.rows = [Report.Row(name: "images", counts: ["images": images, "failures": bad])]
    report.failed = bad
    report.failures = lines.dropFirst((result ?? 0) + 1).map {
      Report.Failure(what: $0, replay: "tools/torture power-loss --seed \(request.seed)")
    }
    return report
  }
}

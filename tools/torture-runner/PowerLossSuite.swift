import Foundation

/// Power loss: what `reef-scenario powerLoss` makes of all workloads of up to three operations, or of every so-manieth: a size in numbers is which.
enum PowerLossSuite {
  static let suite = Suite(
    name: "power-loss", summary: "images that a power loss may leave, each opened as after a boot", run: run)

  static func run(_ request: Request) throws -> Report {
    let share = request.size.count(small: 40, night: 1)
    let isNight = if case .night = request.size { true } else { false }
    var report = Report(
      suite: suite.name, seed: "\(request.seed)", columns: ["images", "appends", "second losses", "failures"])
    report.hasTotal = false
    // At night each processor has workloads of its own, until there are ten million images.
    let count = isNight ? max(1, ProcessInfo.processInfo.activeProcessorCount) : 1
    var workers: [(seed: UInt64, process: Process, output: Pipe)] = []
    defer { for number in 0..<count { try? FileManager.default.removeItem(atPath: Torture.diskFolder + "-\(number)") } }
    for number in 0..<count {
      // The watched file has to lie on a disk, for on tmpfs nothing is synced.
      let disk = Torture.diskFolder + "-\(number)"
      let images = request.folder + "/\(number)"
      for folder in [disk, images] {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      }
      let seed = request.seed &+ UInt64(number)
      let process = Process()
      process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("reef-scenario")
      // A number says of how many workloads one is taken.
      let words = [
        Int(isNight ? 60 : 4), Int(seed % UInt64(share)), share, isNight ? 0 : max(1, 26 / share), 80,
        isNight ? 2000 : 400, isNight ? 10_000_000 / count : 0,
      ].map { "\($0)" }
      process.arguments = ["powerLoss", disk, "\(seed)", words[0], words[1], words[2], images] + words[3...]
      let output = Pipe()
      process.standardOutput = output
      // Images are megabytes: their memory is kept, not given back to the kernel for each.
      process.environment = ProcessInfo.processInfo.environment.merging([
        "GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=4294967296"
      ]) { $1 }
      try process.run()
      workers.append((seed, process, output))
    }
    for worker in workers {
      let text = String(decoding: worker.output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      worker.process.waitUntilExit()
      try add(text, worker.seed, worker.process, &report)
    }
    return report
  }

  private static func add(_ text: String, _ seed: UInt64, _ process: Process, _ report: inout Report) throws {
    let lines = text.split(separator: "\n").map(String.init)
    let numbers = lines.prefix(2).joined(separator: " ").split(separator: " ").compactMap { Int($0) }
    guard process.terminationReason == .exit, lines.count >= 2, numbers.count >= 4 else {
      throw TortureError("reef-scenario said: \(text.prefix(500)), status \(process.terminationStatus)")
    }
    report.rows.append(
      Report.Row(
        name: "seed \(seed)",
        counts: ["appends": numbers[0], "second losses": numbers[1], "images": numbers[2], "failures": numbers[3]]))
    report.failed += numbers[3]
    report.failures += lines.dropFirst(2).map {
      Report.Failure(what: $0, replay: "tools/torture power-loss --seed \(seed)")
    }
  }
}

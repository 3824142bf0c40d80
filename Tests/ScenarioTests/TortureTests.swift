import Foundation
import Testing

/// A short slice of the suites of `tools/torture`; the whole of them is a matter of hours. Without the checksums that
/// nodes are held against, one case of five in the slice of `damage` is a wrong answer.
@Suite(.serialized) struct TortureTests {
  private func run(_ suite: String, cases: Int) async throws {
    let debug = URL(fileURLWithPath: Worker.executable).deletingLastPathComponent()
      .appendingPathComponent("reef-torture")
    let release = debug.deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("release/reef-torture")
    let isFast = FileManager.default.isExecutableFile(atPath: release.path)
    let seed =
      ProcessInfo.processInfo.environment["REEF_SEED"].flatMap { UInt64($0) } ?? UInt64(Date().timeIntervalSince1970)
    let process = Process()
    let output = Pipe()
    process.executableURL = isFast ? release : debug
    process.arguments = [suite, "--seed", "\(seed)", "--size", "\(isFast ? cases : cases / 5)"]
    process.standardOutput = output
    try process.run()
    // Off the threads that tests share: they have deadlines.
    let text = await withCheckedContinuation { done in
      DispatchQueue.global().async {
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        done.resume(returning: text)
      }
    }
    #expect(process.terminationStatus == 0, "\(text)")
    #expect(text.contains("nothing broke"), "\(text)")
  }

  @Test func damage() async throws { try await run("damage", cases: 1100) }

  @Test func kill() async throws { try await run("kill", cases: 300) }

  @Test func steps() async throws { try await run("steps", cases: 800) }

  @Test func interleavings() async throws { try await run("interleavings", cases: 500) }

  /// One of so many workloads; `PowerLossTests` takes more.
  @Test func powerLoss() async throws { try await run("power-loss", cases: 1000) }

  @Test func exhaustion() async throws { try await run("exhaustion", cases: 300) }

  /// Rounds of all environments: one in a debug build.
  @Test func environments() async throws { try await run("environments", cases: 5) }

  @Test func histories() async throws { try await run("histories", cases: 60_000) }
}

import Foundation
import Testing

/// A short slice of the suites of `tools/torture`; the whole of them is a matter of hours. Without the checksums that
/// nodes are held against, one case of five in the slice of `damage` is a wrong answer.
@Suite(.serialized) struct TortureTests {
  private func run(_ suite: String, cases: Int) async throws {
    let tool = Tool("reef-torture")
    let seed =
      ProcessInfo.processInfo.environment["REEF_SEED"].flatMap { UInt64($0) } ?? UInt64(Date().timeIntervalSince1970)
    let process = Process()
    let output = Pipe()
    process.executableURL = tool.url
    process.arguments = [suite, "--seed", "\(seed)", "--size", "\(tool.isFast ? cases : max(1, cases / 5))"]
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

  @Test func exhaustion() async throws { try await run("exhaustion", cases: 30) }

  @Test func injection() async throws { try await run("injection", cases: 20) }

  @Test func crowd() async throws { try await run("crowd", cases: 100) }

  /// Rounds of all environments.
  @Test func environments() async throws { try await run("environments", cases: 1) }

  @Test func histories() async throws { try await run("histories", cases: 60_000) }
}

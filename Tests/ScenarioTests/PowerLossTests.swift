import Foundation
import Testing

/// Power loss on a simulated disk: a slice of what `reef-scenario powerLoss` runs. The whole of it, all 156 workloads of
/// up to three operations, and long ones at random: `reef-scenario powerLoss FOLDER SEED IMAGES-PER-EVENT 0 1
/// FOLDER-FOR-IMAGES LONG-WORKLOADS OPERATIONS SECOND-LOSS-AFTER-SO-MANY-IMAGES`.
@Suite(.serialized) struct PowerLossTests {
  @Test func slice() async throws {
    let tool = Tool("reef-scenario")
    let environment = ProcessInfo.processInfo.environment
    let seed = environment["REEF_SEED"].flatMap { UInt64($0) } ?? UInt64(Date().timeIntervalSince1970)
    let share = environment["REEF_SHARE"] ?? (tool.isFast ? "13" : "60")
    let place = try Place(.disk)
    let images = try Place(.tmpfs)
    let process = Process()
    let output = Pipe()
    process.executableURL = tool.url
    process.arguments = [
      "powerLoss", place.folder, "\(seed)", "2", "\(seed % UInt64(Int(share) ?? 1))", share, images.folder,
      tool.isFast ? "2" : "1", "80", tool.isFast ? "1500" : "3000",
    ]
    process.standardOutput = output
    try process.run()
    // Off the threads that tests share: they have deadlines. Half a minute is usual; one that hangs is ended.
    let end = DispatchWorkItem { process.terminate() }
    DispatchQueue.global().asyncAfter(deadline: .now() + 400, execute: end)
    let text = await withCheckedContinuation { done in
      DispatchQueue.global().async {
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        done.resume(returning: text)
      }
    }
    end.cancel()
    print("power loss: \(text)", terminator: "")
    #expect(process.terminationStatus == 0)
    #expect(text.contains(" failures 0 "), "seed \(seed): \(text)")
  }
}

// The example of README.md, which a test below compares with it.
import Foundation
import Reef
import Testing

// README: begin
@Model struct Job {
  @Key var id: Int
  @Indexed var state: String
  var attempts = 0
}

// README: end

@Suite struct ReadmeTests {
  @Test(.timeLimit(.minutes(15))) func exampleRuns() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("reef-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/jobs.reef"
    var seen = 0
    // README: also @main enum Jobs {
    // README: also static func main() async throws {
    // README: begin, "jobs.reef" is path
    let store = try Store(at: path, models: Job.self)
    try await store.write { transaction in
      try transaction.upsert(Job(id: 1, state: "waiting"))
      try transaction.update(Job.self, key: 1) { $0.attempts += 1 }
    }

    let snapshot = try store.snapshot()  // one version: immutable, read in place
    for job in snapshot.objects(Job.self).where({ $0.state == "waiting" }) { print(job.id, job.attempts) }

    // The same in any other process that has the store open:
    for try await changes in store.objects(Job.self).where({ $0.state == "waiting" }).changes {
      print(changes.snapshot.version, changes.insertions, changes.deletions, changes.modifications)
      // README: end
      seen += changes.insertions.count
      break
      // README: begin
    }
    // README: end
    // README: also }
    // README: also }
    let job = try #require(snapshot[Job.self, key: 1])
    #expect(seen == 1 && job.attempts == 1)
    #expect("\(job)".hasSuffix("Job(id: 1, state: \"waiting\", attempts: 1)"))
  }

  @Test func exampleIsTheReadmes() throws {
    let file = URL(fileURLWithPath: #filePath)
    let root = file.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
    let block = try #require(
      readme.components(separatedBy: "```swift\n").dropFirst().first?.components(separatedBy: "\n```").first)
    var lines: [String] = ["import Reef"]
    var inside = false
    for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false) {
      let text = line.trimmingCharacters(in: .whitespaces)
      if text.hasPrefix("// README: begin") {
        inside = true
      } else if text == "// README: end" {
        inside = false
      } else if text.hasPrefix("// README: also ") {
        lines.append(String(text.dropFirst("// README: also ".count)))
      } else if inside {
        lines.append(text.replacingOccurrences(of: "at: path", with: "at: \"jobs.reef\""))
      }
    }
    func plain(_ lines: [String]) -> [String] {
      lines.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }
    #expect(plain(lines) == plain(block.components(separatedBy: "\n")))
  }
}

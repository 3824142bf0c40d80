import Foundation
import Reef
import Testing

// The example of README.md, as it stands there: compiled and run here, and compared with the page by a test.
// README begin
@Model struct Job {
  @Key var id: Int
  @Indexed var state: String
  var attempts = 0
}
// README end

@Suite struct ReadmeTests {
  private func example(_ folder: String) async throws -> [String] {
    var told: [String] = []
    func print(_ items: Any...) { told.append(items.map { "\($0)" }.joined(separator: " ")) }
    let path = "\(folder)/jobs.reef"
    // README begin: path → "jobs.reef"

    let store = try Store(at: path, models: Job.self)
    try await store.write { transaction in
      try transaction.insert(Job(id: 1, state: "waiting"))
      try transaction.update(Job.self, key: 1) { $0.attempts += 1 }
    }

    let snapshot = try store.snapshot()  // one version: immutable, read in place
    for job in snapshot.objects(Job.self).where({ $0.state == "waiting" }) { print(job.id, job.attempts) }

    // The same in any other process that has the store open:
    for try await changes in store.objects(Job.self).where({ $0.state == "waiting" }).changes {
      print(changes.snapshot.version, changes.insertions, changes.deletions, changes.modifications)
      // README end
      break
    }
    return told
  }

  @Test func theExampleRuns() async throws {
    let folder = try Programs.diskFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let told = try await example(folder)
    #expect(told.first == "1 1")
    #expect(told.count == 2)
  }

  @Test func thePageShowsThisExample() throws {
    let file = URL(fileURLWithPath: #filePath)
    let top = file.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(contentsOf: top.appendingPathComponent("README.md"), encoding: .utf8)
    let block = try #require(
      page.components(separatedBy: "```swift\n").dropFirst().first?.components(separatedBy: "```").first)
    var here: [String] = ["import Reef", ""]
    var isInside = false
    var isBody = false
    for line in try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n") {
      let plain = line.trimmingCharacters(in: .whitespaces)
      if plain == "// README begin" || plain.hasPrefix("// README begin:") {
        isInside = true
        isBody = plain.hasPrefix("// README begin:")
      } else if plain == "// README end" {
        isInside = false
      } else if isInside {
        here.append(
          (isBody ? String(line.dropFirst(4)) : line).replacingOccurrences(of: "at: path", with: "at: \"jobs.reef\""))
      }
    }
    #expect(block == here.joined(separator: "\n") + "\n}\n")
    #expect(block.split(separator: "\n").count <= 20)
  }
}

import Foundation
import Reef
import Testing

@Model struct Parcel {
  @Key var code: String
  @Indexed var town: String
  var grams: Int
  var isPaid: Bool
  var note: String?
  var sent: Date
  var seal: Data
}

/// The `reef` command as people and scripts use it: a process of its own, its output and its exit status.
@Suite struct CommandTests {
  let folder: String
  let path: String
  let store: Store

  init() throws {
    folder = try Programs.diskFolder()
    path = "\(folder)/parcels.reef"
    var configuration = Store.Configuration(location: .file(path), models: [Parcel.self], durability: .memory)
    configuration.name = "command tests"
    store = try Store(configuration)
    try store.write { transaction in
      for index in 0..<10 {
        try transaction.insert(
          Parcel(
            code: "P\(index)", town: index % 2 == 0 ? "Kiel" : "Bremen", grams: index * 100, isPaid: index > 4,
            note: index == 3 ? "say \"hi\"\n" : nil, sent: Date(timeIntervalSinceReferenceDate: Double(index) * 86_400),
            seal: Data([UInt8(index), 255])))
      }
    }
  }

  private func reef(_ arguments: String...) async throws -> Programs.Result {
    try await Programs.run(try Programs.built("reef"), arguments)
  }

  private func end() {
    try? FileManager.default.removeItem(atPath: folder)
  }

  @Test func infoNamesTypesAndCounts() async throws {
    defer { end() }
    let result = try await reef("info", path)
    #expect(result.status == 0, "\(result.output)")
    #expect(result.output.contains("Parcel: 10 objects"))
    #expect(result.output.contains("code *"))
    #expect(result.output.contains("note     string?") || result.output.contains("string?"))
  }

  @Test func peersShowsWhoHoldsWhat() async throws {
    defer { end() }
    let old = try store.snapshot()
    try await store.write { try $0.update(Parcel.self, key: "P1") { $0.grams = 7 } }
    let result = try await reef("peers", path)
    #expect(result.status == 0, "\(result.output)")
    let line = try #require(result.lines.first { $0.contains("command tests") })
    #expect(line.contains(String(getpid())))
    #expect(line.contains("version \(old.version), 1 behind"), "\(result.output)")
    withExtendedLifetime(old) {}
  }

  @Test func getFindsOneObject() async throws {
    defer { end() }
    let result = try await reef("get", path, "Parcel", "P3")
    #expect(result.status == 0, "\(result.output)")
    #expect(
      result.output == """
        {"code":"P3","town":"Bremen","grams":300,"isPaid":false,"note":"say \\"hi\\"\\n",\
        "sent":"2001-01-04T00:00:00Z","seal":"03ff"}

        """)
    #expect(try await reef("get", path, "Parcel", "P2", "--property", "town").output == "Kiel\n")
    #expect(try await reef("get", path, "Parcel", "nobody").status == 1)
    #expect(try await reef("get", path, "Box", "P3").status != 0)
  }

  @Test(arguments: [
    ("town = Kiel", 5), ("town = 'Kiel' and grams > 300", 3), ("not (town = Kiel or isPaid)", 2), ("note is null", 9),
    ("note != null", 1), ("code in (P1, P2, X)", 2), ("grams between 200 and 400", 3), ("town hasPrefix 'Bre'", 5),
    ("note contains 'hi'", 1), ("sent >= 2001-01-08", 3), ("isPaid && !(grams = 500)", 4), ("seal = 03ff", 1),
  ])
  func queryCounts(condition: String, count: Int) async throws {
    defer { end() }
    let result = try await reef("query", path, "Parcel", condition, "--count")
    #expect(result.output == "\(count)\n", "\(condition)")
    #expect(result.status == 0)
    #expect(try await reef("query", path, "Parcel", condition).lines.count == count, "\(condition)")
  }

  @Test func querySortsAndCuts() async throws {
    defer { end() }
    let result = try await reef(
      "query", path, "Parcel", "--sort", "town,-grams", "--limit", "3", "--offset", "1", "--properties", "code")
    #expect(result.output == "{\"code\":\"P7\"}\n{\"code\":\"P5\"}\n{\"code\":\"P3\"}\n")
  }

  @Test func dumpIsOneJSONObjectALine() async throws {
    defer { end() }
    let result = try await reef("dump", path)
    #expect(result.status == 0)
    #expect(result.lines.count == 10)
    for line in result.lines {
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      #expect(object?["type"] as? String == "Parcel")
    }
  }

  @Test func tailTellsCommits() async throws {
    defer { end() }
    let program = try Programs.built("reef")
    let path = path
    let tail = Task { try await Programs.run(program, ["tail", path, "--commits", "2"]) }
    // It has begun once it holds every version from here on.
    while try !store.peers.contains(where: { !$0.isSelf && $0.held.contains(where: \.holdsLater) }) {
      try await Task.sleep(for: .milliseconds(25))
    }
    try await store.write { transaction in
      try transaction.delete(Parcel.self, key: "P0")
      try transaction.update(Parcel.self, key: "P1") { $0.grams = 1 }
    }
    try await store.write { try $0.update(Parcel.self, key: "P2") { $0.grams = 1 } }
    let result = try await tail.value
    #expect(result.status == 0, "\(result.output)")
    #expect(result.output.contains("Parcel ~1 -1"), "\(result.output)")
  }

  @Test func mistakesAreToldWithTheirStatus() async throws {
    defer { end() }
    #expect(try await reef().status == 2)
    #expect(try await reef("fly", path).status == 2)
    #expect(try await reef("info").status == 2)
    #expect(try await reef("info", path, "--what").status == 2)
    let missing = try await reef("info", "\(folder)/none.reef")
    #expect(missing.status == 1)
    #expect(missing.output.contains("There is no store at"))
    #expect(!FileManager.default.fileExists(atPath: "\(folder)/none.reef"))
    let nobody = try await reef("info", "memory:nobody-\(UUID().uuidString)")
    #expect(nobody.status == 1)
    #expect(nobody.output.contains("There is no store at"))
    let condition = try await reef("query", path, "Parcel", "gram > 3")
    #expect(condition.status == 2)
    #expect(condition.output.contains("no property 'gram'"))
    #expect(condition.output.contains("\n  ^"))
    try Data("not a store, just a file of text".utf8).write(to: URL(fileURLWithPath: "\(folder)/text.txt"))
    #expect(try await reef("info", "\(folder)/text.txt").status == 1)
  }

  @Test(arguments: ["info", "peers", "tail", "get", "query", "dump"]) func everyCommandHasHelp(command: String)
    async throws
  {
    defer { end() }
    let result = try await reef(command, "--help")
    #expect(result.status == 0)
    #expect(result.output.hasPrefix("USE  reef \(command) STORE"))
    #expect(try await reef("--help").output.contains("  \(command)"))
  }

  @Test func checkAndSalvage() async throws {
    defer { end() }
    #expect(try await reef("check", path).output.contains("is sound"))
    let other = folder + "/other.reef"
    do {
      let store = try Store(at: other, models: Parcel.self)
      try await store.write { transaction in
        for index in 0..<2000 {
          try transaction.insert(
            Parcel(
              code: "P\(index)", town: "Kiel", grams: index, isPaid: true, note: nil, sent: Date(), seal: Data([1])))
        }
      }
    }
    let sound = try await reef("check", other)
    #expect(sound.status == 0 && sound.output.contains("2,000 objects"), "\(sound.output)")
    #expect(try await reef("check", folder + "/nothing").status == 2)
    #expect(try await reef("salvage", other, other).status == 2)
    // A hundred bytes in the middle of what is in use.
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: other))
    let size = try file.seekToEnd()
    for place in stride(from: UInt64(70_000), to: size, by: 4096 * 3) {
      try file.seek(toOffset: place)
      try file.write(contentsOf: Data(repeating: 0xA5, count: 100))
    }
    try file.close()
    let damaged = try await reef("check", other)
    #expect(damaged.status == 1, "\(damaged.output)")
    let out = folder + "/out.reef"
    let salvaged = try await reef("salvage", other, out)
    #expect(salvaged.status == 1, "\(salvaged.output)")
    if FileManager.default.fileExists(atPath: out) { #expect(try await reef("check", out).status == 0) }
  }
}

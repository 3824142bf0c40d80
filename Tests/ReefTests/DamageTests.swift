import Foundation
import Reef
import Testing

/// What the typed API does with a store whose bytes changed while nobody had it open.
@Suite struct DamageTests {
  /// A folder on a disk: stores in memory keep no checksums.
  private func withDamaged(long: Bool = false, _ body: (String) throws -> Void) throws {
    let folder = NSTemporaryDirectory() + "reef-damage-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/logs.reef"
    do {
      let store = try Store(at: path, models: LogLine.self)
      try store.write { transaction in
        let rest = long ? String(repeating: ", and on", count: 100) : ""
        for number in 0..<100 {
          try transaction.insert(LogLine(text: "harmless line \(number)" + rest, level: Int8(number)))
        }
      }
    }
    var file = try Data(contentsOf: URL(fileURLWithPath: path))
    let place = try #require(file.range(of: Data("harmless line 50".utf8)))
    file.replaceSubrange(place, with: Data("terrible line 50".utf8))
    try file.write(to: URL(fileURLWithPath: path))
    try body(path)
  }

  @Test(arguments: [false, true]) func neverReadAsIfItWereRight(long: Bool) throws {
    try withDamaged(long: long) { path in
      let store = try Store(at: path, models: LogLine.self)
      let snapshot = try store.snapshot()
      let lines = snapshot.objects(LogLine.self)
      #expect(!lines.contains { $0.text.hasPrefix("terrible") })
      guard case .damaged? = snapshot.damage else {
        Issue.record("damage is \(String(describing: snapshot.damage))")
        return
      }
      // What lies elsewhere is well.
      #expect(lines.map(\.level).sorted() == (0..<100).map { Int8($0) })
    }
  }

  @Test(arguments: [false, true]) func neverWrittenAsIfItWereRight(long: Bool) throws {
    try withDamaged(long: long) { path in
      let store = try Store(at: path, models: LogLine.self, Spaceship.self)
      let before = store.version
      #expect(throws: StoreError.self) {
        try store.write { transaction in
          let longest = transaction.objects(LogLine.self).map(\.text.count).max() ?? 0
          try transaction.insert(LogLine(text: "the longest has \(longest)", level: 0))
        }
      }
      #expect(store.version == before)
      // A transaction that does not touch it commits.
      try store.write { try $0.insert(Spaceship(id: 1, name: "Rocinante")) }
      #expect(store.version == before + 1)
    }
  }

  /// A leaf that cannot be entered: its objects are counted, but not found.
  @Test func walksByPositionDoNotTrap() throws {
    try withDamaged { path in
      var file = try Data(contentsOf: URL(fileURLWithPath: path))
      // The node that the text lies in says that it is of no kind.
      let place = try #require(file.range(of: Data("terrible line 50".utf8)))
      for offset in stride(from: place.lowerBound & ~15, to: max(0, place.lowerBound - 4096), by: -16) {
        file[offset] ^= 0xff
      }
      try file.write(to: URL(fileURLWithPath: path))
      let store = try Store(at: path, models: LogLine.self)
      let snapshot = try store.snapshot()
      let lines = snapshot.objects(LogLine.self).sorted(by: \.text)
      for position in 0..<100 { _ = lines[position].text }
      #expect(snapshot.damage != nil)
    }
  }
}

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

  /// The header's flag that says that there are checksums is lost as well: the slots know better.
  @Test func checksumsAreNotSwitchedOff() throws {
    try withDamaged { path in
      var file = try Data(contentsOf: URL(fileURLWithPath: path))
      let plain = file
      // Whichever bit of the header it is.
      for bit in 0..<(64 * 8) {
        file = plain
        file[bit / 8] ^= 1 << UInt8(bit % 8)
        try file.write(to: URL(fileURLWithPath: path))
        guard let store = try? Store(at: path, models: LogLine.self) else { continue }
        let lines = try store.snapshot().objects(LogLine.self)
        #expect(!lines.contains { $0.text.hasPrefix("terrible") }, "bit \(bit)")
      }
    }
  }

  /// The three levels of verification: believed, met when read, refused at once by name.
  @Test func levels() throws {
    try withDamaged { path in
      func open(_ level: Store.Verification) throws -> Store {
        var configuration = Store.Configuration(location: .file(path), models: [LogLine.self])
        configuration.verification = level
        return try Store(configuration)
      }
      do {
        _ = try open(.full)
        Issue.record("a damaged store was handed out")
      } catch StoreError.damaged(let place, let what) {
        #expect(place.hasSuffix("logs.reef") && what.hasPrefix("LogLine, "), "\(what)")
      }
      do {
        let snapshot = try open(.header).snapshot()
        #expect(!snapshot.objects(LogLine.self).contains { $0.text.hasPrefix("terrible") })
        #expect(snapshot.damage != nil)
      }
      let snapshot = try open(.none).snapshot()
      #expect(snapshot.objects(LogLine.self).contains { $0.text == "terrible line 50" })
    }
    // A sound one opens with all of them.
    let folder = NSTemporaryDirectory() + "reef-sound-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for level in [Store.Verification.none, .header, .full, .full] {
      var configuration = Store.Configuration(location: .file(folder + "/a.reef"), models: [LogLine.self])
      configuration.verification = level
      let store = try Store(configuration)
      try store.write { try $0.insert(LogLine(text: "one more", level: 1)) }
      #expect(try store.snapshot().damage == nil)
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

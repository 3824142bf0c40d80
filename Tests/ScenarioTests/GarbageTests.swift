import Foundation
import ReefEngine
import ReefSystem
import Testing

/// Files that are not what they should be: a typed error or a clean rebuild, never a trap, and never a store over
/// somebody else's file.
@Suite(.serialized) struct GarbageTests {
  func opening(_ place: Place) throws -> String {
    let worker = try place.worker("open")
    let said = worker.reply(within: 20) ?? "nothing"
    worker.finish()
    #expect(worker.process.terminationReason == .exit, "\(said)")
    return said
  }

  @Test func foreignDataFiles() throws {
    var random = Mix(state: 5)
    let contents: [(String, Data)] = [
      ("text", Data("this is no store\n".utf8)), ("zeros", Data(count: 200_000)),
      ("random", Data((0..<100_000).map { _ in UInt8(truncatingIfNeeded: random.next()) })),
      ("sqlite", Data("SQLite format 3\0".utf8) + Data(count: 8176)),
    ]
    for (name, data) in contents {
      let place = try Place(.tmpfs)
      try data.write(to: URL(fileURLWithPath: place.store))
      let said = try opening(place)
      #expect(said.hasPrefix("error notAStore"), "\(name): \(said)")
      #expect(try Data(contentsOf: URL(fileURLWithPath: place.store)) == data, "\(name) was changed")
    }
  }

  private func filled(_ kind: Place.Kind = .tmpfs) throws -> (Place, Data) {
    let place = try Place(kind)
    let engine = try place.engine()
    try engine.set(Dictionary(uniqueKeysWithValues: (0..<500).map { (Int64($0), Int64($0)) }))
    engine.close()
    return (place, try Data(contentsOf: URL(fileURLWithPath: place.store)))
  }

  @Test func truncatedAndDamagedDataFiles() throws {
    let (_, whole) = try filled()
    for size in [1, 100, 4096, 12_000, 65_535, 65_536, whole.count / 2, whole.count - 1] {
      let place = try Place(.tmpfs)
      try whole.prefix(size).write(to: URL(fileURLWithPath: place.store))
      let said = try opening(place)
      #expect(said.hasPrefix("error notAStore") || said.hasPrefix("error damaged"), "\(size): \(said)")
    }
    // 44: the flag that says that the store is not finished, which would have it made anew.
    for (offset, name) in [(8, "formatVersion"), (20, "damaged"), (44, "damaged"), (60, "damaged")] {
      let place = try Place(.tmpfs)
      var data = whole
      data[offset] ^= 0x55
      try data.write(to: URL(fileURLWithPath: place.store))
      let said = try opening(place)
      #expect(said.hasPrefix("error \(name)"), "\(offset): \(said)")
    }
    // Both durable slots gone.
    let place = try Place(.tmpfs)
    var data = whole
    data[4096 + 20] ^= 1
    data[8192 + 20] ^= 1
    try data.write(to: URL(fileURLWithPath: place.store))
    #expect(try opening(place).hasPrefix("error damaged"))
  }

  /// Random damage anywhere: an error or an answer within the time, never a signal.
  @Test func randomDamage() throws {
    let (_, whole) = try filled()
    var random = Mix(state: Mix.seed("random damage"))
    for round in 0..<60 {
      let place = try Place(.tmpfs)
      var data = whole
      for _ in 0..<(1 + random.next() % 20) {
        let at = Int(random.next() % UInt64(data.count))
        switch random.next() % 3 {
        case 0: data[at] ^= 1 << UInt8(random.next() & 7)
        case 1: for index in at..<min(data.count, at + 64) { data[index] = UInt8(truncatingIfNeeded: random.next()) }
        default: for index in at..<min(data.count, at + 4096) { data[index] = 0 }
        }
      }
      try data.write(to: URL(fileURLWithPath: place.store))
      let worker = try place.worker("commit", "30", "memory")
      let lines = worker.rest(within: 20)
      #expect(worker.process.terminationReason == .exit, "round \(round): \(lines.last ?? "")")
    }
  }

  @Test func foreignLockFiles() throws {
    var random = Mix(state: 9)
    let (place, _) = try filled()
    for content in [
      Data("garbage".utf8), Data(count: 10), Data((0..<300_000).map { _ in UInt8(truncatingIfNeeded: random.next()) }),
      Data(),
    ] {
      try content.write(to: URL(fileURLWithPath: place.store + ".lock"))
      let said = try opening(place)
      #expect(said.hasPrefix("open"), "\(content.count) bytes: \(said)")
    }
    // The pipe is a plain file: notices do without it.
    unlink(place.store + ".note")
    try Data("x".utf8).write(to: URL(fileURLWithPath: place.store + ".note"))
    #expect(try opening(place).hasPrefix("open"))
    unlink(place.store + ".note")
    try FileManager.default.createDirectory(atPath: place.store + ".note", withIntermediateDirectories: true)
    #expect(try opening(place).hasPrefix("open"))
    let engine = try place.engine()
    #expect(try engine.counters().count == 500)
    engine.close()
  }

  /// Others hold the store with another layout of the lock file.
  @Test func otherLayout() throws {
    let (place, _) = try filled()
    let holder = try place.worker("open")
    #expect(holder.reply()?.hasPrefix("open") == true)
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: place.store + ".lock"))
    try file.seek(toOffset: UInt64(LockLayout.Header.layoutHash))
    try file.write(contentsOf: Data([1, 2, 3, 4, 5, 6, 7, 8]))
    try file.close()
    #expect(try opening(place).hasPrefix("error lockLayout"))
    holder.die()
    // Alone again: rebuilt.
    #expect(try opening(place).hasPrefix("open"))
  }
}

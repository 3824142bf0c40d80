import Foundation
import ReefEngine
import ReefSystem
import Testing

/// A full file system is a typed error before anything is changed; readers go on; deleting, or other files' going, makes
/// room again.
@Suite(.serialized) struct FullDiskTests {
  /// A small tmpfs of the test's own; nil where mounting is not allowed.
  final class SmallDisk {
    let path: String
    init?(megabytes: Int) {
      path = NSTemporaryDirectory() + "/reef-small-\(UUID().uuidString)"
      try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      guard mount("tmpfs", path, "tmpfs", 0, "size=\(megabytes)m") == 0 else {
        try? FileManager.default.removeItem(atPath: path)
        return nil
      }
    }
    deinit {
      umount2(path, 2)
      try? FileManager.default.removeItem(atPath: path)
    }
  }

  @Test func fullTmpfs() throws {
    guard let disk = SmallDisk(megabytes: 12) else {
      print("skipped: a tmpfs cannot be mounted here")
      return
    }
    let filler = disk.path + "/filler"
    _ = FileManager.default.createFile(atPath: filler, contents: Data(count: 4 << 20))
    let place = try Place(.folder(disk.path))
    let reader = try place.worker("hold")
    #expect(reader.reply()?.hasPrefix("holding") == true)
    let writer = try place.worker("fill")
    #expect(writer.reply() == "ready")
    #expect(writer.ask("fill") == "outOfSpace")
    // One object alone may still find a place in what is there: either way an answer, never a signal.
    let one = writer.ask("one") ?? "nothing"
    #expect(["outOfSpace", "inserted"].contains(one), "\(one)")
    let count = writer.ask("count")
    // Readers go on, and new ones can come.
    #expect(reader.ask("look")?.hasPrefix("value") == true)
    let late = try place.worker("verifyPinned")
    #expect(late.reply()?.replacingOccurrences(of: "holding", with: "count") == count)
    #expect(late.ask("verify")?.hasPrefix("intact") == true)
    // Space freed by others.
    try FileManager.default.removeItem(atPath: filler)
    #expect(writer.ask("one") == "inserted")
    #expect(writer.ask("fill") == "outOfSpace")
    #expect(late.ask("verify")?.hasPrefix("intact") == true)
    late.finish()
    // Space made by deleting, on a disk that is full to the last page.
    #expect(writer.ask("delete") == "deleted")
    reader.finish()
    #expect(writer.ask("one") == "inserted")
    writer.finish()
    #expect(writer.process.terminationReason == .exit)
    let engine = try place.engine()
    try Invariants.check(engine, "after the full disk")
    engine.close()
  }

  /// No room for the store, its lock file or its pipe: an error, and nothing is left behind.
  @Test func noRoomToOpen() throws {
    guard let disk = SmallDisk(megabytes: 1) else {
      print("skipped: a tmpfs cannot be mounted here")
      return
    }
    _ = FileManager.default.createFile(atPath: disk.path + "/filler", contents: Data(count: 900 << 10))
    let place = try Place(.folder(disk.path))
    let worker = try place.worker("open")
    let said = worker.reply() ?? "nothing"
    #expect(said.hasPrefix("error outOfSpace"), "\(said)")
    worker.finish()
    #expect(worker.process.terminationReason == .exit)
  }
}

import Foundation
import Testing

@testable import ReefEngine

/// A store that was closed in order is opened without a mark pass, however often.
@Suite struct CleanCloseTests {
  @Test(arguments: [Durability.memory, .full])
  func closedInOrder(_ durability: Durability) throws {
    let path =
      FileManager.default.temporaryDirectory.path + "/clean-\(getpid())-\(UInt32.random(in: 0...UInt32.max)).reef"
    defer { for suffix in ["", ".lock", ".note"] { unlink(path + suffix) } }
    let type = TypeSchema("Thing", [PropertySchema("id", .int64), PropertySchema("text", .string)], key: 0)
    for round in 0..<12 {
      let engine = try Engine.open(
        EngineConfiguration(session: Session.Options(location: .file(path)), durability: durability), Schema([type]))
      defer { engine.close() }
      #expect(engine.session.lock.word(LockLayout.Header.epoch) == 1, "round \(round)")
      #expect(engine.session.lock.word(LockLayout.Control.needsMark) == 0, "round \(round)")
      for number in 0..<(round % 3) {
        let transaction = try engine.write()
        _ = try transaction.insert(table: 0) { encoder in
          encoder.set(column: 0, int: Int64(round * 10 + number))
          encoder.set(column: 1, string: String(repeating: "x", count: round * 100))
        }
        try transaction.commit()
      }
    }
  }
}

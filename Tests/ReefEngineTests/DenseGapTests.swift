import Foundation
import ReefSystem
import Testing

@testable import ReefEngine

/// Keys that go between a full dense node and the next one.
@Suite struct DenseGapTests {
  /// The new leaf began at 20,000 and took in everything up to the greatest key: a key of the next node was accepted a
  /// second time, and others went where no reader looks for them.
  @Test func aLeafInTheGapEndsWhereTheNextNodeBegins() throws {
    let name = "gap-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
    let engine = try Engine.open(
      EngineConfiguration(session: Session.Options(location: .memory(name)), durability: .memory),
      Schema([TypeSchema("Thing", [PropertySchema("id", .int64)], key: 0)]))
    defer { engine.close() }
    func add(_ keys: [Int64]) throws -> [Int64] {
      let transaction = try engine.write()
      var refused: [Int64] = []
      for key in keys {
        do throws(StoreError) {
          _ = try transaction.insert(table: 0) { $0.set(column: 0, int: key) }
        } catch {
          guard case .duplicateKey = error else { throw error }
          refused.append(key)
        }
      }
      try transaction.commit()
      return refused
    }
    #expect(try add(Array(0..<16384)).isEmpty)
    #expect(try add([100_000]).isEmpty)
    #expect(try add([20_000, 100_000, 150_000]) == [100_000])

    let pin = try engine.pin()
    let table = try pin.view.table(0)
    var keys: [Int64] = []
    try table.forEachLeaf { leaf throws(StoreError) in
      for row in 0..<leaf.count { keys.append(leaf.key(row)) }
      return true
    }
    #expect(keys == Array(0..<16384) + [20_000, 100_000, 150_000])
    for key in [20_000, 100_000, 150_000] as [Int64] { #expect(try table.find(key: key) != nil) }
  }
}

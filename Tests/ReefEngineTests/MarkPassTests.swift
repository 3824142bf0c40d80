import Foundation
import ReefSystem
import Testing

@testable import ReefEngine

/// The mark pass beside normal work. Serialised: the hook on named steps is the whole process's.
@Suite(.serialized) struct MarkPassTests {
  /// A writer refills its magazines between marking and sweeping. Blocks in them have their bits set and an old stamp, or
  /// none: they look like leaks, and sweeping them would have handed them out a second time.
  @Test func magazinesRefilledDuringThePass() throws {
    let name = "mark-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
    let engine = try Engine.open(
      EngineConfiguration(session: Session.Options(location: .memory(name)), durability: .memory),
      Schema([TypeSchema("Thing", [PropertySchema("id", .int64), PropertySchema("text", .string)], key: 0)]))
    defer { engine.close() }
    @Sendable func add(_ keys: Range<Int>) throws {
      let transaction = try engine.write()
      for key in keys {
        _ = try transaction.insert(table: 0) { encoder in
          encoder.set(column: 0, int: Int64(key))
          encoder.set(column: 1, string: String(repeating: "x", count: key % 90))
        }
      }
      try transaction.commit()
    }
    // Extents with free blocks, then a pass in whose middle others go on writing.
    try add(0..<5000)
    let transaction = try engine.write()
    for key in 500..<4500 { _ = try transaction.delete(table: 0, key: Int64(key)) }
    try transaction.commit()
    var pass = MarkPass(session: engine.session, writer: try Writer(session: engine.session)) { false }
    nonisolated(unsafe) var rounds = 0
    FaultPoint.install(steps: { step in
      guard step == "mark.marked", rounds == 0 else { return }
      rounds += 1
      do { for round in 0..<20 { try add((10_000 + round * 300)..<(10_000 + round * 300 + 40)) } } catch {
        rounds = -100
      }
    })
    let finished = try pass.run()
    FaultPoint.install(steps: nil)
    #expect(finished && rounds == 1)

    // Whatever lies in a magazine has its bit set: the allocator hands it out once only.
    let space = engine.writer.state
    for index in 0..<SizeClasses.shared.count {
      let state = space.pointee.space.classState(index)
      let filled = Int(state.load(fromByteOffset: LockLayout.ClassState.filled, as: UInt32.self))
      for at in 0..<filled {
        let ref = state.load(fromByteOffset: LockLayout.ClassState.magazine + at * 4, as: UInt32.self)
        let found = space.pointee.space.blockIndex(ref, index)
        let block = try #require(found)
        let word = space.pointee.space.bitmap(Int(ref >> 12))[block >> 6]
        #expect(word >> UInt64(block & 63) & 1 == 1)
      }
    }
    for round in 0..<40 { try add((50_000 + round * 100)..<(50_000 + round * 100 + 90)) }
    let pin = try engine.pin()
    let table = try pin.view.table(0)
    var seen = 0
    try table.forEachLeaf { leaf throws(StoreError) in
      let column = try leaf.column(1)
      for row in 0..<leaf.count {
        seen += 1
        #expect(column.bytes(row).count == Int(leaf.key(row)) % 90)
      }
      return true
    }
    #expect(seen == 1000 + 20 * 40 + 40 * 90)
  }
}

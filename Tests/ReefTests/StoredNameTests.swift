import Foundation
import Reef
import Testing

@Model private struct Older {
  @Key var id: Int
  @Stored(as: "max_speed") @Indexed var maxSpeed: Double = 0
}

/// A property's name in the store is its own where `@Stored(as:)` says so.
@Suite struct StoredNameTests {
  @Test func nameInTheStore() throws {
    #expect(Older.schema.properties.map(\.name) == ["id", "max_speed"])
    let store = try Store(inMemory: freshName(), models: Older.self)
    try store.write { try $0.insert(Older(id: 1, maxSpeed: 7)) }
    let snapshot = try store.snapshot()
    #expect(snapshot.objects(Older.self).where { $0.maxSpeed == 7 }.count == 1)
    #expect(snapshot[Older.self, key: 1]?.maxSpeed == 7)
  }
}

import Foundation
import Reef
import Testing

/// One object's changes: names, old and new values, deletion, and being made again.
@Suite(.timeLimit(.minutes(15))) struct ObjectChangesTests {
  @Test func propertiesWithOldAndNewValues() async throws {
    let store = try Store(inMemory: freshName(), models: Spaceship.self)
    try await store.write { try $0.insert(Spaceship(id: 1, name: "one", maxSpeed: 10)) }
    var iterator = store.changes(of: Spaceship.self, key: 1).makeAsyncIterator()
    var change = try #require(try await iterator.next())
    #expect(change.isInitial && !change.isDeleted && change.properties.isEmpty && change.object?.name == "one")

    // Others' changes, and values that come back before anybody looks, tell nothing.
    try await store.write { try $0.insert(Spaceship(id: 2, name: "two", maxSpeed: 20)) }
    try await store.write { try $0.update(Spaceship.self, key: 1) { $0.name = "uno" } }
    try await store.write { try $0.update(Spaceship.self, key: 1) { $0.name = "one" } }
    try await store.write { try $0.update(Spaceship.self, key: 1) { $0.maxSpeed = 11 } }
    change = try #require(try await iterator.next())
    #expect(!change.isInitial && change.properties.count == 1)
    #expect(change.properties.first?.name == "maxSpeed")
    #expect(change.properties.first?.old == .double(10) && change.properties.first?.new == .double(11))

    try await store.write { _ = try $0.delete(Spaceship.self, key: 1) }
    change = try #require(try await iterator.next())
    #expect(change.isDeleted && change.properties.isEmpty)
    try await store.write { try $0.insert(Spaceship(id: 1, name: "again", maxSpeed: 1)) }
    change = try #require(try await iterator.next())
    #expect(!change.isDeleted && change.object?.name == "again")
  }

  @Test func initialEventWithoutTheObject() async throws {
    let store = try Store(inMemory: freshName(), models: Spaceship.self)
    var iterator = store.changes(of: Spaceship.self, key: 7).makeAsyncIterator()
    var change = try #require(try await iterator.next())
    #expect(change.isInitial && change.isDeleted)
    try await store.write { try $0.insert(Spaceship(id: 7, name: "seven", maxSpeed: 7)) }
    change = try #require(try await iterator.next())
    #expect(!change.isInitial && change.object?.maxSpeed == 7)
  }
}

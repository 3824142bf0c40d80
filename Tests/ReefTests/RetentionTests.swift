import Foundation
import Reef
import Testing

/// Limits on what readers keep alive, through the typed API.
@Suite(.timeLimit(.minutes(15))) struct RetentionTests {
  private func store(_ policy: Store.Retention.Policy, _ name: String) throws -> Store {
    var configuration = Store.Configuration(location: .memory(name), models: [Spaceship.self])
    configuration.retention = Store.Retention(versions: 10, policy: policy)
    return try Store(configuration)
  }

  private func change(_ store: Store, _ count: Int) throws {
    for number in 0..<count {
      try store.write { transaction in
        for id in 0..<500 { try transaction.upsert(Spaceship(id: id, name: "ship \(number)")) }
      }
    }
  }

  @Test func refusedByName() throws {
    let store = try store(.refuse, freshName())
    try change(store, 1)
    let old = try store.snapshot()
    do {
      try change(store, 50)
      Issue.record("nobody was refused")
    } catch StoreError.retentionLimit(let path, let holder, let limit) {
      #expect(holder?.isSelf == true && limit == "10 versions" && !path.isEmpty)
      #expect(StoreError.retentionLimit(path: path, holder: holder, limit: limit).description.contains("10 versions"))
    }
    #expect(old[Spaceship.self, key: 7]?.name == "ship 0" && old.damage == nil)
    #expect(try store.snapshot().objects(Spaceship.self).count == 500)
  }

  @Test func growIsUnlimited() throws {
    let store = try store(.grow, freshName())
    try change(store, 1)
    let old = try store.snapshot()
    try change(store, 50)
    #expect(old[Spaceship.self, key: 7]?.name == "ship 0")
    #expect(try store.statistics.retainedBytes > 0)
  }

  /// What was found stays whole; what is looked for is not there, and everything that throws says so.
  @Test func cutOff() throws {
    let store = try store(.revoke, freshName())
    try change(store, 1)
    let old = try store.snapshot()
    let ship = try #require(old[Spaceship.self, key: 7])
    let all = old.objects(Spaceship.self)
    #expect(all.count == 500)
    try old.check()
    let path = try store.read { snapshot in
      try change(store, 50)
      return snapshot.version
    }
    #expect(path > 0, "a read that met nothing is none of revocation's business")
    #expect(ship.name == "ship 0" && ship.id == 7)
    #expect(old[Spaceship.self, key: 8] == nil)
    #expect(throws: StoreError.snapshotRevoked(version: old.version)) { try old.check() }
    #expect(old.damage == .snapshotRevoked(version: old.version))
    #expect(throws: StoreError.self) {
      try store.read { snapshot in
        try change(store, 50)
        return snapshot.objects(Spaceship.self).count
      }
    }
    var fresh = old
    try fresh.advance()
    #expect(fresh[Spaceship.self, key: 8]?.name == "ship 49" && fresh.damage == nil)
    #expect(fresh.objects(Spaceship.self).where { $0.name == "ship 49" }.count == 500)
    let statistics = try store.statistics
    #expect(statistics.revocations >= 2)
  }

  /// An observer that slept too long begins anew, and misses nothing from there on.
  @Test func observerBeginsAnew() async throws {
    let store = try store(.revoke, freshName())
    try change(store, 1)
    var iterator = store.objects(Spaceship.self).where { $0.name == "last" }.changes.makeAsyncIterator()
    #expect(try await iterator.next()?.isInitial == true)
    try change(store, 50)
    try await store.write { try $0.upsert(Spaceship(id: 3, name: "last")) }
    let again = try #require(try await iterator.next())
    #expect(again.isInitial && again.results.count == 1)
    try await store.write { try $0.upsert(Spaceship(id: 4, name: "last")) }
    let next = try #require(try await iterator.next())
    #expect(!next.isInitial && next.insertions.count == 1 && next.results.count == 2)
  }
}

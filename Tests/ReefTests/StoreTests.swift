import Foundation
import Reef
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(15))) struct StoreTests {
  @Test func filesKeepWhatWasWritten() throws {
    try withFolder { folder in
      let path = folder + "/fleet.reef"
      do {
        let store = try Store(at: path, models: Spaceship.self)
        try store.write { try $0.insert(Spaceship(id: 1, name: "Rocinante")) }
      }
      // A program with other types, and with a subset
      do {
        let store = try Store(at: path, models: LogLine.self)
        try store.write { try $0.insert(LogLine(text: "x", level: 1)) }
      }
      let store = try Store(at: path, models: LogLine.self, Spaceship.self)
      #expect(try store.snapshot()[Spaceship.self, key: 1]?.name == "Rocinante")
      #expect(try store.snapshot().count(of: LogLine.self) == 1)
    }
  }

  @Test func openedTwiceIsOneStore() throws {
    try withFolder { folder in
      let first = try Store(at: folder + "/a.reef", models: Spaceship.self)
      let second = try Store(
        at: folder + "/../" + (folder as NSString).lastPathComponent + "/a.reef", models: Spaceship.self)
      try first.write { try $0.insert(Spaceship(id: 1, name: "one")) }
      #expect(try second.snapshot().count(of: Spaceship.self) == 1 && first.version == second.version)
      #expect(try first.peers.count == 1)
    }
  }

  @Test func anotherDeclarationIsAMismatch() throws {
    let name = freshName()
    let store = try Store(inMemory: name, models: Spaceship.self)
    #expect(throws: StoreError.self) { try Store(inMemory: name, models: Elsewhere.Spaceship.self) }
    do {
      _ = try Store(inMemory: name, models: Elsewhere.Spaceship.self)
    } catch {
      guard case .schemaMismatch(let reason) = error else { throw error }
      #expect(reason.contains("Spaceship"))
    }
    try store.write { try $0.insert(Spaceship(id: 1, name: "one")) }
  }

  @Test func asyncWrites() async throws {
    let store = try Store(inMemory: freshName(), models: Spaceship.self)
    try await withThrowingTaskGroup(of: Int.self) { group in
      for id in 0..<50 {
        group.addTask {
          try await store.write { transaction in
            try transaction.insert(Spaceship(id: id, name: "ship \(id)"))
            return transaction.count(of: Spaceship.self)
          }
        }
      }
      var counts: Set<Int> = []
      for try await count in group { counts.insert(count) }
      #expect(counts == Set(1...50))
    }
    await #expect(throws: TransactionTests.Stop.self) {
      try await store.write { transaction in
        try transaction.insert(Spaceship(id: 99, name: "never"))
        throw TransactionTests.Stop()
      }
    }
    #expect(try store.snapshot().count(of: Spaceship.self) == 50)
  }

  @Test func cancelledBeforeItBegins() async throws {
    let store = try Store(inMemory: freshName(), models: Spaceship.self)
    let transaction = try store.beginWrite()
    let ran = Mutex(false)
    let task = Task {
      try await store.write { transaction in
        ran.withLock { $0 = true }
        try transaction.insert(Spaceship(id: 1, name: "one"))
      }
    }
    try await Task.sleep(for: .milliseconds(20))
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    transaction.cancel()
    try await store.write { try $0.insert(Spaceship(id: 2, name: "two")) }
    #expect(ran.withLock { $0 } == false)
    #expect(try store.snapshot().objects(Spaceship.self).keys == [2])
    let late = Task {
      try await Task.sleep(for: .seconds(60))
      try await store.write { _ in }
    }
    late.cancel()
    await #expect(throws: CancellationError.self) { try await late.value }
  }

  @Test func snapshotsGoAnywhere() async throws {
    let store = try Store(inMemory: freshName(), models: Spaceship.self)
    try await store.write { transaction in
      for id in 0..<1000 { try transaction.insert(Spaceship(id: id, name: "ship \(id)", maxSpeed: 1)) }
    }
    let snapshot = try store.snapshot()
    let ship = try #require(snapshot[Spaceship.self, key: 500])
    let sums = try await withThrowingTaskGroup(of: Double.self) { group in
      for _ in 0..<8 {
        group.addTask { snapshot.objects(Spaceship.self).where { $0.id >= 0 }.reduce(0) { $0 + $1.maxSpeed } }
      }
      for round in 1...20 {
        try await store.write { try $0.update(Spaceship.where { $0.id < 500 }) { $0.maxSpeed = Double(round) } }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(sums == Array(repeating: 1000, count: 8) && ship.name == "ship 500")
    #expect(try store.read { $0.objects(Spaceship.self).sum(of: \.maxSpeed) } == 500 * 20 + 500)
  }

  @Test func readOnly() throws {
    try withFolder { folder in
      let path = folder + "/a.reef"
      let writer = try Store(at: path, models: Spaceship.self)
      try writer.write { try $0.insert(Spaceship(id: 1, name: "one")) }
      #expect(throws: StoreError.self) { try Store(at: folder + "/missing/a.reef", models: Spaceship.self) }
      var configuration = Store.Configuration(location: .file(folder + "/none.reef"), models: [Spaceship.self])
      configuration.createsStore = false
      #expect(throws: StoreError.self) { try Store(configuration) }
    }
  }
}

enum Elsewhere {
  @Model struct Spaceship {
    @Key var id: Int
    var name: String
  }
}

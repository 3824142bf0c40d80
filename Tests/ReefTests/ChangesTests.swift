import Foundation
import Reef
import Synchronization
import Testing

/// Change sets: what an observer makes of them equals the result, always.
@Suite(.timeLimit(.minutes(15))) struct ChangesTests {
  /// The next event, within ten seconds.
  static func next<M: Model>(_ iterator: inout ChangeSequence<M>.Iterator) async throws -> Changes<M> {
    try #require(try await iterator.next())
  }

  @Test func oneInitialEventThenDifferences() async throws {
    let store = try Store(inMemory: freshName(), models: Spaceship.self)
    try await store.write { transaction in
      for id in [1, 3, 5] { try transaction.insert(Spaceship(id: id, name: "ship \(id)", maxSpeed: Double(id * 100))) }
    }
    var iterator = store.objects(Spaceship.self).where { $0.maxSpeed > 100 }.changes.makeAsyncIterator()
    var changes = try await Self.next(&iterator)
    #expect(changes.isInitial && changes.insertions == [0, 1] && changes.results.keys == [3, 5])
    try await store.write { transaction in
      try transaction.insert(Spaceship(id: 4, name: "four", maxSpeed: 400))
      try transaction.update(Spaceship.self, key: 1) { $0.maxSpeed = 101 }
      try transaction.update(Spaceship.self, key: 5) { $0.name = "five" }
      try transaction.delete(Spaceship.self, key: 3)
    }
    changes = try await Self.next(&iterator)
    #expect(
      !changes.isInitial && changes.deletions == [0] && changes.insertions == [0, 1] && changes.modifications == [1])
    #expect(changes.results.keys == [1, 4, 5] && changes.snapshot.version == store.version)
    // Nobody is woken with an empty set: what does not touch the result, and A → B → A before it is looked at
    try await store.write { try $0.insert(Spaceship(id: 9, name: "slow", maxSpeed: 1)) }
    try await store.write { try $0.update(Spaceship.self, key: 5) { $0.name = "other" } }
    try await store.write { try $0.update(Spaceship.self, key: 5) { $0.name = "five" } }
    try await store.write { _ = try $0.delete(Spaceship.self, key: 4) }
    changes = try await Self.next(&iterator)
    #expect(changes.deletions == [1] && changes.insertions == [] && changes.modifications == [])
  }

  @Test func deletedAndMadeAgainIsOneModification() async throws {
    let store = try Store(inMemory: freshName(), models: Outer.Package.self, Spaceship.self)
    try await store.write { transaction in
      for name in ["apt", "bash", "curl"] { try transaction.insert(Outer.Package(name: name, value: 1)) }
      try transaction.insert(Spaceship(id: 1, name: "one"))
    }
    var packages = store.objects(Outer.Package.self).changes.makeAsyncIterator()
    var ships = store.objects(Spaceship.self).changes.makeAsyncIterator()
    _ = try await Self.next(&packages)
    _ = try await Self.next(&ships)
    try await store.write { transaction in
      for name in ["apt", "bash"] { try transaction.delete(Outer.Package.self, key: name) }
      try transaction.insert(Outer.Package(name: "bash", value: 2))
      try transaction.insert(Outer.Package(name: "apt", value: 1))
      try transaction.delete(Spaceship.self, key: 1)
      try transaction.insert(Spaceship(id: 1, name: "uno"))
    }
    let changes = try await Self.next(&packages)
    #expect(changes.modifications == [1] && changes.deletions.isEmpty && changes.insertions.isEmpty)
    let again = try await Self.next(&ships)
    #expect(again.modifications == [0] && again.deletions.isEmpty && again.insertions.isEmpty)
    // The list goes on with the new objects.
    try await store.write { try $0.update(Outer.Package.self, key: "apt") { $0.value = 7 } }
    #expect(try await Self.next(&packages).modifications == [0])
    try await store.write { _ = try $0.delete(Outer.Package.self, key: "apt") }
    #expect(try await Self.next(&packages).deletions == [0])
  }

  /// Random commits; observers of several results replay every set on an array of keys and of values.
  @Test(arguments: UInt64(1)...5)
  func replayed(seed: UInt64) async throws {
    var random = SeededRandom(seed)
    let store = try Store(inMemory: freshName(), models: Everything.self, Outer.Package.self)
    let things = store.objects(Everything.self)
    let sorted = things.where { $0.int16 >= 0 }.sorted(by: .descending(\.flag), .ascending(\.string))
    var observers = [
      Replay(things), Replay(things.where { $0.flag == true }), Replay(sorted),
      Replay(things.sorted(by: \.doubleOrNil)),
      Replay(things.sorted(by: \.doubleOrNil).prefix(20)),
      Replay(things.dropFirst(5).prefix(20).where { $0.flag == false }),
    ]
    var packages = Replay(store.objects(Outer.Package.self))
    for round in 0..<25 {
      try Self.commitSomething(store, round, &random)
      if random.chance(60) {
        for index in observers.indices {
          try await observers[index].follow("seed \(seed), round \(round), observer \(index)")
        }
        try await packages.follow("seed \(seed), round \(round), packages")
      }
    }
  }

  static func commitSomething(_ store: Store, _ round: Int, _ random: inout SeededRandom) throws {
    // Now and then a large commit, which makes the list anew
    let size = random.chance(10) ? 200 : random.below(8)
    try store.write { transaction in
      for _ in 0..<size {
        let id = random.below(150)
        if random.chance(30) {
          _ = try transaction.delete(Everything.self, key: id)
        } else if random.chance(40), transaction[Everything.self, key: id] != nil {
          let other = Everything.random(id: id, &random)
          try transaction.update(Everything.self, key: id) {
            $0.flag = other.flag
            $0.string = other.string
          }
        } else {
          try transaction.upsert(Everything.random(id: id, &random))
        }
        let name = "package \(random.below(40))"
        if random.chance(40) {
          _ = try transaction.delete(Outer.Package.self, key: name)
        } else {
          try transaction.upsert(Outer.Package(name: name, value: Int32(random.below(3))))
        }
      }
      // Something that every result shows, so that each observer has an event to wait for
      let marker = "marker \(round)"
      try transaction.upsert(Outer.Package(name: "marker", value: Int32(round + 100)))
      for id in -12 ... -1 {
        var object = Everything.random(id: id, &random)
        object.flag = id % 2 == 0
        object.int16 = Int16(round)
        object.string = marker + "\(id)"
        object.doubleOrNil = nil
        try transaction.upsert(object)
      }
    }
  }

  struct Replay<M: Model & Equatable> {
    let live: LiveResults<M>
    var iterator: ChangeSequence<M>.Iterator
    var values: [M]?

    init(_ live: LiveResults<M>) {
      self.live = live
      iterator = live.changes.makeAsyncIterator()
    }

    mutating func follow(_ comment: Comment) async throws {
      let changes = try #require(try await iterator.next())
      #expect(changes.isInitial == (values == nil), comment)
      var values = values ?? []
      let fresh = changes.results.values
      #expect(try live.results().values == fresh, comment)
      #expect(!(changes.deletions.isEmpty && changes.insertions.isEmpty && changes.modifications.isEmpty), comment)
      let (before, after) = (values, fresh)
      for position in changes.deletions.reversed() { values.remove(at: position) }
      for position in changes.insertions { values.insert(fresh[position], at: position) }
      #expect(values.count == fresh.count, comment)
      // What was replayed differs from the result in the modified objects only.
      let modified = changes.modifications.map { before[$0] }
      for (old, new) in zip(values, fresh) where old != new { #expect(modified.contains(old), comment) }
      // By description, which tells 0.0 from -0.0
      let listed = Set(after.map { "\($0)" })
      for old in modified { #expect(!listed.contains("\(old)"), comment) }
      self.values = fresh
    }
  }

  @Test func observersOnAQueue() async throws {
    let store = try Store(inMemory: freshName(), models: Spaceship.self)
    let queue = DispatchQueue(label: "observer")
    let seen = Mutex<[[Int]]>([])
    let token = store.objects(Spaceship.self).observe(on: queue) { changes in
      dispatchPrecondition(condition: .onQueue(queue))
      seen.withLock { $0.append(changes.results.keys) }
    }
    func waitFor(_ keys: [Int]) async throws {
      for _ in 0..<500 where seen.withLock({ $0.last }) != keys { try await Task.sleep(for: .milliseconds(10)) }
      #expect(seen.withLock { $0.last } == keys)
    }
    try await waitFor([])
    try await store.write { try $0.insert(Spaceship(id: 1, name: "one")) }
    try await waitFor([1])
    token.cancel()
    try await Task.sleep(for: .milliseconds(20))
    let count = seen.withLock { $0.count }
    try await store.write { try $0.insert(Spaceship(id: 2, name: "two")) }
    try await Task.sleep(for: .milliseconds(50))
    #expect(seen.withLock { $0.count } == count && token.isCancelled)
  }

  @Test func cancellingEndsTheSequence() async throws {
    let store = try Store(inMemory: freshName(), models: Spaceship.self)
    let task = Task {
      var count = 0
      for try await _ in store.objects(Spaceship.self).changes { count += 1 }
      return count
    }
    try await Task.sleep(for: .milliseconds(50))
    task.cancel()
    #expect(try await task.value == 1)
  }
}

import Foundation
import Reef
import Testing

@Suite struct TransactionTests {
  struct Stop: Error {}

  static func fleet(_ count: Int = 5) throws -> Store {
    let store = try Store(inMemory: freshName(), models: Spaceship.self, Outer.Package.self, LogLine.self)
    try store.write { transaction in
      for id in 0..<count { try transaction.insert(Spaceship(id: id, name: "ship \(id)", maxSpeed: Double(id))) }
    }
    return store
  }

  @Test func valueOfTheBlock() throws {
    let store = try Self.fleet()
    let before = store.version
    let count = try store.write { transaction in
      try transaction.insert(Spaceship(id: 10, name: "Rocinante"))
      try transaction.upsert(Spaceship(id: 0, name: "Nauvoo"))
      try transaction.upsert(Spaceship(id: 11, name: "Canterbury", maxSpeed: 3))
      try transaction.update(Spaceship.self, key: 10) { $0.maxSpeed += 10 }
      let gone = try transaction.delete(Spaceship.where { $0.maxSpeed == 1 })
      #expect(gone == 1)
      return transaction.count(of: Spaceship.self)
    }
    #expect(count == 6 && store.version == before + 1)
    let snapshot = try store.snapshot()
    #expect(snapshot.version == store.version)
    #expect(snapshot.objects(Spaceship.self).keys == [0, 2, 3, 4, 10, 11])
    #expect(snapshot[Spaceship.self, key: 10]?.maxSpeed == 10)
    #expect(snapshot[Spaceship.self, key: 0]?.value == Spaceship(id: 0, name: "Nauvoo"))
  }

  @Test func throwingLeavesNothing() throws {
    let store = try Self.fleet()
    let before = try store.snapshot()
    #expect(throws: Stop.self) {
      try store.write { transaction in
        try transaction.insert(Spaceship(id: 77, name: "never"))
        _ = try transaction.deleteAll(Spaceship.self)
        throw Stop()
      }
    }
    #expect(store.version == before.version)
    #expect(try store.snapshot().objects(Spaceship.self).values == before.objects(Spaceship.self).values)
  }

  @Test func emptyWritesMakeNoVersion() throws {
    let store = try Self.fleet()
    let version = store.version
    try store.write { _ in }
    try store.write { try $0.update(Spaceship.self, key: 1) { $0.name = "ship 1" } }
    try store.write { try $0.upsert(Spaceship(id: 2, name: "ship 2", maxSpeed: 2)) }
    try store.write { _ = try $0.delete(Spaceship.self, key: 99) }
    #expect(store.version == version)
  }

  @Test func readsItsOwnWrites() throws {
    let store = try Self.fleet(300)
    try store.write { transaction in
      let ships = transaction.objects(Spaceship.self)
      // Changing what is being walked
      for ship in ships {
        if ship.id % 3 == 0 { try transaction.delete(Spaceship.self, key: ship.id) }
        if ship.id % 3 == 1 {
          try transaction.update(Spaceship.self, key: ship.id) {
            #expect($0.name == "ship \($0.id)")
            $0.name += "!"
            $0.maxSpeed = -1
            #expect($0.name.hasSuffix("!") && $0.maxSpeed == -1)
          }
          #expect(ship.name == "ship \(ship.id)!", "a view reads the newest values")
        }
      }
      #expect(transaction.count(of: Spaceship.self) == 200)
      #expect(transaction.objects(Spaceship.self).where { $0.maxSpeed == -1 }.count == 100)
      #expect(transaction.objects(Spaceship.self).where { $0.name.hasSuffix("!") }.count == 100)
      #expect(transaction[Spaceship.self, key: 3] == nil && transaction[Spaceship.self, key: 4]?.name == "ship 4!")
      try transaction.insert(Spaceship(id: 3, name: "again"))
      #expect(transaction[Spaceship.self, key: 3]?.name == "again")
      #expect(try transaction.update(Spaceship.where { $0.maxSpeed == -1 }) { $0.maxSpeed = 5 } == 100)
      #expect(transaction.objects(Spaceship.self).sum(of: \.maxSpeed) > 500)
      // Nobody else sees any of it yet.
      #expect(try store.snapshot().count(of: Spaceship.self) == 300)
    }
    #expect(try store.snapshot().count(of: Spaceship.self) == 201)
  }

  @Test func mistakesAreTypedAndLeaveItUsable() throws {
    let store = try Self.fleet()
    try store.write { transaction in
      #expect(throws: StoreError.duplicateKey(type: "Spaceship", key: "1")) {
        try transaction.insert(Spaceship(id: 1, name: "again"))
      }
      #expect(throws: StoreError.noSuchObject(type: "Spaceship", key: "50")) {
        try transaction.update(Spaceship.self, key: 50) { $0.maxSpeed = 1 }
      }
      #expect(throws: Stop.self) { try transaction.update(Spaceship.self, key: 1) { _ in throw Stop() } }
      try transaction.insert(Outer.Package(name: "apt", value: 1))
      #expect(throws: StoreError.duplicateKey(type: "Package", key: "apt")) {
        try transaction.insert(Outer.Package(name: "apt", value: 2))
      }
      try transaction.insert(Spaceship(id: 6, name: "six"))
    }
    let snapshot = try store.snapshot()
    #expect(snapshot.count(of: Spaceship.self) == 6 && snapshot[Spaceship.self, key: 1]?.name == "ship 1")
    #expect(snapshot[Outer.Package.self, key: "apt"]?.value.value == 1)
  }

  @Test func upsertReplacesEverything() throws {
    let store = try Self.fleet()
    try store.write { transaction in
      try transaction.update(Spaceship.self, key: 1) { $0.launched = Date(timeIntervalSinceReferenceDate: 5) }
      try transaction.upsert(Outer.Package(name: "apt", value: 1))
    }
    try store.write { transaction in
      try transaction.upsert(Spaceship(id: 1, name: "new"))
      try transaction.upsert(Outer.Package(name: "apt", value: 2))
      try transaction.upsert(Outer.Package(name: "bash", value: 3))
    }
    let snapshot = try store.snapshot()
    #expect(snapshot[Spaceship.self, key: 1]?.value == Spaceship(id: 1, name: "new"))
    #expect(snapshot.objects(Outer.Package.self).map(\.value.value) == [2, 3])
  }

  @Test func aWriteInsideAWrite() throws {
    let store = try Self.fleet()
    let before = try store.statistics
    try store.write { transaction in
      #expect(throws: StoreError.self) { try store.write { _ = try $0.deleteAll(Spaceship.self) } }
      try transaction.insert(Spaceship(id: 20, name: "twenty"))
    }
    try store.write { _ = try $0.delete(Spaceship.self, key: 20) }
    let after = try store.statistics
    #expect(after.commits == before.commits + 2 && after.fileSize > 0)
    #expect(try store.snapshot().count(of: Spaceship.self) == 5)
  }

  @Test func explicitTransactions() throws {
    let store = try Self.fleet()
    let version = store.version
    var transaction = try store.beginWrite()
    try transaction.insert(Spaceship(id: 8, name: "eight"))
    #expect(try transaction.commit() == version + 1)
    #expect(throws: StoreError.closed) { try transaction.insert(Spaceship(id: 9, name: "nine")) }
    transaction = try store.beginWrite(timeout: .seconds(5))
    try transaction.insert(Spaceship(id: 9, name: "nine"))
    transaction.cancel()
    do {
      // Let go without either: undone.
      let dropped = try store.beginWrite()
      try dropped.insert(Spaceship(id: 9, name: "nine"))
    }
    #expect(store.version == version + 1)
    #expect(try store.snapshot().objects(Spaceship.self).keys.last == 8)
  }

  @Test func busyWithinATime() async throws {
    let store = try Self.fleet()
    let transaction = try store.beginWrite()
    let thrown = await Task.detached { () -> (any Error)? in
      do {
        try store.write(timeout: .milliseconds(50)) { _ in }
        return nil
      } catch { return error }
    }.value
    guard case .busy = thrown as? StoreError else {
      Issue.record("\(String(describing: thrown))")
      return
    }
    transaction.cancel()
    try store.write(timeout: .seconds(5)) { _ = try $0.delete(Spaceship.self, key: 1) }
  }

  /// Random transactions, some of them undone, against a dictionary.
  @Test(arguments: UInt64(1)...4)
  func randomTransactions(seed: UInt64) throws {
    var random = SeededRandom(seed)
    let store = try Store(inMemory: freshName(), models: Everything.self, Outer.Package.self)
    var everything: [Int: Everything] = [:]
    var packages: [String: Int32] = [:]
    for _ in 0..<60 {
      var (tryThings, tryPackages) = (everything, packages)
      do {
        try store.write { transaction in
          for _ in 0..<random.below(30) {
            let id = random.below(400)
            let name = "package \(random.below(100))"
            switch random.below(8) {
            case 0, 1:
              let object = Everything.random(id: id, &random)
              if tryThings[id] == nil {
                try transaction.insert(object)
                tryThings[id] = object
              } else {
                #expect(throws: StoreError.self) { try transaction.insert(object) }
              }
            case 2:
              let object = Everything.random(id: id, &random)
              try transaction.upsert(object)
              tryThings[id] = object
            case 3:
              #expect(try transaction.delete(Everything.self, key: id) == (tryThings[id] != nil))
              tryThings[id] = nil
            case 4 where tryThings[id] != nil:
              let other = Everything.random(id: id, &random)
              try transaction.update(Everything.self, key: id) { change in
                change.string = other.string
                change.stringOrNil = other.stringOrNil
                change.int16 = other.int16
                change.doubleOrNil = other.doubleOrNil
                change.data = other.data
                change.uuidOrNil = other.uuidOrNil
                change.flag.toggle()
              }
              tryThings[id]?.string = other.string
              tryThings[id]?.stringOrNil = other.stringOrNil
              tryThings[id]?.int16 = other.int16
              tryThings[id]?.doubleOrNil = other.doubleOrNil
              tryThings[id]?.data = other.data
              tryThings[id]?.uuidOrNil = other.uuidOrNil
              tryThings[id]?.flag.toggle()
            case 5:
              let value = Int32(random.below(1000))
              try transaction.upsert(Outer.Package(name: name, value: value))
              tryPackages[name] = value
            case 6:
              #expect(try transaction.delete(Outer.Package.self, key: name) == (tryPackages[name] != nil))
              tryPackages[name] = nil
            default:
              #expect(transaction[Everything.self, key: id]?.value == tryThings[id], "seed \(seed)")
              #expect(
                transaction[Outer.Package.self, key: name]?.value.value == tryPackages[name],
                "\(name) \(tryPackages.keys.sorted()) \(transaction.objects(Outer.Package.self).keys)")
              #expect(transaction.damage == nil)
            }
          }
          if random.chance(30) { throw Stop() }
        }
        (everything, packages) = (tryThings, tryPackages)
      } catch is Stop {}
      let snapshot = try store.snapshot()
      #expect(snapshot.objects(Everything.self).values == everything.values.sorted { $0.id < $1.id }, "seed \(seed)")
      #expect(
        snapshot.objects(Outer.Package.self).map { "\($0.name) \($0.value.value)" }
          == packages.sorted { $0.key.scalarsPrecede($1.key) }.map { "\($0.key) \($0.value)" }, "seed \(seed)")
      #expect(snapshot.damage == nil)
    }
  }
}

import Foundation
import Reef
import Testing

/// Inserting by the typed interface against a dictionary: runs in order, rows that come between others, and the changes
/// of way between the two, with values of every kind and with values of one form only.
@Suite struct InsertTests {
  /// Few different widths: most rows go into packed leaves in place.
  @Model struct Plain: Equatable {
    @Key var id: Int
    var name: String
    var tag: String
    var score: Double
    var qty: Int
    var flag: Bool
    var level: Int16?
  }

  static func plain(_ id: Int, _ random: inout SeededRandom) -> Plain {
    Plain(
      id: id, name: String(format: "%016llx", random.next()),
      tag: String(repeating: "é", count: random.chance(1) ? 300 : random.below(9)), score: random.double(),
      qty: random.chance(2) ? random.int(Int.self) : random.below(1000), flag: random.chance(50),
      level: random.orNil(Int16(random.below(100))))
  }

  struct Fleet<M: Model & Equatable & Numbered> where M.PrimaryKey == Int {
    let store: Store
    var model: [Int: M] = [:]
    var make: (Int, inout SeededRandom) -> M

    func verify(_ objects: Results<M>, _ context: String) {
      let found = objects.map { $0.value }
      #expect(found.map(\.id) == model.keys.sorted(), "\(context)")
      #expect(found.allSatisfy { same($0, model[$0.id]) }, "\(context)")
    }

    private func same(_ found: M, _ expected: M?) -> Bool {
      // Text by its bytes: equal strings may be spelt in two ways.
      expected.map { String(reflecting: $0) == String(reflecting: found) || $0 == found } ?? false
    }

    /// False: the key is taken.
    static func insert(_ object: M, _ transaction: Transaction) throws(StoreError) -> Bool {
      do throws(StoreError) {
        try transaction.insert(object)
        return true
      } catch {
        guard case .duplicateKey = error else { throw error }
        return false
      }
    }

    mutating func run(_ random: inout SeededRandom, steps: Int, rows: Int, spread: Int, _ seed: UInt64) throws {
      for step in 0..<steps {
        let before = model
        let cancelled = random.chance(15)
        let transaction = try store.beginWrite()
        var next = random.chance(50) ? (model.keys.max() ?? 0) + 1 : random.below(spread)
        for _ in 0..<(1 + random.below(random.chance(20) ? rows : 4)) {
          if random.chance(1) { next = random.below(spread) }
          let key = random.chance(40) ? random.below(spread) : next
          if key == next { next += 1 }
          let object = make(key, &random)
          let inserted = try Self.insert(object, transaction)
          #expect(inserted == (model[key] == nil), "seed \(seed) step \(step): \(key)")
          if inserted { model[key] = object }
          if random.chance(3) {
            let found = transaction[M.self, key: key]?.value.id
            #expect(found == key, "seed \(seed) step \(step)")
          }
          if random.chance(4), let victim = model.keys.randomElement(using: &random) {
            let deleted = try transaction.delete(M.self, key: victim)
            #expect(deleted, "seed \(seed) step \(step)")
            model[victim] = nil
          }
          if random.chance(4), let target = model.keys.randomElement(using: &random) {
            let object = make(target, &random)
            try transaction.upsert(object)
            model[target] = object
          }
        }
        if random.chance(20) {
          let more = (0..<random.below(400)).map { make(spread * 2 + step * 1000 + $0, &random) }
          try transaction.insert(contentsOf: more)
          for object in more { model[object.id] = object }
        }
        if random.chance(20) { verify(transaction.objects(M.self), "seed \(seed) step \(step), own") }
        if cancelled {
          transaction.cancel()
          model = before
        } else {
          try transaction.commit()
        }
        if random.chance(20) { verify(try store.snapshot().objects(M.self), "seed \(seed) step \(step)") }
      }
      verify(try store.snapshot().objects(M.self), "seed \(seed), end")
    }
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func everyKind(seed: UInt64) throws {
    var random = SeededRandom(seed)
    var fleet = Fleet<Everything>(
      store: try Store(inMemory: freshName(), models: Everything.self), make: Everything.random)
    try fleet.run(&random, steps: 40, rows: 300, spread: seed % 2 == 0 ? 2000 : 1 << 40, seed)
  }

  @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
  func inPlace(seed: UInt64) throws {
    var random = SeededRandom(seed)
    var fleet = Fleet<Plain>(store: try Store(inMemory: freshName(), models: Plain.self), make: Self.plain)
    try fleet.run(&random, steps: 80, rows: 1500, spread: [3000, 100_000, 1 << 40][Int(seed % 3)], seed)
  }

  /// A permutation of consecutive keys ends as leaves without key columns, whatever the order.
  @Test func shuffled() throws {
    var random = SeededRandom(7)
    let store = try Store(inMemory: freshName(), models: Plain.self)
    let objects = (0..<5000).map { Self.plain($0, &random) }
    try store.write { try $0.insert(contentsOf: objects.shuffled(using: &random)) }
    #expect(try store.snapshot().objects(Plain.self).map { $0.value } == objects)
  }

  /// The first key that is taken stops the bulk insert; what came before stays.
  @Test func duplicateInBulk() throws {
    var random = SeededRandom(8)
    let store = try Store(inMemory: freshName(), models: Plain.self)
    let objects = [0, 1, 2, 2, 3].map { Self.plain($0, &random) }
    try store.write { transaction in
      #expect(throws: StoreError.duplicateKey(type: "Plain", key: "2")) {
        try transaction.insert(contentsOf: objects)
      }
      try transaction.insert(Self.plain(9, &random))
    }
    #expect(try store.snapshot().objects(Plain.self).keys == [0, 1, 2, 9])
  }
}
/// What both kinds of object have.
protocol Numbered { var id: Int { get } }
extension Everything: Numbered {}
extension InsertTests.Plain: Numbered {}

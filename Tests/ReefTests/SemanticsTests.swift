import Foundation
import Reef
import Testing

/// The stated rules for nil, floating point and text (docs/semantics.md), case by case, on a snapshot and in a transaction.
@Suite struct SemanticsTests {
  @Model struct Measured: Equatable {
    @Key var id: Int
    var value: Double = 0
    var maybe: Double?
    @Indexed var text: String = ""
  }

  static func store(_ objects: [Measured]) throws -> Store {
    let store = try Store(inMemory: freshName(), models: Measured.self)
    try store.write { try $0.insert(contentsOf: objects) }
    return store
  }

  func expect(
    _ store: Store, _ condition: Condition<Measured>, _ ids: [Int], _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(
      try store.snapshot().objects(Measured.self).where(condition).keys == ids, comment, sourceLocation: sourceLocation)
    try store.write { transaction in
      #expect(
        transaction.objects(Measured.self).where(condition).keys == ids, comment, sourceLocation: sourceLocation)
    }
  }

  @Test func nilIsAValue() throws {
    let store = try Self.store([
      Measured(id: 1, maybe: nil), Measured(id: 2, maybe: 5), Measured(id: 3, maybe: 6), Measured(id: 4, maybe: .nan),
    ])
    try expect(store, Measured.where { $0.maybe == nil }, [1])
    try expect(store, Measured.where { $0.maybe != 5 }, [1, 3, 4])
    try expect(store, Measured.where { $0.maybe > 5 }, [3])
    try expect(store, Measured.where { $0.maybe < 100 }, [2, 3])
    try expect(store, Measured.where { $0.maybe <= nil }, [1])
    try expect(store, Measured.where { $0.maybe >= nil }, [1])
    try expect(store, Measured.where { !($0.maybe > 5) }, [1, 2, 4])
    try expect(store, Measured.where { $0.maybe.in([nil, 6]) }, [1, 3])
  }

  @Test func notANumber() throws {
    let store = try Self.store([
      Measured(id: 1, value: .nan, maybe: .nan), Measured(id: 2, value: 0.0, maybe: nil),
      Measured(id: 3, value: -0.0, maybe: 3), Measured(id: 4, value: -.infinity), Measured(id: 5, value: 2),
    ])
    try expect(store, Measured.where { $0.value == .nan }, [])
    try expect(store, Measured.where { $0.value != .nan }, [1, 2, 3, 4, 5])
    try expect(store, Measured.where { $0.value < 1 }, [2, 3, 4])
    try expect(store, Measured.where { !($0.value < 1) }, [1, 5])
    try expect(store, Measured.where { $0.value == 0 }, [2, 3])
    try expect(store, Measured.where { $0.value == -0.0 }, [2, 3])
    try expect(store, Measured.where { $0.value.between(-0.0...0.0) }, [2, 3])
    let all = try store.snapshot().objects(Measured.self)
    #expect(all.sorted(by: \.value).keys == [1, 4, 2, 3, 5])
    #expect(all.sorted(by: \.value, .descending).keys == [5, 2, 3, 4, 1])
    #expect(all.sorted(by: \.maybe).keys == [2, 4, 5, 1, 3])
    #expect(all.sum(of: \.value).isNaN && all.average(of: \.value)?.isNaN == true)
    #expect(all.min(of: \.value) == -.infinity && all.max(of: \.value) == 2)
    #expect(all.where { $0.id == 1 }.max(of: \.value)?.isNaN == true)
    #expect(all.min(of: \.maybe) == 3)
  }

  @Test func textIsScalars() throws {
    let store = try Self.store([
      Measured(id: 1, text: "é"), Measured(id: 2, text: "e\u{301}"), Measured(id: 3, text: "e"),
      Measured(id: 4, text: ""), Measured(id: 5, text: "K"), Measured(id: 6, text: "\u{212a}"),
    ])
    try expect(store, Measured.where { $0.text == "é" }, [1], "the two spellings differ here, other than in Swift")
    try expect(store, Measured.where { $0.text == "e\u{301}" }, [2])
    try expect(store, Measured.where { $0.text.hasPrefix("e") }, [2, 3], "a prefix of scalars, not of Characters")
    try expect(store, Measured.where { $0.text.contains("\u{301}") }, [2])
    try expect(store, Measured.where { $0.text.contains("") }, [1, 2, 3, 4, 5, 6])
    try expect(store, Measured.where { $0.text.hasPrefix("") && $0.text.hasSuffix("") }, [1, 2, 3, 4, 5, 6])
    try expect(store, Measured.where { $0.text == "K" }, [5])
    try expect(store, Measured.where { $0.text < "e\u{301}" }, [3, 4, 5])
    #expect(try store.snapshot().objects(Measured.self).sorted(by: \.text).keys == [4, 5, 3, 2, 1, 6])
  }

  @Test func keysDifferByScalars() throws {
    let store = try Store(inMemory: freshName(), models: Outer.Package.self)
    try store.write { transaction in
      try transaction.insert(Outer.Package(name: "é", value: 1))
      try transaction.insert(Outer.Package(name: "e\u{301}", value: 2))
      #expect(throws: StoreError.self) { try transaction.insert(Outer.Package(name: "é", value: 3)) }
    }
    #expect(try store.snapshot()[Outer.Package.self, key: "e\u{301}"]?.value.value == 2)
  }

  @Test func sumsBeyondTheRange() throws {
    let store = try Store(inMemory: freshName(), models: Outer.Package.self, Everything.self)
    var random = SeededRandom(1)
    try store.write { transaction in
      for id in 0..<3 {
        var object = Everything.random(id: id, &random)
        object.int64 = .max
        object.uint64 = .max
        try transaction.insert(object)
      }
    }
    let all = try store.snapshot().objects(Everything.self)
    #expect(all.sum(of: \.int64) == .max && all.sum(of: \.uint64) == .max)
    #expect(all.average(of: \.int64) ?? 0 > 9e18)
  }
}

import Foundation
import Reef
import Testing

/// Walks of results, property by property, against a dictionary: what a walk knows of its leaves must never show.
@Suite struct IterationTests {
  @Test(arguments: UInt64(1)...4)
  func everyProperty(seed: UInt64) throws {
    let samples = try Samples(seed)
    let model = Dictionary(uniqueKeysWithValues: samples.objects.map { ($0.id, $0) })
    let all = try samples.store.snapshot().objects(Everything.self)
    // The first walk learns which columns are read, the next one knows; each reads others besides.
    for round in 0..<3 {
      var seen = 0
      for view in all {
        let object = try #require(model[view.id])
        #expect(view.int8 == object.int8 && view.flag == object.flag && view.uint64OrNil == object.uint64OrNil)
        #expect(
          view.double.bitPattern == object.double.bitPattern && view.string.utf8.elementsEqual(object.string.utf8))
        #expect(view.stringUTF8.elementsEqual(object.string.utf8))
        if round > 0 {
          #expect(view.uuid == object.uuid && view.data == object.data && view.flagOrNil == object.flagOrNil)
          #expect(view.stringOrNil == object.stringOrNil && view.dataOrNil == object.dataOrNil)
          #expect(view.float.bitPattern == object.float.bitPattern && view.date == object.date)
        }
        if round > 1 { #expect(view.value == object) }
        seen += 1
      }
      #expect(seen == model.count)
    }
    let some = all.where { $0.int8 > 0 && $0.flag == true }
    let expected = samples.objects.filter { $0.int8 > 0 && $0.flag }
    #expect(some.map(\.uint16) == expected.map(\.uint16) && some.map(\.intOrNil) == expected.map(\.intOrNil))
    for (offset, limit) in [(0, 3), (250, 10), (255, 260), (5, 1), (2000, 5)] {
      let window = expected.dropFirst(offset).prefix(limit)
      #expect(some.dropFirst(offset).prefix(limit).map(\.uint32) == window.map(\.uint32))
      let part = all.dropFirst(offset).prefix(limit).map(\.string)
      #expect(part == samples.objects.dropFirst(offset).prefix(limit).map(\.string))
    }
  }

  /// Views outlive their walk; a snapshot stays as it was while the store goes on.
  @Test func viewsAreKept() throws {
    let samples = try Samples(7)
    var kept: [Everything.View] = []
    do {
      let all = try samples.store.snapshot().objects(Everything.self)
      for view in all { _ = view.int16 }
      kept = Array(all)
    }
    try samples.store.write { transaction in
      for object in samples.objects.prefix(500) { try transaction.delete(Everything.self, key: object.id) }
    }
    try samples.store.write { transaction in
      // Within a transaction every view is of now.
      for view in transaction.objects(Everything.self) {
        let before = view.int16
        try transaction.update(Everything.self, key: view.id) { $0.int16 = before &+ 1 }
        #expect(view.int16 == before &+ 1)
      }
    }
    #expect(kept.map(\.value) == samples.objects)
    let now = try samples.store.snapshot().objects(Everything.self)
    #expect(now.map(\.int16) == samples.objects.dropFirst(500).map { $0.int16 &+ 1 })
  }

  /// More columns than a walk keeps note of, several tables that share notes, columns that are empty in some leaves.
  @Test func wideObjects() throws {
    let store = try Store(inMemory: freshName(), models: Wide.self, Spaceship.self, Everything.self)
    var random = SeededRandom(11)
    let objects = (0..<700).map { id in
      var object = Wide(id: id)
      object.a3 = random.below(9)
      object.b9 = id < 256 ? 0 : random.below(1000)
      object.d8 = random.below(1_000_000)
      object.d9 = id >= 512 ? nil : String(repeating: "x", count: random.below(5))
      return object
    }
    try store.write { transaction in
      for object in objects { try transaction.insert(object) }
      for id in 0..<300 { try transaction.insert(Spaceship(id: id, name: "\(id)", maxSpeed: Double(id))) }
    }
    let snapshot = try store.snapshot()
    for _ in 0..<3 {
      let views = snapshot.objects(Wide.self)
      #expect(views.map(\.a3) == objects.map(\.a3) && views.map(\.b9) == objects.map(\.b9))
      #expect(views.map(\.d8) == objects.map(\.d8) && views.map(\.d9) == objects.map(\.d9))
      #expect(snapshot.objects(Spaceship.self).map(\.maxSpeed) == (0..<300).map(Double.init))
    }
    #expect(snapshot.objects(Wide.self).values == objects)
  }
}

@Model struct Wide: Equatable {
  @Key var id: Int
  var a0 = 0, a1 = 0, a2 = 0, a3 = 0, a4 = 0, a5 = 0, a6 = 0, a7 = 0, a8 = 0, a9 = 0
  var b0 = 0, b1 = 0, b2 = 0, b3 = 0, b4 = 0, b5 = 0, b6 = 0, b7 = 0, b8 = 0, b9 = 0
  var c0 = 0, c1 = 0, c2 = 0, c3 = 0, c4 = 0, c5 = 0, c6 = 0, c7 = 0, c8 = 0, c9 = 0
  var d0 = 0, d1 = 0, d2 = 0, d3 = 0, d4 = 0, d5 = 0, d6 = 0, d7 = 0, d8 = 0
  var d9: String?
}

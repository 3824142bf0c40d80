import Foundation
import Reef
import Testing

/// Order, windows, random access and aggregates, against arrays.
@Suite struct ResultTests {
  /// -1, 0, 1: nil, then NaN, then numbers.
  static func order<T>(_ a: T?, _ b: T?, _ less: (T, T) -> Bool) -> Int {
    switch (a, b) {
    case (nil, nil): 0
    case (nil, _): -1
    case (_, nil): 1
    case (let a?, let b?): less(a, b) ? -1 : (less(b, a) ? 1 : 0)
    }
  }

  static func sorted(
    _ objects: [Everything], _ compare: [(Everything, Everything) -> Int]
  ) -> [Int] {
    objects.sorted { a, b in
      for step in compare {
        let order = step(a, b)
        if order != 0 { return order < 0 }
      }
      return a.id < b.id
    }.map(\.id)
  }

  @Test(arguments: UInt64(1)...4)
  func orders(seed: UInt64) throws {
    let samples = try Samples(seed)
    let objects = samples.objects
    let all = try samples.store.snapshot().objects(Everything.self)
    let byString: (Everything, Everything) -> Int = { Self.order($0.string, $1.string) { $0.scalarsPrecede($1) } }
    let byNil: (Everything, Everything) -> Int = { Self.order($0.doubleOrNil, $1.doubleOrNil, <) }
    let byFlag: (Everything, Everything) -> Int = { Self.order($0.flag ? 1 : 0, $1.flag ? 1 : 0, <) }
    let byInt8: (Everything, Everything) -> Int = { Self.order($0.int8OrNil, $1.int8OrNil, <) }
    #expect(all.sorted(by: \.string).keys == Self.sorted(objects, [byString]))
    #expect(all.sorted(by: \.string, .descending).keys == Self.sorted(objects, [{ -byString($0, $1) }]))
    #expect(all.sorted(by: \.doubleOrNil).keys == Self.sorted(objects, [byNil]))
    #expect(all.sorted(by: \.doubleOrNil, .descending).keys == Self.sorted(objects, [{ -byNil($0, $1) }]))
    #expect(
      all.sorted(by: .ascending(\.flag), .descending(\.int8OrNil)).keys
        == Self.sorted(objects, [byFlag, { -byInt8($0, $1) }]))
    #expect(
      all.sorted(by: \.uuid).keys
        == Self.sorted(
          objects,
          [
            { a, b in
              Self.order(a.uuid.bytes, b.uuid.bytes) { $0.lexicographicallyPrecedes($1) }
            }
          ]))
    #expect(
      all.sorted(by: \.dataOrNil).keys
        == Self.sorted(
          objects,
          [
            { a, b in
              Self.order(a.dataOrNil, b.dataOrNil) { $0.lexicographicallyPrecedes($1) }
            }
          ]))
    #expect(all.sorted(by: \.uint64).keys == Self.sorted(objects, [{ a, b in Self.order(a.uint64, b.uint64, <) }]))
    #expect(all.sorted(by: \.id, .descending).keys == objects.map(\.id).reversed())
    // The order asked for last decides first.
    #expect(all.sorted(by: \.int8OrNil).sorted(by: \.flag).keys == Self.sorted(objects, [byFlag, byInt8]))
    let some = all.where { $0.double > 0 }.sorted(by: \.string)
    #expect(some.keys == Self.sorted(objects.filter { $0.double > 0 }, [byString]))
    #expect(some.first?.id == some.keys.first && some.sorted(by: \.flag).first?.id != nil)
  }

  @Test(arguments: UInt64(1)...4)
  func windows(seed: UInt64) throws {
    var random = SeededRandom(seed)
    let samples = try Samples(seed)
    let ids = samples.objects.map(\.id)
    let all = try samples.store.snapshot().objects(Everything.self)
    for _ in 0..<30 {
      let (skip, take) = (random.below(ids.count + 10), random.below(ids.count + 10))
      let expected = Array(ids.dropFirst(skip).prefix(take))
      #expect(all.dropFirst(skip).prefix(take).keys == expected)
      #expect(all.dropFirst(skip).prefix(take).count == expected.count)
      #expect(all.prefix(take).dropFirst(skip).keys == Array(ids.prefix(take).dropFirst(skip)))
      let sorted = all.sorted(by: \.id, .descending)
      #expect(sorted.dropFirst(skip).prefix(take).keys == Array(ids.reversed().dropFirst(skip).prefix(take)))
      let page = all.dropFirst(skip).prefix(take)
      #expect(page.first?.id == expected.first && page.isEmpty == expected.isEmpty)
      if let position = expected.indices.randomElement(using: &random) {
        #expect(page[position].id == expected[position])
      }
      // A condition or an order after a window works on what the window left.
      let window = samples.objects.dropFirst(skip).prefix(take)
      #expect(page.where { $0.flag == true }.keys == window.filter(\.flag).map(\.id))
      #expect(page.where { $0.flag == true }.count == window.count(where: \.flag))
      #expect(page.sorted(by: \.id, .descending).keys == expected.reversed())
      #expect(page.sum(of: \.int16) == window.reduce(0) { $0 + Int($1.int16) })
      #expect(
        page.max(of: \.string)?.utf8.map { $0 }
          == window.map { Array($0.string.utf8) }.max { $0.lexicographicallyPrecedes($1) })
    }
    for position in stride(from: 0, to: ids.count, by: 37) { #expect(all[position].id == ids[position]) }
    #expect(all.last?.id == ids.last && all.reversed().prefix(3).map(\.id) == Array(ids.reversed().prefix(3)))
  }

  @Test(arguments: UInt64(1)...4)
  func aggregates(seed: UInt64) throws {
    let samples = try Samples(seed)
    let all = try samples.store.snapshot().objects(Everything.self)
    let some = all.where { $0.flag == true && $0.int8 >= 0 }
    let objects = samples.objects.filter { $0.flag && $0.int8 >= 0 }
    #expect(some.sum(of: \.int16) == objects.reduce(0) { $0 + Int($1.int16) })
    #expect(some.sum(of: \.int8OrNil) == objects.compactMap(\.int8OrNil).reduce(0) { $0 + Int($1) })
    #expect(some.sum(of: \.uint32) == objects.reduce(0) { $0 + Int($1.uint32) })
    #expect(some.min(of: \.int) == objects.map(\.int).min() && some.max(of: \.int) == objects.map(\.int).max())
    #expect(some.min(of: \.uint64) == objects.map(\.uint64).min())
    #expect(some.max(of: \.uint64OrNil) == objects.compactMap(\.uint64OrNil).max())
    #expect(some.min(of: \.id) == objects.first?.id && some.max(of: \.id) == objects.last?.id)
    #expect(some.min(of: \.dateOrNil) == objects.compactMap(\.dateOrNil).min())
    #expect(some.max(of: \.double) == objects.map(\.double).max())
    let mean = Double(objects.reduce(0) { $0 + Int($1.int16) }) / Double(objects.count)
    #expect(some.average(of: \.int16) == mean)
    let nothing = all.where(.none)
    #expect(nothing.sum(of: \.int) == 0 && nothing.average(of: \.int) == nil && nothing.min(of: \.string) == nil)
    #expect(nothing.sum(of: \.doubleOrNil) == 0 && nothing.first == nil && nothing.isEmpty)
  }

  @Test func readTogether() throws {
    // A result is a collection like any other, and its snapshot stays alive with it.
    let store = try Store(inMemory: freshName(), models: Spaceship.self)
    try store.write { transaction in
      for id in 1...500 { try transaction.insert(Spaceship(id: id, name: "ship \(id)", maxSpeed: Double(id % 7))) }
    }
    let ships = try store.snapshot().objects(Spaceship.self)
    try store.write { _ = try $0.deleteAll(Spaceship.self) }
    #expect(ships.count == 500 && ships.reduce(0) { $0 + $1.id } == 500 * 501 / 2)
    #expect(ships.first { $0.maxSpeed == 6 }?.id == 6)
    #expect(ships.lazy.filter { $0.nameUTF8.count == 6 }.count == 9)
    #expect(ships[100..<103].map(\.id) == [101, 102, 103])
    #expect(try store.objects(Spaceship.self).isEmpty)
    let views = Array(ships)
    #expect(views[41].name == "ship 42" && views[41].value == Spaceship(id: 42, name: "ship 42", maxSpeed: 0))
  }
}

import Foundation
import Testing

@testable import ReefEngine

/// Random inserts and removals against a sorted array, over kinds of keys that call for every node form.
@Suite struct IndexTreeTests {
  enum Keys: String, CaseIterable {
    case integers, fewIntegers, optionalIntegers, hex, shortText, commonPrefix, long, mixed, empty
  }

  static func key(_ keys: Keys, _ random: inout TestRandom) -> [UInt8] {
    func big(_ value: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: value >> UInt64(56 - 8 * $0)) } }
    func text(_ lengths: Range<Int>, _ letters: [UInt8]) -> [UInt8] {
      (0..<Int.random(in: lengths, using: &random)).map { _ in random.pick(letters) }
    }
    switch keys {
    case .integers: return big(UInt64(random.below(1_000_000)))
    case .fewIntegers: return big(UInt64(random.below(7)))
    case .optionalIntegers: return random.chance(4) ? [0] : [1] + big(UInt64(random.below(100_000)))
    case .hex: return Array(String(format: "%016lx", random.next()).utf8)
    case .shortText: return text(0..<12, [0, 97, 98, 255])
    case .commonPrefix: return Array("org.example.library.component.".utf8) + text(1..<6, Array("0123456789".utf8))
    case .long: return [UInt8](repeating: 120, count: 200) + text(0..<50, [97, 98])
    case .mixed:
      switch random.below(5) {
      case 0: return text(0..<255, [97, 98, 99])
      case 1: return Array(String(repeating: "p", count: 240).utf8) + text(0..<5, [1, 2])
      case 2: return big(UInt64(random.below(1000)))
      default: return Array("name-".utf8) + text(0..<9, Array("0123456789".utf8))
      }
    case .empty: return []
    }
  }

  @Test(arguments: Keys.allCases)
  func randomOperations(_ keys: Keys) throws {
    var random = TestRandom(seed: freshSeed("randomOperations \(keys)"))
    let fixture = try IndexFixture()
    var writer = IndexWriter()
    var model = IndexModel()
    var frozen: [(IndexWriter, [IndexPair])] = []
    for phase in 0..<5 {
      // Grow, shrink, grow, shrink to nothing: splits, merges, root growth and collapse.
      let growing = phase % 2 == 0
      for _ in 0..<1000 {
        if random.chance(40) { fixture.nextVersion() }
        if random.below(10) < (growing ? 9 : 1) || model.pairs.isEmpty {
          let pair = IndexPair(key: Self.key(keys, &random), objectKey: Int64(random.below(5000)) - 2500)
          let old = try fixture.insert(&writer, pair.key, pair.objectKey)
          #expect((old == nil) == model.insert(pair))
        } else {
          let pair =
            random.chance(20)
            ? IndexPair(key: Self.key(keys, &random), objectKey: 3) : random.pick(model.pairs)
          #expect(try fixture.remove(&writer, pair.key, pair.objectKey) == model.remove(pair))
        }
      }
      try compare(fixture.view(writer), model, keys, &random)
      // Nothing leaked, nothing was given back twice.
      #expect(try fixture.nodes(writer) == fixture.liveBlocks())
      frozen.append((writer, model.pairs))
      fixture.nextVersion()
    }
    // Older versions are as they were.
    for (writer, pairs) in frozen { #expect(try contents(fixture.view(writer)) == pairs) }
    for pair in model.pairs.shuffled(using: &random) {
      #expect(try fixture.remove(&writer, pair.key, pair.objectKey))
    }
    #expect(writer.root == 0 && writer.depth == 0)
    #expect(fixture.liveBlocks() == [])
  }

  private func contents(_ view: IndexView) throws -> [IndexPair] {
    var cursor = try view.start()
    var result: [IndexPair] = []
    var key = IndexKey()
    while let objectKey = try cursor.next() {
      cursor.copyKey(to: &key)
      result.append(IndexPair(key: key.bytes, objectKey: objectKey))
    }
    return result
  }

  private func compare(_ view: IndexView, _ model: IndexModel, _ keys: Keys, _ random: inout TestRandom) throws {
    #expect(try view.check().entries == model.pairs.count)
    #expect(try contents(view) == model.pairs)
    var back = try view.end()
    var backwards: [IndexPair] = []
    var key = IndexKey()
    while let objectKey = try back.previous() {
      back.copyKey(to: &key, behind: true)
      backwards.append(IndexPair(key: key.bytes, objectKey: objectKey))
    }
    #expect(backwards == model.pairs.reversed())

    for _ in 0..<150 {
      let one = random.chance(2) && !model.pairs.isEmpty ? random.pick(model.pairs).key : Self.key(keys, &random)
      let (lower, upper) = (model.lowerBound(one), model.upperBound(one))
      let found = try withKey(one) { (key) throws(StoreError) in try view.find(key) }
      #expect(found == (lower < upper ? model.pairs[lower].objectKey : nil))
      let count = try withKey(one) { (key) throws(StoreError) in try view.count(equal: key) }
      #expect(count == upper - lower)
      let next = try withKey(one) { (key) throws(StoreError) in
        var cursor = try view.cursor(at: .after(key))
        return try cursor.next()
      }
      #expect(next == (upper < model.pairs.count ? model.pairs[upper].objectKey : nil))
      let previous = try withKey(one) { (key) throws(StoreError) in
        var cursor = try view.cursor(at: .before(key))
        return try cursor.previous()
      }
      #expect(previous == (lower > 0 ? model.pairs[lower - 1].objectKey : nil))
      let pair = IndexPair(key: one, objectKey: Int64(random.below(5000)) - 2500)
      let at = model.lowerBound(pair)
      let contained = try withKey(one) { (key) throws(StoreError) in try view.contains(key, pair.objectKey) }
      #expect(contained == (at < model.pairs.count && model.pairs[at] == pair))

      // Ranges, by runs, both ways
      let other = random.chance(2) && !model.pairs.isEmpty ? random.pick(model.pairs).key : Self.key(keys, &random)
      let (from, to) = one.lexicographicallyPrecedes(other) ? (one, other) : (other, one)
      let expected = model.pairs[model.lowerBound(from)..<model.upperBound(to)].map(\.objectKey)
      var forwards: [Int64] = []
      var backwards: [Int64] = []
      try withKey(from) { (from) throws(StoreError) in
        try withKey(to) { (to) throws(StoreError) in
          var cursor = try view.cursor(at: .before(from))
          while let run = try cursor.nextRun(before: .after(to)) { forwards += run }
          cursor = try view.cursor(at: .after(to))
          while let run = try cursor.previousRun(after: .before(from)) { backwards.insert(contentsOf: run, at: 0) }
        }
      }
      #expect(forwards == expected)
      #expect(backwards == expected)
    }
  }

  @Test func uniqueKeys() throws {
    var random = TestRandom(seed: freshSeed("uniqueKeys"))
    let fixture = try IndexFixture()
    var writer = IndexWriter()
    var model: [[UInt8]: Int64] = [:]
    for step in 0..<6000 {
      if random.chance(30) { fixture.nextVersion() }
      let key = Array("key-\(random.below(2500))".utf8)
      if random.chance(3), let objectKey = model.removeValue(forKey: key) {
        #expect(try fixture.remove(&writer, key, objectKey))
      } else {
        #expect(try fixture.insert(&writer, key, Int64(step), unique: true) == model[key])
        if model[key] == nil { model[key] = Int64(step) }
      }
    }
    try fixture.view(writer).check()
    for (key, objectKey) in model {
      #expect(try withKey(key) { (key) throws(StoreError) in try fixture.view(writer).find(key) } == objectKey)
    }
  }

  /// Ascending inserts leave full nodes behind, whatever the keys look like, also in many small transactions.
  @Test(arguments: ["integers", "names", "duplicates"], [1, 50, 100_000])
  func rightEdgeFill(_ kind: String, _ perTransaction: Int) throws {
    let fixture = try IndexFixture()
    var writer = IndexWriter()
    let count = 20_000
    var key = IndexKey()
    for i in 0..<count {
      if i % perTransaction == 0 { fixture.nextVersion() }
      switch kind {
      case "integers": key.encode(int: Int64(i) - 5000)
      case "names": key.encode(string: "package-" + String(100_000 + i))
      default: key.encode(int: Int64(i / 4000), isOptional: true)
      }
      let old = try key.withEncoded { (key) throws(StoreError) in
        try writer.insert(key, Int64(i), space: &fixture.space)
      }
      #expect(old == nil)
    }
    let statistics = try fixture.view(writer).check()
    #expect(statistics.entries == count)
    let fill = Double(statistics.leafBytes) / Double(statistics.leaves * DataLayout.Index.maximumLength)
    print("right edge, \(kind): \(statistics), fill \(fill)")
    #expect(fill > 0.9)
  }

  /// A full disk in the middle of a change leaves the index as it was.
  @Test func outOfSpace() throws {
    var random = TestRandom(seed: freshSeed("outOfSpace"))
    let fixture = try IndexFixture(megabytes: 64)
    var writer = IndexWriter()
    var model = IndexModel()
    var failures = 0
    // The reserved range is the limit: every change is a transaction of its own, whose old nodes are never given back.
    for step in 0..<200_000 where failures < 60 {
      fixture.nextVersion()
      let pair = IndexPair(key: IndexTreeTests.key(.commonPrefix, &random), objectKey: Int64(step))
      do {
        if random.chance(4), let old = model.pairs.randomElement(using: &random) {
          #expect(try fixture.remove(&writer, old.key, old.objectKey))
          _ = model.remove(old)
        } else {
          #expect(try fixture.insert(&writer, pair.key, pair.objectKey) == nil)
          _ = model.insert(pair)
        }
      } catch StoreError.outOfSpace {
        failures += 1
        #expect(try contents(fixture.view(writer)) == model.pairs)
      }
    }
    #expect(failures == 60)
    try fixture.view(writer).check()
    #expect(try fixture.nodes(writer) == fixture.liveBlocks())
  }
}

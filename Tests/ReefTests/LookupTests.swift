import Foundation
import Reef
import Testing

/// Lookups by key against a dictionary: keys that lie close, far apart, or unevenly, below zero too, and texts around the
/// lengths at which another way is taken.
@Suite struct LookupTests {
  @Model struct Numbered {
    @Key var id: Int
    var value: Int
  }
  @Model struct Named {
    @Key var name: String
    var value: Int
  }

  enum Spread: CaseIterable { case dense, sparse, skewed, clustered, extremes }

  private func keys(_ spread: Spread, _ random: inout SeededRandom) -> [Int] {
    let keys: [Int] =
      switch spread {
      case .dense: Array(-700..<2300)
      case .sparse: (0..<5000).map { _ in random.int(Int.self) }
      // Nearly all keys of a leaf near one end of its range: the estimate misses.
      case .skewed: (0..<5000).map { Int(exp2(Double($0) / 85)) &+ $0 } + (0..<500).map { -$0 * $0 * $0 * $0 }
      case .clustered: (0..<20).flatMap { block in (0..<250).map { block << 40 + $0 * (1 + block % 3) } }
      case .extremes: [.min, .min + 1, -1, 0, 1, .max - 1, .max] + (0..<1000).map { Int.max / 2 - $0 * $0 }
      }
    return Array(Set(keys))
  }

  @Test(arguments: Spread.allCases) func byNumber(_ spread: Spread) throws {
    var random = SeededRandom(11)
    let keys = keys(spread, &random).shuffled(using: &random)
    let there = Set(keys)
    let store = try Store(inMemory: freshName(), models: Numbered.self)
    try store.write { transaction in
      try transaction.insert(contentsOf: keys.map { Numbered(id: $0, value: $0 &* 3) })
    }
    let snapshot = try store.snapshot()
    for key in keys {
      #expect(snapshot[Numbered.self, key: key]?.value.value == key &* 3, "\(spread) \(key)")
      for near in [key &- 1, key &+ 1, key &+ 77, ~key] where !there.contains(near) {
        #expect(snapshot[Numbered.self, key: near] == nil, "\(spread) \(near)")
      }
    }
    #expect(snapshot.damage == nil)
  }

  @Test func byText() throws {
    var random = SeededRandom(12)
    var names: Set<String> = ["", "\0", "\0\0"]
    for length in [1, 7, 8, 9, 15, 16, 17, 55, 56, 57, 63, 64, 65, 247, 248, 249, 255, 256, 257, 600] {
      // Equal but for the end, and one that is the beginning of another.
      let stem = String(repeating: "k", count: length - 1)
      for end in ["\0", "a", "b", "k"] { names.insert(stem + end) }
      for _ in 0..<40 {
        names.insert(String((0..<length).map { _ in Character(Unicode.Scalar(UInt8(97 + random.below(3)))) }))
      }
    }
    let all = names.sorted()
    let store = try Store(inMemory: freshName(), models: Named.self)
    let there = all.enumerated().filter { $0.offset % 4 != 0 }
    try store.write { transaction in
      try transaction.insert(
        contentsOf: there.shuffled(using: &random).map { Named(name: $0.element, value: $0.offset) })
    }
    let snapshot = try store.snapshot()
    for (offset, name) in all.enumerated() {
      let found = snapshot[Named.self, key: name]?.value.value
      #expect(found == (offset % 4 == 0 ? nil : offset), "\(name.utf8.count) bytes")
    }
    #expect(snapshot.damage == nil)
  }

  /// What a scope or a snapshot that moved on remembers of a tree is of its own version: the tree grows in between.
  @Test func treesThatGrow() throws {
    let store = try Store(inMemory: freshName(), models: Numbered.self, Named.self)
    var moving = try store.snapshot()
    for round in 0..<60 {
      try store.write { transaction in
        for id in round * 300..<round * 300 + 300 {
          try transaction.insert(Numbered(id: id, value: id))
          try transaction.insert(Named(name: "name \(id)", value: id))
        }
      }
      let last = round * 300 + 299
      let scoped = try store.read { ($0[Numbered.self, key: last]?.value, $0[Named.self, key: "name \(last)"]?.value) }
      #expect(scoped.0 == last && scoped.1 == last, "round \(round)")
      try moving.advance()
      #expect(moving[Numbered.self, key: last]?.value.value == last, "round \(round)")
      #expect(moving[Named.self, key: "name \(last)"]?.value.value == last, "round \(round)")
    }
  }
}

import Reef
import Testing

/// Change lists, apart from any store.
@Suite struct ResultDeltaTests {
  /// What an observer does with a difference.
  static func replay(_ delta: ResultDelta, on old: [Int64], to new: [Int64]) -> [Int64] {
    var list = old
    for position in delta.deletions.reversed() { list.remove(at: position) }
    for position in delta.insertions { list.insert(new[position], at: position) }
    return list
  }

  static func check(_ delta: ResultDelta, _ old: [Int64], _ new: [Int64], modified: Set<Int64>, seed: UInt64) {
    #expect(replay(delta, on: old, to: new) == new, "seed \(seed)")
    let deleted = Set(delta.deletions.map { old[$0] })
    let inserted = Set(delta.insertions.map { new[$0] })
    #expect(delta.deletions == delta.deletions.sorted() && delta.insertions == delta.insertions.sorted())
    // Nothing unchanged is listed, nothing changed is left out.
    for position in delta.modifications { #expect(modified.contains(old[position]), "seed \(seed)") }
    let listed = Set(delta.modifications.map { old[$0] }).union(deleted).union(inserted)
    for key in modified where old.contains(key) || new.contains(key) { #expect(listed.contains(key), "seed \(seed)") }
    for key in deleted where new.contains(key) { #expect(inserted.contains(key), "seed \(seed)") }
    for key in deleted.union(inserted) where old.contains(key) && new.contains(key) {
      #expect(modified.contains(key) || old != new, "seed \(seed)")
    }
  }

  @Test(arguments: UInt64(1)...60)
  func wholeLists(seed: UInt64) {
    var random = SeededRandom(seed)
    let old = (0..<random.below(40)).map { Int64($0) }.shuffled(using: &random)
    var new = old.filter { _ in random.chance(80) }
    for key in 100..<(100 + random.below(10)) { new.insert(Int64(key), at: random.below(new.count + 1)) }
    for _ in 0..<random.below(4) where new.count > 1 { new.swapAt(random.below(new.count), random.below(new.count)) }
    let modified = Set(old.filter { _ in random.chance(20) })
    let delta = ResultDelta(from: old, to: new, isModified: modified.contains)
    Self.check(delta, old, new, modified: modified.filter { new.contains($0) }, seed: seed)
  }

  @Test(arguments: UInt64(1)...60)
  func touchedObjects(seed: UInt64) {
    var random = SeededRandom(seed)
    // A list in the order of random scores; some objects get other scores, some come, some go.
    var scores: [Int64: Int] = [:]
    for key in 0..<Int64(random.below(60)) { scores[key] = random.below(20) }
    func list(_ scores: [Int64: Int]) -> [Int64] { scores.keys.sorted { (scores[$0]!, $0) < (scores[$1]!, $1) } }
    let old = list(scores)
    var changed: Set<Int64> = []
    for _ in 0..<random.below(12) {
      let key = Int64(random.below(70))
      changed.insert(key)
      scores[key] = random.chance(30) ? nil : random.below(20)
    }
    let new = list(scores)
    let touched = changed.sorted().compactMap { key -> Touched? in
      let item = Touched(old: old.firstIndex(of: key), new: new.firstIndex(of: key))
      return item.old == nil && item.new == nil ? nil : item
    }
    let delta = ResultDelta(touched)
    Self.check(delta, old, new, modified: changed, seed: seed)
    #expect(delta.deletions.count + delta.modifications.count <= touched.count)
  }

  @Test(arguments: UInt64(1)...20)
  func orderedKeys(seed: UInt64) {
    var random = SeededRandom(seed)
    var model = (0..<Int64(random.below(5000))).map { $0 * 3 }
    var keys = OrderedKeys(model)
    for _ in 0..<300 {
      if random.chance(50) {
        let key = Int64(random.below(20_000))
        let place = keys.place { $0 < key }
        let at = model.firstIndex { $0 >= key } ?? model.count
        #expect(place.position == at)
        #expect(keys[place] == (at < model.count ? model[at] : nil))
        if at == model.count || model[at] != key {
          keys.insert(key, at: place)
          model.insert(key, at: at)
        }
      } else if !model.isEmpty {
        let positions = Set((0..<random.below(4)).map { _ in random.below(model.count) }).sorted()
        keys.remove(atPositions: positions)
        for position in positions.reversed() { model.remove(at: position) }
      }
      #expect(keys.count == model.count)
    }
    #expect(keys.array == model)
    keys.remove(atPositions: Array(model.indices))
    #expect(keys.array.isEmpty && keys.count == 0)
  }
}

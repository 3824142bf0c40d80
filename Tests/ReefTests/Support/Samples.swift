import Foundation
import Reef

/// A store in memory with random objects, some changed and deleted after they were inserted, and the same as an array.
struct Samples {
  let store: Store
  /// In the order of keys.
  var objects: [Everything]

  init(_ seed: UInt64, count: Int = 900) throws {
    var random = SeededRandom(seed)
    store = try Store(inMemory: freshName(), models: Everything.self)
    var all: [Int: Everything] = [:]
    // Dense and sparse keys, negative ones too
    let keys = (0..<count).map { random.chance(50) ? $0 : random.below(100_000) - 50_000 }
    try store.write { transaction in
      for key in Set(keys).sorted() {
        let object = Everything.random(id: key, &random)
        all[key] = object
        try transaction.insert(object)
      }
    }
    try store.write { transaction in
      for key in all.keys.sorted() where random.chance(10) {
        if random.chance(50) {
          all[key] = nil
          try transaction.delete(Everything.self, key: key)
        } else {
          let object = Everything.random(id: key, &random)
          all[key] = object
          try transaction.upsert(object)
        }
      }
    }
    objects = all.values.sorted { $0.id < $1.id }
  }
}

/// Text order and equality as the store has it: by Unicode scalars, which is the order of UTF-8 bytes.
extension String {
  func scalarsPrecede(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
  func scalarsEqual(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }
  func scalarsContain(_ other: String) -> Bool {
    let (bytes, part) = (Array(utf8), Array(other.utf8))
    guard !part.isEmpty else { return true }
    guard bytes.count >= part.count else { return false }
    return (0...(bytes.count - part.count)).contains { bytes[$0..<($0 + part.count)].elementsEqual(part) }
  }
}

extension UUID {
  var bytes: [UInt8] { withUnsafeBytes(of: uuid) { Array($0) } }
}

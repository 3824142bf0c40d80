import Foundation

/// A generator whose sequence is given by its seed: a failure names the seed, and the seed brings it back.
struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

  mutating func next() -> UInt64 {
    state ^= state &>> 12
    state ^= state &<< 25
    state ^= state &>> 27
    return state &* 0x2545_f491_4f6c_dd1d
  }

  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
  mutating func pick<T>(_ choices: [T]) -> T { choices[below(choices.count)] }
}

/// A name for a store in memory that no other test, and no other run, uses.
func freshName(_ label: String = "test") -> String { "reef-\(label)-\(UUID().uuidString.prefix(13))" }

/// A folder that is removed at the end.
func withFolder<R>(_ body: (String) throws -> R) throws -> R {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("reef-\(UUID().uuidString.prefix(13))")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  return try body(folder.path)
}

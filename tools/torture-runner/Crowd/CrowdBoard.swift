import Foundation
import ReefSystem
import Synchronization

/// What the processes of a crowd share.
final class CrowdBoard: @unchecked Sendable {
  enum Word: Int {
    /// How far the crowd may go, how many have come so far.
    case stage, arrived
    /// How many got what they wanted, and how many were refused, with a typed error.
    case done, refused
    /// Commits that were promised.
    case acknowledged
  }
  private let memory: UnsafeMutableRawPointer
  private static let text = 256
  private static let size = 4096

  init() throws {
    guard let memory = mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
      memory != MAP_FAILED
    else { throw TortureError("no memory") }
    self.memory = memory
  }
  deinit { munmap(memory, Self.size) }

  private func atomic(_ word: Word) -> UnsafeMutablePointer<Atomic<UInt64>> {
    (memory + word.rawValue * 8).assumingMemoryBound(to: Atomic<UInt64>.self)
  }
  subscript(word: Word) -> UInt64 {
    get { atomic(word).pointee.load(ordering: .acquiring) }
    set { atomic(word).pointee.store(newValue, ordering: .releasing) }
  }
  func add(_ word: Word, _ count: UInt64 = 1) {
    atomic(word).pointee.wrappingAdd(count, ordering: .sequentiallyConsistent)
  }

  /// Says that one more is there, and waits until all may go on.
  func arrive(_ stage: UInt64) {
    add(.arrived)
    wait(stage)
  }
  func wait(_ stage: UInt64) {
    // Asleep: a thousand that look again and again would have the processors for themselves.
    while true {
      let now = self[.stage]
      if now >= stage { return }
      _ = Futex.wait(memory, while: UInt32(truncatingIfNeeded: now), until: .after(.seconds(1)))
    }
  }
  func advance(to stage: UInt64) {
    self[.stage] = stage
    Futex.wake(memory)
  }

  /// What went wrong; the first one counts.
  var problem: String {
    get { String(cString: (memory + Self.text).assumingMemoryBound(to: CChar.self)) }
    set {
      if !problem.isEmpty { return }
      let bytes = Array(newValue.utf8.prefix(Self.size - Self.text - 1))
      bytes.withUnsafeBytes { if let base = $0.baseAddress { memcpy(memory + Self.text, base, $0.count) } }
    }
  }
}

import Foundation
import Synchronization

/// What the processes of one death share; no store lies in it, so nothing in it is stepped.
final class StepBoard: @unchecked Sendable {
  enum Word: Int, CaseIterable {
    /// The number in all rows before the act, the one that its commit is to bring, and the last one that was promised.
    case base, tried, acknowledged
    /// 1: the survivor has the store open; 2: it is its turn, 3: it has examined; 4: it may leave.
    case survivor
    /// Stores that an act which nothing stopped had.
    case stores
    /// Nanoseconds of the slowest thing that an examiner waited for.
    case slowest
    /// What the survivor's sleeper was told.
    case told
  }
  private let memory: UnsafeMutableRawPointer
  private static let text = 1024
  private static let size = 8192

  init() throws {
    guard let memory = mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
      memory != MAP_FAILED
    else { throw TortureError("no memory") }
    self.memory = memory
  }

  subscript(word: Word) -> UInt64 {
    get { atomic(word).pointee.load(ordering: .acquiring) }
    set { atomic(word).pointee.store(newValue, ordering: .releasing) }
  }
  private func atomic(_ word: Word) -> UnsafeMutablePointer<Atomic<UInt64>> {
    (memory + word.rawValue * 8).assumingMemoryBound(to: Atomic<UInt64>.self)
  }

  func clear() { memset(memory, 0, Self.size) }

  func slow(_ since: UInt64) { self[.slowest] = max(self[.slowest], Board.now - since) }

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

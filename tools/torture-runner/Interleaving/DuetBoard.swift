import CStepper
import Foundation
import Synchronization

/// What the two players of a duet and their conductor share: whose turn it is, and what happened.
final class DuetBoard: @unchecked Sendable {
  enum Word: Int {
    /// A version, and the number in its rows: each commit adds one to both. Version 0: not known.
    case baseVersion, base
    /// Commits that have returned, and the newest version of these.
    case commits, acknowledged
    /// How far each player is: 1 prepared, 2 may leave, 3 has looked once more, 4 may end.
    case firstStage, secondStage
    /// Reader slot of each player + 1.
    case firstSlot, secondSlot
    /// Times that a player had to sleep though what it waited for was there.
    case unwoken
  }
  let turns: UnsafeMutablePointer<turns_board>
  private let words: UnsafeMutablePointer<UInt64>
  private static let size = 4096

  init() throws {
    guard let memory = mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
      memory != MAP_FAILED
    else { throw TortureError("no memory") }
    turns = memory.assumingMemoryBound(to: turns_board.self)
    words = (memory + 1024).assumingMemoryBound(to: UInt64.self)
  }

  func clear() { memset(turns, 0, Self.size) }

  private func atomic(_ word: Word) -> UnsafeMutablePointer<Atomic<UInt64>> {
    UnsafeMutableRawPointer(words + word.rawValue).assumingMemoryBound(to: Atomic<UInt64>.self)
  }
  subscript(word: Word) -> UInt64 {
    get { atomic(word).pointee.load(ordering: .sequentiallyConsistent) }
    set { atomic(word).pointee.store(newValue, ordering: .sequentiallyConsistent) }
  }

  /// The number that the rows of a version say; nil where that is not known.
  func expected(_ version: UInt64) -> Int64? {
    self[.baseVersion] == 0 ? nil : Int64(self[.base]) + Int64(version) - Int64(self[.baseVersion])
  }

  func committed(_ version: UInt64) {
    atomic(.commits).pointee.add(1, ordering: .sequentiallyConsistent)
    atomic(.acknowledged).pointee.max(version, ordering: .sequentiallyConsistent)
  }
}

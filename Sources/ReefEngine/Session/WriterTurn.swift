import ReefSystem
import Synchronization

/// Writers that commit without a pause take turns, instead of changing places after each commit.
///
/// A commit of a third of a microsecond costs four times as much on another processor than the last one, since what it
/// changes has to come over from that one's cache. So a process that has just made many commits in a row, and finds the
/// word taken, stays away from it for a while: meanwhile its successor writes undisturbed, on warm memory. It takes no part
/// in what makes the word safe, only in when somebody asks for it. Whoever commits now and then never rests.
@usableFromInline final class WriterTurn: Sendable {
  /// For each writer of the crowd: the more of them, the longer each stays away, so that turns keep their length.
  static let rest: UInt64 = 50_000
  static let longestRest: UInt64 = 500_000
  /// Whoever commits less often than this, for each writer of the crowd, never rests.
  static let longestCommit: UInt64 = 10_000
  /// After so many turns the crowd is counted afresh.
  private static let window = 16

  /// Commits of this process; written by the owner of the word only.
  @usableFromInline let commits = Atomic<UInt64>(0)
  private let history = Mutex(History())

  private struct History {
    var commits: UInt64 = 0
    var restedUntil: UInt64 = 0
    var owners = Set<Int>()
    var turns = 0
    var crowd: UInt64 = 2
  }

  @usableFromInline init() {}

  @inlinable @inline(__always)
  func count() { commits.store(commits.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }

  /// Called when `owner` is found to have the word.
  func rest(_ owner: Int?, _ deadline: Deadline) {
    let now = Clock.monotonic
    let total = commits.load(ordering: .relaxed)
    let until = history.withLock { history -> UInt64? in
      let made = total &- history.commits
      let took = now &- history.restedUntil
      history.commits = total
      history.restedUntil = now
      if let owner { history.owners.insert(owner) }
      history.turns += 1
      if history.turns == WriterTurn.window {
        history.crowd = UInt64(history.owners.count)
        history.owners.removeAll(keepingCapacity: true)
        history.turns = 0
      }
      let crowd = max(history.crowd, 1)
      guard made > 1, took / made < WriterTurn.longestCommit &* crowd else { return nil }
      history.restedUntil &+= min(WriterTurn.rest &* crowd, WriterTurn.longestRest)
      return history.restedUntil
    }
    guard let until else { return }
    var nothing: UInt32 = 0
    withUnsafeMutableBytes(of: &nothing) { word in
      guard let word = word.baseAddress else { return }
      _ = Futex.wait(word, while: 0, until: min(Deadline(nanoseconds: until), deadline))
    }
  }
}

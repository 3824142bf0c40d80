import Synchronization

/// What happened to a result between two looks at it.
///
/// `deletions` and `modifications` are positions in the result as it was, `insertions` in the result as it is, all
/// ascending. Replaying them on an array of keys keeps it equal to the result:
///
/// ```swift
/// for position in changes.deletions.reversed() { keys.remove(at: position) }
/// for position in changes.insertions { keys.insert(changes.results[position].id, at: position) }
/// ```
///
/// An object whose place in the order changed is a deletion and an insertion. Nothing unchanged is listed; an object
/// deleted and made again under its key in between is one modification, if anything differs.
public struct Changes<M: Model>: Sendable {
  /// The first event of an observation: everything is an insertion.
  public let isInitial: Bool
  /// The version that the result is at now.
  public let snapshot: Snapshot
  /// The result in that version.
  public let results: Results<M>
  /// Positions in the earlier result of objects that are no longer in it, or no longer there in the order.
  public let deletions: [Int]
  /// Positions in `results` of objects that are new in it, or new there in the order.
  public let insertions: [Int]
  /// Positions in the earlier result of objects that stayed and have other values now.
  public let modifications: [Int]
}

/// Keeps an observation going: it ends when this is cancelled or let go.
public final class ObservationToken: Sendable {
  private let task = Mutex<Task<Void, Never>?>(nil)

  func run(_ body: @escaping @Sendable () async -> Void) { task.withLock { $0 = Task { await body() } } }

  deinit { cancel() }

  /// Ends the observation: no call begins after this returned, except one that is about to begin on another thread.
  public func cancel() { task.withLock { $0 }?.cancel() }

  /// Whether ``cancel()`` was called.
  public var isCancelled: Bool { task.withLock { $0 }?.isCancelled ?? false }
}

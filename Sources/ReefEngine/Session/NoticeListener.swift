import Glibc
import ReefSystem
import Synchronization

/// The one thread of a process that sleeps until something is published and resumes every task that waits to hear of it.
/// It starts with the first stream and ends with the last.
///
/// The thread itself resumes the tasks: whatever it does beyond that is between a commit and those who wait for it.
package final class NoticeListener: @unchecked Sendable {
  /// One that listens: at most one task waits in it at a time. It is forgotten when its `NoticeTicks` goes.
  fileprivate final class Stream: @unchecked Sendable {
    // Everything is guarded by the listener's mutex.
    var waiting: UnsafeContinuation<UInt64?, Never>?
    /// The version that the waiting task has seen.
    var after: UInt64 = 0
    var isCancelled = false

    /// Whoever waits, if it is to be resumed.
    func taken() -> UnsafeContinuation<UInt64?, Never>? {
      defer { waiting = nil }
      return waiting
    }
  }
  private struct State {
    // A list, for it is short; and nothing in it is hashed while somebody waits.
    var streams: [Stream] = []
    var thread: SystemThread?
    /// Raised to stop the running thread.
    var epoch: UInt64 = 0
    var closed = false
  }
  private let state = Mutex(State())
  private let notice: NoticeWord
  /// The mapping the notice word lies in: a thread that ends late still looks at it.
  private let mapping: LockFile
  /// The epoch of the thread that ended last.
  private let ended = Atomic<UInt64>(0)

  init(notice: NoticeWord, keeping mapping: LockFile) {
    self.notice = notice
    self.mapping = mapping
  }

  /// Something to wait in for new versions, again and again.
  func ticks() throws(StoreError) -> NoticeTicks {
    let stream = Stream()
    do {
      try state.withLock { state throws(SystemError) in
        if state.closed { return }
        if state.thread == nil {
          state.epoch += 1
          let epoch = state.epoch
          state.thread = try SystemThread(name: "reef-notice") { [self] in run(epoch) }
        }
        state.streams.append(stream)
      }
    } catch {
      throw StoreError(error, path: "")
    }
    return NoticeTicks(stream, of: self)
  }

  /// The newest version once it is beyond `after`; nil when the store is closed or the task cancelled.
  fileprivate func wait(_ stream: Stream, after: UInt64) async -> UInt64? {
    if Task.isCancelled { return nil }
    let newest = notice.newest
    if newest > after, !state.withLock({ $0.closed }) { return newest }
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let isWaiting = state.withLock { state in
          if state.closed || stream.isCancelled || stream.waiting != nil { return false }
          stream.after = after
          stream.waiting = continuation
          return true
        }
        guard isWaiting else { return continuation.resume(returning: nil) }
        // Registered first, compared second: what was published in between is told by one of the two.
        let newest = notice.newest
        if newest > after { state.withLock { _ in stream.taken() }?.resume(returning: newest) }
      }
    } onCancel: {
      let waiting = state.withLock { _ in
        stream.isCancelled = true
        return stream.taken()
      }
      waiting?.resume(returning: nil)
    }
  }

  fileprivate func remove(_ stream: Stream) {
    let idle = state.withLock { state -> SystemThread? in
      state.streams.removeAll { $0 === stream }
      guard state.streams.isEmpty, let thread = state.thread else { return nil }
      state.epoch += 1
      state.thread = nil
      return thread
    }
    guard let idle else { return }
    notice.nudgeOwn()
    idle.detach()
  }

  private func run(_ epoch: UInt64) {
    var last = notice.newest
    // What was published before the thread ran is told by `wait` itself; from here on by this loop.
    deliver(last, epoch)
    let stopped = { [self] in state.withLock { $0.epoch != epoch } }
    while let version = notice.wait(after: last, until: .never, spin: .zero, stop: stopped) {
      last = version
      deliver(version, epoch)
    }
    _ = ended.max(epoch, ordering: .acquiringAndReleasing)
  }

  private func deliver(_ version: UInt64, _ epoch: UInt64) {
    // As many at a time as need no list.
    while let (one, other) = next(version, epoch) {
      one.resume(returning: version)
      guard let other else { return }
      other.resume(returning: version)
    }
  }

  private typealias Waiting = UnsafeContinuation<UInt64?, Never>

  /// Two that wait for `version`; nil: nobody does.
  private func next(_ version: UInt64, _ epoch: UInt64) -> (Waiting, Waiting?)? {
    state.withLock { state in
      guard state.epoch == epoch else { return nil }
      var first: Waiting?
      for stream in state.streams where stream.waiting != nil && stream.after < version {
        guard let one = first else {
          first = stream.taken()
          continue
        }
        return (one, stream.taken())
      }
      return first.map { ($0, nil) }
    }
  }

  /// Ends every wait, and the thread.
  func close() {
    let (streams, thread) = state.withLock { state in
      let all = (state.streams, state.thread.map { ($0, state.epoch) })
      state.streams = []
      state.thread = nil
      state.epoch += 1
      state.closed = true
      return all
    }
    for stream in streams { state.withLock { _ in stream.taken() }?.resume(returning: nil) }
    guard let (thread, epoch) = thread else { return }
    // It may be about to sleep just now: nudged until it is gone.
    while ended.load(ordering: .acquiring) < epoch {
      notice.nudgeOwn()
      usleep(100)
    }
    thread.join()
  }
}

/// Wakes a task up for new versions, one wait at a time.
package final class NoticeTicks: Sendable {
  private let stream: NoticeListener.Stream
  private let listener: NoticeListener

  fileprivate init(_ stream: NoticeListener.Stream, of listener: NoticeListener) {
    self.stream = stream
    self.listener = listener
  }

  deinit { listener.remove(stream) }

  /// The newest version once it is beyond `after`; nil when the store is closed or the task cancelled, and from then on.
  package func wait(after version: UInt64) async -> UInt64? { await listener.wait(stream, after: version) }
}

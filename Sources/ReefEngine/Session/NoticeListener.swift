import Glibc
import ReefSystem
import Synchronization

/// The one thread of a process that sleeps until something is published and feeds every stream that wants to hear of it.
/// It starts with the first stream and ends with the last.
package final class NoticeListener: @unchecked Sendable {
  private struct Stream {
    let continuation: AsyncStream<UInt64>.Continuation
    /// The version it heard of last.
    var last: UInt64

    mutating func tell(_ version: UInt64) {
      guard version > last else { return }
      last = version
      continuation.yield(version)
    }
  }
  private struct State {
    var streams: [UInt64: Stream] = [:]
    var next: UInt64 = 0
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

  /// The newest version, each time it moved beyond `after`; coalesced for a consumer that is slower. Ends when the store
  /// is closed.
  func ticks(after: UInt64) throws(StoreError) -> AsyncStream<UInt64> {
    let (stream, continuation) = AsyncStream.makeStream(of: UInt64.self, bufferingPolicy: .bufferingNewest(1))
    let id = try add(Stream(continuation: continuation, last: after))
    guard let id else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in self?.remove(id) }
    // Registered first, compared second: what was published in between is told by one of the two.
    state.withLock { $0.streams[id]?.tell(notice.newest) }
    return stream
  }

  private func add(_ stream: Stream) throws(StoreError) -> UInt64? {
    do {
      return try state.withLock { state throws(SystemError) -> UInt64? in
        if state.closed { return nil }
        if state.thread == nil {
          state.epoch += 1
          let epoch = state.epoch
          state.thread = try SystemThread(name: "reef-notice") { [self] in run(epoch) }
        }
        state.next += 1
        state.streams[state.next] = stream
        return state.next
      }
    } catch {
      throw StoreError(error, path: "")
    }
  }

  private func remove(_ id: UInt64) {
    let idle = state.withLock { state -> SystemThread? in
      state.streams[id] = nil
      guard state.streams.isEmpty, let thread = state.thread else { return nil }
      state.epoch += 1
      state.thread = nil
      return thread
    }
    if let idle { end(idle) }
  }

  private func end(_ thread: SystemThread) {
    notice.nudgeOwn()
    thread.detach()
  }

  private func run(_ epoch: UInt64) {
    var last = notice.newest
    // What was published before the thread ran is told by `ticks` itself; from here on by this loop.
    deliver(last, epoch)
    let stopped = { [self] in state.withLock { $0.epoch != epoch } }
    while let version = notice.wait(after: last, until: .never, spin: .zero, stop: stopped) {
      last = version
      deliver(version, epoch)
    }
    _ = ended.max(epoch, ordering: .acquiringAndReleasing)
  }

  private func deliver(_ version: UInt64, _ epoch: UInt64) {
    state.withLock { state in
      guard state.epoch == epoch else { return }
      for id in state.streams.keys { state.streams[id]?.tell(version) }
    }
  }

  /// Ends every stream, and the thread.
  func close() {
    let (streams, thread) = state.withLock { state in
      let all = (Array(state.streams.values), state.thread.map { ($0, state.epoch) })
      state.streams = [:]
      state.thread = nil
      state.epoch += 1
      state.closed = true
      return all
    }
    for stream in streams { stream.continuation.finish() }
    guard let (thread, epoch) = thread else { return }
    // It may be about to sleep just now: nudged until it is gone.
    while ended.load(ordering: .acquiring) < epoch {
      notice.nudgeOwn()
      usleep(100)
    }
    thread.join()
  }
}

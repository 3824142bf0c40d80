import ReefSystem
import Synchronization

/// The fair queue of one process's own threads in front of a word between processes: one stands at the head, the others
/// sleep each on a word of its own, first come, first served.
final class ThreadQueue: Sendable {
  private final class Waiter: @unchecked Sendable {
    let park = UnsafeMutablePointer<Atomic<UInt32>>.allocate(capacity: 1)
    init() { park.initialize(to: Atomic(0)) }
    deinit {
      park.deinitialize(count: 1)
      park.deallocate()
    }
  }
  private struct State {
    var headTaken = false
    var waiting: [Waiter] = []
  }
  private let state = Mutex(State())

  /// Whether any thread is at the head.
  var isTaken: Bool { state.withLock { $0.headTaken } }

  /// Becomes the head, waiting up to `deadline`.
  func enter(_ deadline: Deadline) -> Bool {
    let waiter = state.withLock { state -> Waiter? in
      if !state.headTaken {
        state.headTaken = true
        return nil
      }
      let waiter = Waiter()
      state.waiting.append(waiter)
      return waiter
    }
    guard let waiter else { return true }
    while waiter.park.pointee.load(ordering: .acquiring) == 0 {
      if Futex.wait(UnsafeMutableRawPointer(waiter.park), while: 0, until: deadline) == .timedOut {
        // Whether the turn came meanwhile is decided under the lock.
        let removed = state.withLock { state -> Bool in
          guard let index = state.waiting.firstIndex(where: { $0 === waiter }) else { return false }
          state.waiting.remove(at: index)
          return true
        }
        return !removed
      }
    }
    return true
  }

  /// Lets the next thread be the head.
  func leave() {
    let next = state.withLock { state -> Waiter? in
      if state.waiting.isEmpty {
        state.headTaken = false
        return nil
      }
      return state.waiting.removeFirst()
    }
    guard let next else { return }
    next.park.pointee.store(1, ordering: .releasing)
    Futex.wake(UnsafeMutableRawPointer(next.park), count: 1)
  }
}

import CReefSystem

/// epoll and timerfd: what makes a descriptor for somebody else's event loop.
package enum EventQueue {
  package static func make() throws(SystemError) -> Int32 {
    Int32(try systemCall("epoll_create1") { reef_epoll_create() })
  }

  package static func add(_ descriptor: Int32, to queue: Int32, edgeTriggered: Bool) throws(SystemError) {
    try systemCall("epoll_ctl") { reef_epoll_add(queue, descriptor, edgeTriggered) }
  }

  /// Waits up to `milliseconds` (−1: for ever) and takes what is pending. Returns how many descriptors had something.
  @discardableResult
  package static func wait(_ queue: Int32, milliseconds: Int32) throws(SystemError) -> Int {
    try systemCall("epoll_wait") { reef_epoll_wait(queue, milliseconds) }
  }

  /// A descriptor that becomes readable every `interval`.
  package static func makeTimer(every interval: Duration) throws(SystemError) -> Int32 {
    let (seconds, attoseconds) = interval.components
    let nanoseconds = UInt64(max(0, seconds)) &* 1_000_000_000 &+ UInt64(max(0, attoseconds) / 1_000_000_000)
    return Int32(try systemCall("timerfd_create") { reef_timer_create(max(1, nanoseconds)) })
  }
}

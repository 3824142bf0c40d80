import CReefSystem
import Glibc

/// Sleeping on a 32-bit word that several processes map. Never private, always with a mask, always with a bound.
package enum Futex {
  package enum Outcome { case woken, changed, timedOut }

  package static let everyone = UInt32.max

  /// Sleeps while the word at `address` is `expected`. A signal counts as a wake-up: every caller looks again anyway.
  package static func wait(
    _ address: UnsafeMutableRawPointer, while expected: UInt32, until deadline: Deadline, mask: UInt32 = everyone
  ) -> Outcome {
    switch -reef_futex_wait(address, expected, deadline.nanoseconds, mask) {
    case Int(ETIMEDOUT): .timedOut
    case Int(EAGAIN): .changed
    default: .woken
    }
  }

  /// Wakes up to `count` sleepers whose mask meets `mask`. Returns how many.
  @discardableResult
  package static func wake(_ address: UnsafeMutableRawPointer, count: Int32 = .max, mask: UInt32 = everyone) -> Int {
    max(0, reef_futex_wake(address, count, mask))
  }

  @inline(__always)
  package static func pause() { reef_pause() }
}

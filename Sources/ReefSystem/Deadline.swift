import CReefSystem

/// A point on the monotonic clock up to which a caller is ready to wait.
@usableFromInline package struct Deadline: Sendable, Equatable, Comparable {
  /// Nanoseconds of CLOCK_MONOTONIC; `UInt64.max`: no limit.
  @usableFromInline package let nanoseconds: UInt64

  @inlinable
  package init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  @inlinable package static var never: Deadline { Deadline(nanoseconds: .max) }
  /// Passed already: try once, never wait.
  package static let now = Deadline(nanoseconds: 0)

  package static func after(_ duration: Duration, from now: UInt64 = Clock.monotonic) -> Deadline {
    let (seconds, attoseconds) = duration.components
    if seconds < 0 || attoseconds < 0 { return .now }
    if seconds > 1 << 32 { return .never }
    return Deadline(
      nanoseconds: now &+ UInt64(seconds) &* 1_000_000_000 &+ UInt64(attoseconds / 1_000_000_000))
  }

  package static func after(nanoseconds: UInt64) -> Deadline {
    Deadline(nanoseconds: Clock.monotonic &+ nanoseconds)
  }

  package var isPast: Bool { nanoseconds == 0 || (nanoseconds != .max && isPast(at: Clock.monotonic)) }
  package func isPast(at now: UInt64) -> Bool { nanoseconds != .max && now >= nanoseconds }

  @inlinable
  package static func < (left: Deadline, right: Deadline) -> Bool { left.nanoseconds < right.nanoseconds }
}

/// The two clocks in use. Nothing that decides about correctness reads either.
package enum Clock {
  /// Nanoseconds since some fixed moment of this boot.
  package static var monotonic: UInt64 { reef_monotonic() }
  /// Nanoseconds since 1970.
  package static var realtime: UInt64 { reef_realtime() }
  /// The same as the last tick of the kernel had it, a few milliseconds ago at most: a fifth of the price.
  package static var recently: UInt64 { reef_realtime_coarse() }
  /// Before looking again what others have done.
  package static func sleep(microseconds: UInt32) { reef_sleep(microseconds) }
}

import ReefSystem
import Synchronization

/// The newest visible version, and how to sleep until it moves. `visible` is version << 1 | somebody sleeps; its low half
/// is the futex. `told` is the newest version whose sleepers were surely woken.
///
/// There is no count of sleepers: a killed one costs one spare wake-up. A writer that died between publishing and waking
/// left `told` behind, so the next commit wakes for it.
package final class NoticeWord: @unchecked Sendable {
  /// The longest sleep without a look, for the case that a wake-up owed by a dead writer finds no later commit.
  static let bound: UInt64 = 200_000_000

  @usableFromInline let visible: UnsafeMutablePointer<Atomic<UInt64>>
  @usableFromInline let told: UnsafeMutablePointer<Atomic<UInt64>>
  private let mask: UInt32
  private let pace = WaitPace()

  init(lock: LockMemory, me: PeerIdentity) {
    visible = lock.atomic(LockLayout.Control.visible)
    told = lock.atomic(LockLayout.Control.told)
    mask = 1 << UInt32(me.index % 31)
  }

  /// The newest version readers may pin.
  @inlinable @inline(__always)
  package var newest: UInt64 { visible.pointee.load(ordering: .acquiring) >> 1 }

  /// Makes `version` visible; under the writer word, after its ring entry. True: sleepers must be woken.
  @inlinable @inline(__always)
  package func publish(_ version: UInt64) -> Bool {
    let old = visible.pointee.exchange(version << 1, ordering: .sequentiallyConsistent)
    LockMemory.fenceAfterExchange()
    if Mutant.lives(.publishWakesNobody) { return false }
    if old & 1 != 0 || told.pointee.load(ordering: .relaxed) < old >> 1 { return true }
    // Nobody sleeps, and nobody was owed a wake-up before: nothing is left to do for this version.
    told.pointee.store(version, ordering: .relaxed)
    return false
  }

  /// Wakes everyone that sleeps, for `version` and all before.
  package func wakeAll(_ version: UInt64) {
    Futex.wake(UnsafeMutableRawPointer(visible))
    var old = told.pointee.load(ordering: .relaxed)
    while old < version {
      let (exchanged, original) = told.pointee.compareExchange(
        expected: old, desired: version, ordering: .acquiringAndReleasing)
      if exchanged { return }
      old = original
    }
  }

  /// Wakes the sleepers of this process (and perhaps a few others), so that they look whether they shall stop.
  package func nudgeOwn() { Futex.wake(UnsafeMutableRawPointer(visible), mask: mask) }

  /// Sleeps until a version newer than `after` is visible: that version, or nil at the deadline or once `stop` says so.
  ///
  /// `spin` is how long to stay awake first; nil: as long as it has been worth it of late (`WaitPace`). A wait that was
  /// woken reads one word and returns: no clock, no second system call.
  package func wait(
    after: UInt64, until deadline: Deadline, spin: Duration? = nil, stop: () -> Bool = { false }
  ) -> UInt64? {
    if newest > after { return newest }
    var now = Clock.monotonic
    if let version = spinning(after, now, spin, deadline) { return version }
    while true {
      let word = visible.pointee.load(ordering: .acquiring)
      if word >> 1 > after { return word >> 1 }
      if stop() { return nil }
      if word & 1 == 0,
        !visible.pointee.compareExchange(expected: word, desired: word | 1, ordering: .sequentiallyConsistent).exchanged
      {
        continue
      }
      let bound = Deadline(nanoseconds: now &+ NoticeWord.bound)
      let asleep = UInt32(truncatingIfNeeded: word | 1)
      let outcome = Futex.wait(
        UnsafeMutableRawPointer(visible), while: asleep, until: min(bound, deadline), mask: mask)
      if case .woken = outcome, newest > after { return newest }
      now = Clock.monotonic
      if case .timedOut = outcome, deadline.isPast(at: now) {
        return newest > after ? newest : nil
      }
    }
  }

  private func spinning(_ after: UInt64, _ start: UInt64, _ spin: Duration?, _ deadline: Deadline) -> UInt64? {
    let wanted = spin.map { Deadline.after($0, from: start).nanoseconds } ?? start &+ pace.begin(start)
    let end = min(wanted, deadline.nanoseconds)
    guard end > start else { return nil }
    repeat {
      for _ in 0..<16 {
        if newest > after { return newest }
        Futex.pause()
      }
    } while Clock.monotonic < end
    if spin == nil { pace.sleeps() }
    return nil
  }
}

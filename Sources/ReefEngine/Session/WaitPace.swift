import ReefSystem
import Synchronization

/// Whether a wait is worth spinning for: only where waits of this process have been short of late, and where another
/// processor can do what is waited for.
///
/// What it costs: nothing while commits come seldom, or never. Where they came every few microseconds and then cease, one
/// `spin` of processor time; after that, none before ten short waits in a row.
final class WaitPace: Sendable {
  /// How long a wait stays awake, in nanoseconds: about what sleeping and being woken costs the two processes.
  static let spin: UInt64 = 20_000
  private static let short: UInt64 = 10_000
  private static let long: UInt64 = 200_000

  /// When the last wait began, and how far apart waits have begun of late. Races between threads cost a spin too many.
  private let last = Atomic<UInt64>(0)
  private let usual = Atomic<UInt64>(WaitPace.long)
  private let maySpin: Bool

  init(maySpin: Bool = HostIdentity.allowedProcessors > 1) { self.maySpin = maySpin }

  /// A wait begins at `now`: how long it may spin. The clock is read before sleeping only, never after waking.
  func begin(_ now: UInt64) -> UInt64 {
    guard maySpin else { return 0 }
    let before = last.exchange(now, ordering: .relaxed)
    let gap = min(now &- before, WaitPace.long)
    let mean = (usual.load(ordering: .relaxed) &* 3 &+ gap) / 4
    usual.store(mean, ordering: .relaxed)
    return mean < WaitPace.short ? WaitPace.spin : 0
  }

  /// The wait spun in vain.
  func sleeps() { usual.store(WaitPace.long, ordering: .relaxed) }
}

import CStepper
import ReefEngine

/// Two acts, and the world in which they meet.
struct Duet: Sendable {
  enum Predecessor {
    case none
    /// Somebody dies with pins; somewhere in a commit; or, before anybody comes, with a store that nobody closed.
    case withPins, inCommit, before
  }
  let first: DuetAct
  let second: DuetAct
  var suffix = ""
  /// Whether loads of the lock file are points as well.
  var loads = false
  /// Durable, in a folder whose syncs count; and whether commits are on disk when they return.
  var onDisk = false
  var isFull = false
  var isInMemory = false
  var revokes = false
  /// Whether there is a store before anybody comes.
  var hasStore = true
  /// Whether somebody else has it open all the while, and holds a version.
  var hasWitness = false
  var predecessor = Predecessor.none
  /// Which of the two is worth cutting first; nil: the shorter one.
  var cut: Int?
  /// How many schedules for one of most others'.
  var weight = 1.0

  /// Where turns may change: what lies behind the ring of versions, and the allocator's words, nobody looks at but the owner
  /// of the writer word. A store there is one with the next that others can see.
  var places: turns_places {
    turns_places(
      data_length: Player.reserve, lock_length: LockLayout.touchedOffset, quiet: LockLayout.Control.extentCount,
      quiet_end: LockLayout.Peer.table, loads: loads)
  }

  var name: String { "\(first.name) / \(second.name)\(suffix)" }

  static let all: [Duet] = [
    // Readers
    Duet(first: .read, second: .commit(), loads: true),
    Duet(first: .read, second: .commit(3, churn: 40), loads: true, weight: 4),
    Duet(first: .linger, second: .commit(3, churn: 40), loads: true, weight: 4),
    Duet(first: .follow, second: .commit(12, churn: 40)),
    Duet(first: .read, second: .wrap, loads: true, weight: 0.5),
    Duet(first: .claim(frees: false), second: .claim(frees: false), loads: true, weight: 6),
    Duet(first: .claim(frees: true), second: .claim(frees: true), loads: true, predecessor: .withPins, weight: 6),
    Duet(first: .claim(frees: true), second: .commit(3, churn: 40), predecessor: .withPins),
    Duet(first: .revocable, second: .commit(6, churn: 40), revokes: true, weight: 6),
    // Notices
    Duet(first: .wait, second: .commit(), loads: true),
    Duet(first: .wait, second: .commit(2), suffix: ", stores only"),
    Duet(first: .listen, second: .commit(), loads: true),
    // The writer word
    Duet(first: .commit(), second: .commit(), loads: true),
    Duet(first: .commit(2), second: .rollback, hasWitness: true),
    Duet(first: .commit(3, churn: 40), second: .commit(3, churn: 40), hasWitness: true),
    Duet(first: .commit(), second: .commit(), suffix: ", one died", loads: true, predecessor: .inCommit),
    Duet(first: .read, second: .commit(), suffix: ", one died", predecessor: .inCommit),
    Duet(first: .wait, second: .commit(), suffix: ", one died", predecessor: .inCommit),
    // Sessions
    Duet(first: .open(peers: 3), second: .open(peers: 3), suffix: ", others there", hasWitness: true),
    Duet(first: .leave, second: .open(peers: 2), suffix: ", others there", hasWitness: true),
    Duet(first: .leave, second: .open(peers: 1)),
    Duet(first: .leave, second: .leave),
    Duet(first: .open(peers: 2), second: .open(peers: 2)),
    Duet(first: .open(peers: 2), second: .open(peers: 2), suffix: ", one died", predecessor: .before),
    Duet(first: .open(peers: 2), second: .open(peers: 2), suffix: ", new", hasStore: false),
    Duet(first: .leave, second: .open(peers: 1), suffix: ", memory", isInMemory: true, hasStore: false),
    Duet(first: .leave, second: .leave, suffix: ", memory", isInMemory: true, hasStore: false),
    // On a disk
    Duet(first: .commit(2), second: .commit(2), suffix: ", full", onDisk: true, isFull: true),
    Duet(first: .commit(2), second: .rollback, suffix: ", full", onDisk: true, isFull: true, cut: 0, weight: 3),
    Duet(first: .commit(1, churn: 40), second: .peek, suffix: ", full", onDisk: true, isFull: true, cut: 0),
    Duet(first: .read, second: .commit(2), suffix: ", full", loads: true, onDisk: true, isFull: true),
    Duet(first: .wait, second: .commit(), suffix: ", full", onDisk: true, isFull: true),
    Duet(first: .checkpoint, second: .commit(3, churn: 40), onDisk: true),
    Duet(first: .commit(3, churn: 40), second: .commit(2), suffix: ", full", onDisk: true, isFull: true),
  ]
}

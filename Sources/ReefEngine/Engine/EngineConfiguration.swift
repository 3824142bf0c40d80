import ReefSystem

/// What a commit survives.
public enum Durability: Sendable, Hashable {
  /// The death of every process. Nothing is synced until the last one leaves.
  case memory
  /// The death of every process; a power loss falls back to a consistent version at most this much older.
  case relaxed(within: Duration)
  /// A power loss: others see the commit, and the caller returns, once it is on disk.
  case full

  /// `relaxed` within 100 milliseconds.
  public static var relaxed: Durability { .relaxed(within: .milliseconds(100)) }
}

/// How a store is opened, without types.
package struct EngineConfiguration: Sendable {
  package var session: Session.Options
  package var durability: Durability
  package var redo = RedoShape()
  package var retention: Retention?
  /// Whether everything is verified before the store is handed out.
  package var verifiesAll = false
  package var numa: NumaPolicy { session.numa }

  package init(session: Session.Options, durability: Durability = .full) {
    self.session = session
    self.durability = durability
  }
}

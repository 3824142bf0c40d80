import Synchronization

/// Holds a range of versions for one reader that goes from commit to commit: everything from the oldest that is still in
/// use on. What it has passed and nobody uses any more is let go.
final class FollowingPin: Sendable {
  private struct State {
    /// Versions in use, each with how often, and the version that the slot holds from.
    var uses: [UInt64: Int] = [:]
    var from: UInt64
    /// Nothing older will be asked for.
    var reached: UInt64
  }
  private let pin: Pin
  private let engine: Engine
  private let state: Mutex<State>

  init(_ engine: Engine) throws(StoreError) {
    let pin = try engine.pinFollowing()
    self.engine = engine
    state = Mutex(State(from: pin.view.version, reached: pin.view.version))
    self.pin = pin
  }

  /// The version that it began with.
  var first: ReadView { pin.view }

  /// Keeps one version until the hold is let go.
  final class Hold: Sendable {
    private let owner: FollowingPin
    private let version: UInt64

    fileprivate init(_ owner: FollowingPin, _ version: UInt64) {
      self.owner = owner
      self.version = version
    }

    deinit { owner.release(version) }
  }

  func hold(_ version: UInt64) -> Hold {
    state.withLock { $0.uses[version, default: 0] += 1 }
    return Hold(self, version)
  }

  /// The reader went on to `version`.
  func reach(_ version: UInt64) {
    state.withLock { state in
      state.reached = max(state.reached, version)
      move(&state)
    }
  }

  private func release(_ version: UInt64) {
    state.withLock { state in
      let left = (state.uses[version] ?? 1) - 1
      state.uses[version] = left > 0 ? left : nil
      move(&state)
    }
  }

  private func move(_ state: inout State) {
    let oldest = state.uses.keys.reduce(state.reached, min)
    guard oldest > state.from else { return }
    state.from = oldest
    engine.session.slots.follow(from: oldest, in: pin.slot)
  }
}

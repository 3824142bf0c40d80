import Glibc
import ReefSystem

/// The stores this process has open, by device and inode: opening one twice gives the same session. Kernel locks do not
/// tell the threads of a process apart, so this does.
///
/// Everything here is guarded by the fork lock, so that a child never finds it half changed; a child starts with none.
enum SessionRegistry {
  private struct Entry {
    let session: Session
    var uses: Int
  }
  private struct State {
    // Lists, for they are short, and the first use of a `Dictionary` or `Set` of some type takes 50 µs of an open.
    var open: [Entry] = []
    /// Paths that are being opened or left right now.
    var changing: [String] = []
    var generation: UInt64 = 0
    var leavesAtExit = false

    func index(of identity: FileIdentity) -> Int? { open.firstIndex { $0.session.data.identity == identity } }
  }
  nonisolated(unsafe) private static var state = State()

  /// Runs `body` on the state; what a parent left in it dies outside the lock.
  private static func withState<Result>(_ body: (inout State) -> Result) -> Result {
    var inherited: State?
    defer { _ = inherited }
    return ForkGuard.excludingFork {
      if state.generation != ForkGuard.generation {
        inherited = state
        state = State()
        state.generation = ForkGuard.generation
      }
      return body(&state)
    }
  }

  /// Waits until no other thread opens or leaves the store at `path`.
  static func enter(_ path: String, _ timeout: Duration?) throws(StoreError) {
    if take(path) { return }
    let deadline = timeout.map { Deadline.after($0) } ?? .never
    while !take(path) {
      if deadline.isPast { throw .busy(holder: nil) }
      usleep(500)
    }
  }

  private static func take(_ path: String) -> Bool {
    withState { state in
      if state.changing.contains(path) { return false }
      state.changing.append(path)
      return true
    }
  }

  static func exit(_ path: String) { withState { state in state.changing.removeAll { $0 == path } } }

  /// Path of the open store whose data file is mapped there.
  static func path(mappedAt base: UnsafeRawPointer) -> String? {
    withState { state in state.open.first { UnsafeRawPointer($0.session.data.base) == base }?.session.data.path }
  }

  /// The open session of that file, with one more user.
  static func use(_ identity: FileIdentity) -> Session? {
    withState { state in
      guard let index = state.index(of: identity) else { return nil }
      state.open[index].uses += 1
      return state.open[index].session
    }
  }

  /// Enters a new session. Another that is of the same file wins, with one more user: it came in by another path.
  static func add(_ session: Session) -> Session {
    let winner = withState { state -> Session in
      if let index = state.index(of: session.data.identity) {
        state.open[index].uses += 1
        return state.open[index].session
      }
      state.open.append(Entry(session: session, uses: 1))
      return session
    }
    if session.isInMemory { leaveAtExit() }
    return winner
  }

  /// One user less. True: it was the last, and the session is no longer entered.
  static func drop(_ session: Session) -> Bool {
    withState { state in
      guard let index = state.index(of: session.data.identity), state.open[index].session === session else {
        return false
      }
      state.open[index].uses -= 1
      if state.open[index].uses > 0 { return false }
      state.open.remove(at: index)
      return true
    }
  }

  /// A process that ends without closing its in-memory stores still leaves no files behind.
  private static func leaveAtExit() {
    let first = withState { state in
      defer { state.leavesAtExit = true }
      return !state.leavesAtExit
    }
    guard first else { return }
    atexit {
      let sessions = SessionRegistry.withState { state in state.open.map(\.session).filter(\.isInMemory) }
      for session in sessions { session.leaveAtExit() }
    }
  }
}

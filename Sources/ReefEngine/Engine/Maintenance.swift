import ReefSystem
import Synchronization

/// A process's background work: checkpoints within the bound of relaxed commits, and the mark pass after a crash.
///
/// Its thread exists only once there is something to do for it.
final class Maintenance: @unchecked Sendable {
  private struct State {
    var isStopped = false
    var thread: SystemThread?
  }
  private let session: Session
  private let checkpoint: Checkpoint
  private let state = Mutex(State())
  /// Shortest bound asked for, in nanoseconds.
  private let shortest = Atomic<UInt64>(.max)
  /// Futex the thread sleeps on; changed to end it.
  private let signal: UnsafeMutablePointer<Atomic<UInt32>>

  init(session: Session, checkpoint: Checkpoint) {
    self.session = session
    self.checkpoint = checkpoint
    signal = .allocate(capacity: 1)
    signal.initialize(to: Atomic<UInt32>(0))
  }

  deinit { signal.deallocate() }

  /// Called once the store is open: a mark pass that is owed begins.
  func start() {
    let lock = session.lock
    if session.options.readOnly { return }
    // `marking` without a living marker: a pass that was cut off is begun again.
    if lock.word(LockLayout.Control.needsMark) | lock.word(LockLayout.Control.marking) != 0 { run() }
  }

  /// A leak was declared while the store is open, or proving what it holds has become worth while.
  func owe() { run() }

  /// The redo ring is half full: a checkpoint while commits go on.
  func checkpointSoon() {
    if isAsked.exchange(true, ordering: .acquiringAndReleasing) { return }
    wake()
    run()
  }
  private let isAsked = Atomic<Bool>(false)

  /// A relaxed commit was made: it will be on disk within `duration`.
  @inline(__always)
  func bound(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    let nanoseconds = max(
      1_000_000, UInt64(max(0, seconds)) &* 1_000_000_000 &+ UInt64(max(0, attoseconds) / 1_000_000_000))
    if nanoseconds < shortest.load(ordering: .relaxed) {
      shortest.store(nanoseconds, ordering: .relaxed)
      wake()
    }
    run()
  }

  @inline(__always)
  private func run() {
    if isRunning.load(ordering: .relaxed) { return }
    launch()
  }
  private let isRunning = Atomic<Bool>(false)

  @inline(never)
  private func launch() {
    state.withLock { state in
      if state.thread != nil || state.isStopped { return }
      state.thread = try? SystemThread(name: "reef-keeper") { [self] in loop() }
      isRunning.store(state.thread != nil, ordering: .relaxed)
    }
  }

  private func wake() {
    signal.pointee.wrappingAdd(1, ordering: .sequentiallyConsistent)
    Futex.wake(UnsafeMutableRawPointer(signal))
  }

  /// Ends the thread and waits for it. In a child of `fork` there is none to wait for.
  func stop() {
    let thread = state.withLock { state -> SystemThread? in
      state.isStopped = true
      defer { state.thread = nil }
      return state.thread
    }
    guard let thread else { return }
    wake()
    if session.isUsable { thread.join() } else { thread.detach() }
  }

  private var isStopped: Bool { state.withLock { $0.isStopped } || !session.isUsable }

  private func loop() {
    while !isStopped {
      let seen = signal.pointee.load(ordering: .sequentiallyConsistent)
      try? sweepIfOwed()
      if isAsked.load(ordering: .acquiring) {
        try? checkpoint.run()
        isAsked.store(false, ordering: .releasing)
      }
      try? checkpointIfDue()
      proveIfWanted()
      let bound = shortest.load(ordering: .relaxed)
      let pause = bound == .max ? 200_000_000 : max(500_000, bound / 4)
      if isStopped { return }
      _ = Futex.wait(UnsafeMutableRawPointer(signal), while: seen, until: .after(nanoseconds: pause))
    }
  }

  /// Half the bound is left for the sync itself.
  private func checkpointIfDue() throws(StoreError) {
    let lock = session.lock
    let oldest = lock.word(LockLayout.Control.oldestUnsynced)
    let bound = shortest.load(ordering: .relaxed)
    // An attempt that nobody goes on with: its leader died after taking the time of the oldest commit away.
    let isAbandoned = oldest == 0 && lock.word(LockLayout.Control.attempt) != 0
    guard bound != .max, isAbandoned || oldest != 0 && Clock.monotonic &- oldest >= bound / 2 else { return }
    try checkpoint.confirm(lock.loadAcquire(LockLayout.Control.tip))
  }

  /// Once: damage that stands in the way does not go away, and every node is held against its checksum meanwhile.
  private func proveIfWanted() {
    guard let verification = session.verification, verification.isWanted, !hasTriedToProve else { return }
    guard let slot = try? session.claimSlot() else { return }
    defer {
      session.unpin(slot)
      session.returnSlot(slot)
    }
    let pinned = session.pinNewest(slot)
    hasTriedToProve =
      verification.prove(pinned.root, version: pinned.version) { [self] in isStopped } || !isStopped
  }
  /// Of the thread's own.
  @exclusivity(unchecked) private var hasTriedToProve = false

  private let nextSweep = Atomic<UInt64>(0)

  private func sweepIfOwed() throws(StoreError) {
    let lock = session.lock
    guard lock.word(LockLayout.Control.needsMark) != 0 || lock.word(LockLayout.Control.marking) != 0,
      !session.options.readOnly, Clock.monotonic >= nextSweep.load(ordering: .relaxed)
    else { return }
    // A pass that old pins put off, or that meets damage, is not tried again at once.
    nextSweep.store(Clock.monotonic &+ 1_000_000_000, ordering: .relaxed)
    let word = OwnedWord(
      lock: lock, offset: LockLayout.Control.markWord, peers: session.peerTable, me: session.identity)
    guard word.tryAcquire() != nil else { return }
    defer { word.release() }
    var pass = MarkPass(session: session, writer: try Writer(session: session)) { [self] in isStopped }
    _ = try pass.run()
  }
}

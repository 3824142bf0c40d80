import Dispatch
import Glibc
import ReefSystem
import Synchronization

extension Store {
  /// Runs `body` as the one writer, and makes what it did the next version.
  ///
  /// Returns what `body` returns, after the commit. Where `body` throws, nothing is changed and its error comes out. A body
  /// that changes nothing makes no version and wakes nobody. Blocks while another thread or process writes; use the async
  /// form in a task, or ``write(timeout:_:)``.
  ///
  /// ```swift
  /// let count = try store.write { transaction in
  ///   try transaction.insert(Spaceship(id: 1, name: "Rocinante"))
  ///   return transaction.count(of: Spaceship.self)
  /// }
  /// ```
  @discardableResult
  @inlinable public func write<R>(_ body: (Transaction) throws -> R) throws -> R { try run(lend(), body) }

  /// As ``write(_:)-(_)``, but waits at most `timeout` for another writer: then it throws ``StoreError/busy(holder:)``, which
  /// names it.
  @discardableResult
  public func write<R>(timeout: Duration, _ body: (Transaction) throws -> R) throws -> R {
    try run(lend(.after(timeout)), body)
  }

  /// Runs a block with the transaction that was lent to it, which the store keeps alive meanwhile.
  @inlinable func run<R>(_ lent: Unmanaged<Transaction>, _ body: (Transaction) throws -> R) throws -> R {
    enterBlock()
    let result: R
    do {
      result = try lent._withUnsafeGuaranteedRef { try body($0) }
    } catch {
      leaveBlock()
      cancel(lent)
      throw error
    }
    leaveBlock()
    try commit(lent)
    return result
  }

  @usableFromInline func enterBlock() { blockThread.store(UInt(pthread_self()), ordering: .relaxed) }
  @usableFromInline func leaveBlock() { blockThread.store(0, ordering: .relaxed) }

  /// Runs `body` as the one writer, without blocking the task's thread: while another writes the task is suspended, and the
  /// block runs on a thread of its own.
  ///
  /// Cancelling the task before the block begins throws `CancellationError`; once it runs it runs to its end.
  @discardableResult
  public func write<R: Sendable>(_ body: @escaping @Sendable (Transaction) throws -> R) async throws -> R {
    let request = WriteRequest<R>()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        guard request.wait(continuation) else { return }
        writerQueue.async { [self] in serve(request, body) }
      }
    } onCancel: {
      request.cancel()
    }
  }

  /// Waits for the writer's turn in slices, so that a cancelled request does not hold up those behind it.
  private func serve<R>(_ request: WriteRequest<R>, _ body: (Transaction) throws -> R) {
    while request.isWaiting {
      do {
        let lent = try lend(.after(.milliseconds(50)))
        guard let continuation = request.start() else { return cancel(lent) }
        continuation.resume(with: Result { try self.run(lent, body) })
      } catch StoreError.busy {
        continue
      } catch {
        request.start()?.resume(throwing: error)
      }
    }
  }

  /// Begins a transaction that ends with its ``Transaction/commit()`` or ``Transaction/cancel()``, and with `cancel` where it
  /// is let go without either. Prefer the block forms of `write`.
  ///
  /// Throws ``StoreError/busy(holder:)`` where another writer is not done within `timeout`; nil waits for ever.
  public func beginWrite(timeout: Duration? = nil) throws(StoreError) -> Transaction {
    try begin(timeout.map { .after($0) } ?? .never)
    return makeTransaction()
  }

  private func begin(_ deadline: Deadline) throws(StoreError) {
    let thread = blockThread.load(ordering: .relaxed)
    if thread != 0, thread == UInt(pthread_self()) {
      throw .invalidArgument(
        "A write inside the block of another write would wait for itself: use the block's transaction.")
    }
    try engine.begin(deadline)
  }

  private func makeTransaction() -> Transaction {
    let base = UnsafeRawPointer(engine.session.data.base)
    let none = ReadView(base: base, limit: 0, root: 0, version: 0)
    return Transaction(owner: TransactionOwner(engine.opened(), none), types: types)
  }

  // MARK: The transaction that write blocks use, one after the other

  @usableFromInline func lend() throws(StoreError) -> Unmanaged<Transaction> { try lend(.never) }

  /// Begins a transaction for a block. The object is the last block's, where nobody else kept it or anything read
  /// through it: a small commit allocates nothing. The writer word guards all of this.
  private func lend(_ deadline: Deadline) throws(StoreError) -> Unmanaged<Transaction> {
    try begin(deadline)
    if let lent = spare.reusable() { return lent }
    return spare.keep(makeTransaction())
  }

  @usableFromInline func commit(_ lent: Unmanaged<Transaction>) throws(StoreError) {
    // What was read as zero, for its bytes are damaged, must not be written again as if it were right.
    if let damage = lent._withUnsafeGuaranteedRef({ $0.owner.readDamage }) {
      cancel(lent)
      throw damage
    }
    guard lent._withUnsafeGuaranteedRef({ $0.giveBack() && $0.endForCommit() }) else {
      try engine.session.checkUsable()
      throw .closed
    }
    // From here on the object may be another block's.
    _ = try engine.commit(engine.configuration.durability)
  }

  @usableFromInline func cancel(_ lent: Unmanaged<Transaction>) {
    lent._withUnsafeGuaranteedRef { if $0.giveBack() { $0.owner.cancel() } }
  }
}

/// The transaction object of write blocks, reused from one to the next. Touched by the owner of the writer word only.
final class SpareTransaction: @unchecked Sendable {
  private let kept: UnsafeMutablePointer<Transaction?>

  init() {
    kept = .allocate(capacity: 1)
    kept.initialize(to: nil)
  }

  deinit {
    kept.deinitialize(count: 1)
    kept.deallocate()
  }

  /// The kept one, lent, where nobody else has it.
  @inline(__always)
  func reusable() -> Unmanaged<Transaction>? {
    guard isKnownUniquelyReferenced(&kept.pointee) else { return nil }
    // Pairs with the release of whoever let go of it last.
    atomicMemoryFence(ordering: .acquiring)
    let raw = UnsafeRawPointer(kept).load(as: UnsafeRawPointer.self)
    let lent = Unmanaged<Transaction>.fromOpaque(raw)
    let isUnused = lent._withUnsafeGuaranteedRef { transaction in
      guard transaction.isUnused() else { return false }
      transaction.lend()
      return true
    }
    return isUnused ? lent : nil
  }

  func keep(_ transaction: Transaction) -> Unmanaged<Transaction> {
    kept.pointee = transaction
    transaction.lend()
    return Unmanaged.passUnretained(transaction)
  }
}

/// One async write: waits, then either runs or was cancelled before it did.
private final class WriteRequest<R: Sendable>: Sendable {
  private enum State {
    case new
    case waiting(CheckedContinuation<R, any Error>)
    case over
  }
  private let state = Mutex(State.new)

  /// False: it was cancelled already, and the task was told.
  func wait(_ continuation: CheckedContinuation<R, any Error>) -> Bool {
    let waits = state.withLock { state in
      guard case .new = state else { return false }
      state = .waiting(continuation)
      return true
    }
    if !waits { continuation.resume(throwing: CancellationError()) }
    return waits
  }

  var isWaiting: Bool {
    state.withLock { if case .waiting = $0 { true } else { false } }
  }

  /// Takes the continuation, once: nil where the request was cancelled.
  func start() -> CheckedContinuation<R, any Error>? {
    state.withLock { state in
      guard case .waiting(let continuation) = state else { return nil }
      state = .over
      return continuation
    }
  }

  func cancel() {
    let waiting = state.withLock { state -> CheckedContinuation<R, any Error>? in
      defer { state = .over }
      guard case .waiting(let continuation) = state else { return nil }
      return continuation
    }
    waiting?.resume(throwing: CancellationError())
  }
}

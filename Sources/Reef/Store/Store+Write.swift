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
  @inlinable public func write<R>(_ body: (Transaction) throws -> R) throws -> R { try finish(begin(), body) }

  /// As ``write(_:)-(_)``, but waits at most `timeout` for another writer: then it throws ``StoreError/busy(holder:)``, which
  /// names it.
  @discardableResult
  public func write<R>(timeout: Duration, _ body: (Transaction) throws -> R) throws -> R {
    try finish(begin(.after(timeout)), body)
  }

  @inlinable func finish<R>(_ transaction: Transaction, _ body: (Transaction) throws -> R) throws -> R {
    enterBlock()
    let result: R
    do {
      result = try body(transaction)
    } catch {
      leaveBlock()
      transaction.cancel()
      throw error
    }
    leaveBlock()
    try transaction.commit()
    recycle(transaction)
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
        writerQueue.async { [self] in run(request, body) }
      }
    } onCancel: {
      request.cancel()
    }
  }

  /// Waits for the writer's turn in slices, so that a cancelled request does not hold up those behind it.
  private func run<R>(_ request: WriteRequest<R>, _ body: (Transaction) throws -> R) {
    while request.isWaiting {
      do {
        let transaction = try begin(.after(.milliseconds(50)))
        guard let continuation = request.start() else { return transaction.cancel() }
        continuation.resume(with: Result { try finish(transaction, body) })
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
  }

  @usableFromInline func begin() throws(StoreError) -> Transaction { try begin(.never) }

  private func begin(_ deadline: Deadline) throws(StoreError) -> Transaction {
    if blockThread.load(ordering: .relaxed) == UInt(pthread_self()) {
      throw .invalidArgument(
        "A write inside the block of another write would wait for itself: use the block's transaction.")
    }
    let write = try engine.write(deadline)
    if let transaction = spare.take() {
      transaction.owner.restart(write)
      return transaction
    }
    let base = UnsafeRawPointer(engine.session.data.base)
    let none = ReadView(base: base, limit: 0, root: 0, version: 0)
    return Transaction(owner: TransactionOwner(write, none), types: types)
  }

  /// Keeps a transaction that ended for the next one, where nobody else kept it.
  @usableFromInline func recycle(_ transaction: consuming Transaction) {
    var transaction = transaction
    if isKnownUniquelyReferenced(&transaction), transaction.isUnused() { spare.keep(transaction) }
  }
}

/// One ended transaction, kept so that the next small commit allocates nothing.
final class SpareTransaction: Sendable {
  private struct Kept: @unchecked Sendable {
    var transaction: Transaction?
  }
  private let kept = Mutex(Kept())

  func take() -> Transaction? {
    kept.withLock { kept -> Kept in
      defer { kept.transaction = nil }
      return kept
    }.transaction
  }

  func keep(_ transaction: Transaction) {
    let new = Kept(transaction: transaction)
    kept.withLock { $0 = new }
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

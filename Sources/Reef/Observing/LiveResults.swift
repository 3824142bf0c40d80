import Dispatch
import ReefEngine

/// A result that follows the newest version of its store: what to ask for, to be asked at any time, and to be observed.
///
/// ```swift
/// let fast = store.objects(Spaceship.self).where { $0.maxSpeed > 100 }
/// print(try fast.count)
/// for try await changes in fast.changes { … }
/// ```
public struct LiveResults<M: Model>: Sendable {
  let store: Store
  let plan: QueryPlan

  private func with(_ plan: QueryPlan) -> LiveResults { LiveResults(store: store, plan: plan) }

  /// Those that also meet this condition.
  public func `where`(_ condition: (M.Columns) -> Condition<M>) -> LiveResults { self.where(condition(M.columns)) }

  /// Those that also meet this condition.
  public func `where`(_ condition: Condition<M>) -> LiveResults { with(plan.filtered(by: condition.predicate)) }

  /// In the order of a property. Objects that tie keep the order that they had.
  public func sorted<V: Storable>(
    by property: KeyPath<M.Columns, Column<M, V>>, _ direction: SortDirection = .ascending
  ) -> LiveResults {
    with(plan.ordered(by: [Ordering<M>(property, direction).sortKey]))
  }

  /// In the order of several properties: the second decides where the first ties, and so on.
  public func sorted(by orderings: Ordering<M>...) -> LiveResults {
    with(plan.ordered(by: orderings.map(\.sortKey)))
  }

  /// At most the first `count`.
  public func prefix(_ count: Int) -> LiveResults { with(plan.limited(to: max(0, count))) }

  /// Without the first `count`.
  public func dropFirst(_ count: Int = 1) -> LiveResults { with(plan.dropping(max(0, count))) }

  /// The result in the newest version, which then stays as it is.
  public func results() throws(StoreError) -> Results<M> { try store.snapshot().results(plan) }

  /// Number of objects in the newest version.
  public var count: Int {
    get throws(StoreError) { try results().count }
  }

  /// Whether there is none in the newest version.
  public var isEmpty: Bool {
    get throws(StoreError) { try results().isEmpty }
  }

  /// The first object in the newest version.
  public var first: M.View? {
    get throws(StoreError) { try results().first }
  }

  /// What happens to the result, by commits of any process: the result as it is once, then each difference.
  ///
  /// Exactly one event is initial, and none is empty. (Where ``Store/Retention`` lets versions be taken away, an observer that
  /// was cut off begins anew, with another initial event.) A slow consumer misses nothing: what happened meanwhile comes as
  /// one difference. Ends when the store is closed or the task is cancelled. Each iteration is an observation of its own
  /// and keeps the version it last told of.
  public var changes: ChangeSequence<M> { ChangeSequence(store: store, plan: plan) }

  /// Calls `block` on `queue` with each event of ``changes``, one at a time, until the token is cancelled or let go.
  public func observe(
    on queue: DispatchQueue = .global(), _ block: @escaping @Sendable (Changes<M>) -> Void
  ) -> ObservationToken {
    observe(on: queue, failure: { _ in }, block)
  }

  /// As ``observe(on:_:)``; `failure` is called with the error that ends the observation, if one does.
  public func observe(
    on queue: DispatchQueue = .global(), failure: @escaping @Sendable (any Error) -> Void,
    _ block: @escaping @Sendable (Changes<M>) -> Void
  ) -> ObservationToken {
    let changes = changes
    let token = ObservationToken()
    let isCancelled = { @Sendable [weak token] in token?.isCancelled ?? true }
    token.run {
      do {
        for try await change in changes {
          await withCheckedContinuation { done in
            queue.async {
              if !isCancelled() { block(change) }
              done.resume()
            }
          }
        }
      } catch {
        if !(error is CancellationError) { queue.async { failure(error) } }
      }
    }
    return token
  }
}

extension Snapshot {
  func results<M: Model>(_ plan: QueryPlan) -> Results<M> {
    Results(owner: owner, schema: types.entry(M.self).schema, plan: plan)
  }
}

/// The events of a live result, for `for try await`.
public struct ChangeSequence<M: Model>: AsyncSequence, Sendable {
  public typealias Element = Changes<M>
  let store: Store
  let plan: QueryPlan

  /// Begins an observation of its own, with an initial event.
  public func makeAsyncIterator() -> Iterator { Iterator(store: store, plan: plan) }

  /// Goes from event to event, and keeps the version it last told of.
  public struct Iterator: AsyncIteratorProtocol {
    let store: Store
    let plan: QueryPlan
    private var list: LiveList?
    private var ticks: NoticeTicks?

    init(store: Store, plan: QueryPlan) {
      self.store = store
      self.plan = plan
    }

    /// The next event; nil once the store is closed or the task cancelled.
    public mutating func next() async throws -> Changes<M>? {
      guard let list else {
        let snapshot = try store.snapshot()
        let results: Results<M> = snapshot.results(plan)
        let list = try LiveList(plan, schema: results.schema, view: snapshot)
        self.list = list
        return Changes(
          isInitial: true, snapshot: snapshot, results: results, deletions: [], insertions: Array(0..<list.count),
          modifications: [])
      }
      while !Task.isCancelled {
        let snapshot = try store.snapshot()
        if snapshot.version > list.snapshot.version {
          let delta: ResultDelta
          do {
            delta = try list.advance(to: snapshot)
          } catch StoreError.snapshotRevoked {
            // What was told last is gone, and with it the difference: the observation begins anew.
            self.list = nil
            return try await next()
          }
          if !delta.isEmpty {
            return Changes(
              isInitial: false, snapshot: snapshot, results: snapshot.results(plan), deletions: delta.deletions,
              insertions: delta.insertions, modifications: delta.modifications)
          }
        }
        if ticks == nil { ticks = try store.ticks() }
        guard await ticks?.wait(after: snapshot.version) != nil else { return nil }
      }
      return nil
    }
  }
}

import ReefEngine
import Synchronization

/// One commit of any process: the version that it made, and what it did to each type.
public struct Commit: Sendable {
  /// The version that it made.
  public let version: UInt64
  /// The store as this commit left it.
  public let snapshot: Snapshot
  /// The store as it was before.
  let before: Snapshot

  /// Whether commits before this one could not be told singly: the reader fell too far behind, and this one stands for
  /// all since the last that it saw.
  public let isAfterGap: Bool

  /// How many objects of a type the commit inserted, deleted and changed.
  public func changes<M: Model>(of type: M.Type) throws(StoreError) -> CommitChanges<M> {
    let entry = snapshot.types.entry(type)
    let changes = try RowChanges(
      from: before.owner.view.table(entry.table), to: snapshot.owner.view.table(entry.table), schema: entry.schema)
    return CommitChanges(changes: changes, before: before, after: snapshot, table: entry.table)
  }
}

/// What one commit did to the objects of one type.
public struct CommitChanges<M: Model>: Sendable {
  let changes: RowChanges
  let before: Snapshot
  let after: Snapshot
  let table: Int

  /// Number of objects that are new.
  public var insertionCount: Int { changes.list.count { $0.old == nil } }
  /// Number of objects that are gone.
  public var deletionCount: Int { changes.list.count { $0.new == nil } }
  /// Number of objects that have other values.
  public var modificationCount: Int { changes.list.count { $0.old != nil && $0.new != nil && $0.isModified } }
  /// Whether the commit did nothing to this type.
  public var isEmpty: Bool { insertionCount + deletionCount + modificationCount == 0 }

  /// The new objects.
  public var inserted: [M.View] {
    changes.list.compactMap { $0.old == nil ? $0.new.flatMap { view($0, in: after) } : nil }
  }

  /// The objects that are gone, as they were.
  public var deleted: [M.View] {
    changes.list.compactMap { $0.new == nil ? $0.old.flatMap { view($0, in: before) } : nil }
  }

  /// The objects with other values, as they were and as they are.
  public var modified: [(before: M.View, after: M.View)] {
    changes.list.compactMap { change in
      guard change.isModified, let old = change.old.flatMap({ view($0, in: before) }),
        let new = change.new.flatMap({ view($0, in: after) })
      else { return nil }
      return (old, new)
    }
  }

  private func view(_ key: Int64, in snapshot: Snapshot) -> M.View? {
    Results<M>(owner: snapshot.owner, schema: M.schema, plan: QueryPlan(table: table)).view(key)
  }
}

extension Store {
  /// Every commit of every process from now on, in order, none left out.
  ///
  /// While it is iterated it keeps the versions that it has not told of yet, so a consumer that stops costs space. Ends when
  /// the store is closed or the task is cancelled.
  ///
  /// ```swift
  /// for try await commit in store.commits() { print(commit.version) }
  /// ```
  public func commits() -> CommitSequence { CommitSequence(self, after: nil) }

  /// Every commit after `version`, in order, as far back as they are still kept.
  ///
  /// Where commits after `version` are gone already, the first event says so (``Commit/isAfterGap``) and stands for the
  /// newest version.
  public func commits(after version: UInt64) -> CommitSequence { CommitSequence(self, after: version) }
}

/// The commits of a store, for `for try await`.
public struct CommitSequence: AsyncSequence, Sendable {
  public typealias Element = Commit
  let store: Store
  let after: UInt64?
  /// What holds the versions from the moment the sequence was made: the first iteration takes it.
  private let start: Start

  final class Start: Sendable {
    private let pin: Mutex<FollowingPin?>
    init(_ pin: FollowingPin?) { self.pin = Mutex(pin) }
    func take() -> FollowingPin? {
      pin.withLock { pin in
        defer { pin = nil }
        return pin
      }
    }
  }

  init(_ store: Store, after: UInt64?) {
    self.store = store
    self.after = after
    // Where this fails, `next` tries again and throws.
    start = Start(try? FollowingPin(store.engine))
  }

  /// Begins where the sequence was made, the first time; later iterations begin now.
  public func makeAsyncIterator() -> Iterator { Iterator(store: store, after: after, pin: start.take()) }

  /// Goes from commit to commit.
  public struct Iterator: AsyncIteratorProtocol {
    let store: Store
    private let after: UInt64?
    private var pin: FollowingPin?
    private var last: Snapshot?
    private var ticks: NoticeTicks?
    private var pending: Commit?

    init(store: Store, after: UInt64?, pin: FollowingPin?) {
      self.store = store
      self.after = after
      self.pin = pin
    }

    private mutating func begin() throws(StoreError) {
      guard last == nil else { return }
      let pin: FollowingPin
      if let held = self.pin { pin = held } else { pin = try FollowingPin(store.engine) }
      let first = snapshot(pin.first, pin)
      self.pin = pin
      last = first
      guard let after, after < first.version else { return }
      // What came before the pin is not held by it: it stands as a gap.
      pending = Commit(version: first.version, snapshot: first, before: first, isAfterGap: true)
    }

    private func snapshot(_ view: ReadView, _ pin: FollowingPin) -> Snapshot {
      Snapshot(owner: .make(view, heldBy: pin.hold(view.version), of: store.types))
    }

    /// The next commit; nil once the store is closed or the task cancelled.
    public mutating func next() async throws -> Commit? {
      try begin()
      if let pending {
        self.pending = nil
        return pending
      }
      while !Task.isCancelled, let pin, let last {
        let newest = store.version
        if newest > last.version {
          let view = store.engine.followed(last.version + 1)
          guard let view else { return try skip(from: last) }
          let next = snapshot(view, pin)
          pin.reach(next.version)
          self.last = next
          return Commit(version: next.version, snapshot: next, before: last, isAfterGap: false)
        }
        if ticks == nil { ticks = try store.ticks() }
        guard await ticks?.wait(after: last.version) != nil else { return nil }
      }
      return nil
    }

    /// The version ring has forgotten where the next version is: one event for all up to the newest.
    private mutating func skip(from last: Snapshot) throws(StoreError) -> Commit {
      let pin = try FollowingPin(store.engine)
      let next = snapshot(pin.first, pin)
      self.pin = pin
      self.last = next
      return Commit(version: next.version, snapshot: next, before: last, isAfterGap: true)
    }
  }
}

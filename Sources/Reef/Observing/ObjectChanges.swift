import ReefEngine

/// What happened to one object between two looks at it.
public struct ObjectChanges<M: Model>: Sendable {
  /// One property that has another value now.
  public struct Property: Sendable, Hashable {
    public let name: String
    /// Its value before.
    public let old: Value
    /// Its value now.
    public let new: Value
  }

  /// The first event of an observation.
  public let isInitial: Bool
  /// The version that is looked at now.
  public let snapshot: Snapshot
  /// The object in that version; nil where it is not there: deleted, or not made yet.
  public let object: M.View?
  /// The properties that changed, in the order of the type. Empty where the object came or went.
  public let properties: [Property]

  /// Whether the object is not there.
  public var isDeleted: Bool { object == nil }
}

extension Store {
  /// What happens to one object, by commits of any process: the object as it is once, then each change with the names,
  /// old and new values of the properties concerned, its deletion, and its being made again.
  ///
  /// Exactly one event is initial, also where the object is not there. A slow consumer misses nothing: what happened
  /// meanwhile comes as one change, and nothing comes where the values are the same again. Ends when the store is closed
  /// or the task is cancelled.
  ///
  /// ```swift
  /// for try await change in store.changes(of: Spaceship.self, key: 1) {
  ///   if change.isDeleted { break }
  ///   for property in change.properties { print(property.name, property.old, property.new) }
  /// }
  /// ```
  public func changes<M: Model>(of type: M.Type, key: M.PrimaryKey) -> ObjectChangeSequence<M> {
    ObjectChangeSequence(store: self, key: key)
  }
}

/// The events of one object, for `for try await`.
public struct ObjectChangeSequence<M: Model>: AsyncSequence, Sendable {
  public typealias Element = ObjectChanges<M>
  let store: Store
  let key: M.PrimaryKey

  /// Begins an observation of its own, with an initial event.
  public func makeAsyncIterator() -> Iterator { Iterator(store: store, key: key) }

  /// Goes from event to event, and keeps the version it last looked at.
  public struct Iterator: AsyncIteratorProtocol {
    let store: Store
    let key: M.PrimaryKey
    private var last: Snapshot?
    private var ticks: NoticeTicks?

    init(store: Store, key: M.PrimaryKey) {
      self.store = store
      self.key = key
    }

    /// The next event; nil once the store is closed or the task cancelled.
    public mutating func next() async throws -> ObjectChanges<M>? {
      guard last != nil else {
        let snapshot = try store.snapshot()
        last = snapshot
        return ObjectChanges(
          isInitial: true, snapshot: snapshot, object: snapshot[M.self, key: key], properties: [])
      }
      while let before = last, !Task.isCancelled {
        let snapshot = try store.snapshot()
        if snapshot.version > before.version {
          last = snapshot
          if let change = change(from: before, to: snapshot) { return change }
        }
        if ticks == nil { ticks = try store.ticks() }
        guard await ticks?.wait(after: snapshot.version) != nil else { return nil }
      }
      return nil
    }

    /// What differs between two versions; nil where nothing does.
    private func change(from before: Snapshot, to snapshot: Snapshot) -> ObjectChanges<M>? {
      let old = before[M.self, key: key]
      let new = snapshot[M.self, key: key]
      guard let old, let new else {
        if old == nil, new == nil { return nil }
        return ObjectChanges(isInitial: false, snapshot: snapshot, object: new, properties: [])
      }
      var properties: [ObjectChanges<M>.Property] = []
      for (column, property) in M.schema.properties.enumerated() where column != M.schema.key {
        let was = old._row.boxed(column, property)
        let now = new._row.boxed(column, property)
        if was != now { properties.append(.init(name: property.name, old: was, new: now)) }
      }
      if properties.isEmpty { return nil }
      return ObjectChanges(isInitial: false, snapshot: snapshot, object: new, properties: properties)
    }
  }
}

extension Row {
  /// A property's value in boxed form.
  func boxed(_ column: Int, _ property: PropertySchema) -> Value {
    let cell = cell(column)
    return (try? cell.column.value(cell.row, type: property.type, isOptional: property.isOptional)) ?? .null
  }
}

import Synchronization

/// Objects of one type in one snapshot (or one transaction): all, or those that meet a condition, in an order.
///
/// A result is a plan until something is asked of it; nothing is copied out of the store. It is a random-access collection
/// of views:
///
/// ```swift
/// let fast = snapshot.objects(Spaceship.self).where { $0.maxSpeed > 100 }
/// for ship in fast.sorted(by: \.name).prefix(10) { print(ship.name, ship.maxSpeed) }
/// print(fast.count, fast.max(of: \.maxSpeed) ?? 0)
/// ```
///
/// Without an order, objects come in stored order: by primary key, or in the order of insertion where the type has none.
/// Counting and iterating such a result hold no list of it; asking by position, or for an order, makes a list of object
/// keys once.
///
/// Results of a snapshot never change and may be used from any thread. Results of a transaction belong to its block: they
/// list what was there when they were first asked, and their views read the newest values.
///
/// Where stored bytes are damaged a result ends early, and ``Snapshot/damage`` says why.
public struct Results<M: Model>: Sendable {
  @usableFromInline let owner: RowOwner
  let schema: TypeSchema
  let plan: QueryPlan
  private let list = ResultList()

  init(owner: RowOwner, schema: TypeSchema, plan: QueryPlan) {
    self.owner = owner
    self.schema = schema
    self.plan = plan
  }

  func with(_ plan: QueryPlan) -> Results { Results(owner: owner, schema: schema, plan: plan) }
}

/// The object keys of a result, made once when somebody needs them.
final class ResultList: Sendable {
  private let keys = Mutex<[Int64]?>(nil)

  func get(_ make: () -> [Int64]) -> [Int64] {
    if let made = keys.withLock({ $0 }) { return made }
    let made = make()
    return keys.withLock { keys in
      if let earlier = keys { return earlier }
      keys = made
      return made
    }
  }

  var known: [Int64]? { keys.withLock { $0 } }
}

// Narrowing and ordering
extension Results {
  /// Those that also meet this condition.
  public func `where`(_ condition: (M.Columns) -> Condition<M>) -> Results { self.where(condition(M.columns)) }

  /// Those that also meet this condition.
  public func `where`(_ condition: Condition<M>) -> Results { with(plan.filtered(by: condition.predicate)) }

  /// In the order of a property. Objects that tie keep the order that they had.
  public func sorted<V: Storable>(
    by property: KeyPath<M.Columns, Column<M, V>>, _ direction: SortDirection = .ascending
  ) -> Results {
    with(plan.ordered(by: [Ordering<M>(property, direction).sortKey]))
  }

  /// In the order of several properties: the second decides where the first ties, and so on.
  public func sorted(by orderings: Ordering<M>...) -> Results { with(plan.ordered(by: orderings.map(\.sortKey))) }

  /// At most the first `count`. A condition or an order that is asked for afterwards works on these alone.
  public func prefix(_ count: Int) -> Results { with(plan.limited(to: Swift.max(0, count))) }

  /// Without the first `count`. A condition or an order that is asked for afterwards works on the rest alone.
  public func dropFirst(_ count: Int = 1) -> Results { with(plan.dropping(Swift.max(0, count))) }
}

// Reading
extension Results: RandomAccessCollection {
  public typealias Element = M.View

  /// The object keys in order.
  var objectKeys: [Int64] {
    list.get { attempt([]) { () throws(StoreError) in try QueryRun(plan, schema: schema).keys(in: owner.current()) } }
  }

  /// Runs a read; what goes wrong is noted with the snapshot.
  func attempt<R>(_ otherwise: @autoclosure () -> R, _ body: () throws(StoreError) -> R) -> R {
    do throws(StoreError) { return try body() } catch {
      owner.note(error)
      return otherwise()
    }
  }

  public var startIndex: Int { 0 }
  public var endIndex: Int { count }

  /// Number of objects.
  public var count: Int {
    if let keys = list.known { return keys.count }
    return attempt(0) { () throws(StoreError) in try QueryRun(plan, schema: schema).count(in: owner.current()) }
  }

  /// Whether there is no object. Looks for one only.
  public var isEmpty: Bool {
    if let keys = list.known { return keys.isEmpty }
    return prefix(1).count == 0
  }

  /// The first object in the result's order.
  public var first: M.View? {
    if let keys = list.known { return keys.first.flatMap(view) }
    if plan.order.isEmpty, plan.inner.isEmpty, !plan.hasWindow {
      let found = attempt(TableView.IndexedFirst.unknown) { () throws(StoreError) in
        try owner.current().table(plan.table).firstIndexed(plan.predicate, for: schema)
      }
      switch found {
      case .absent: return nil
      case .row(let position): return M.View(_row: Row(position.leaf, position.row, table: plan.table, owner: owner))
      case .unknown: break
      }
    }
    return prefix(1).objectKeys.first.flatMap(view)
  }

  /// The object at a position, counted from 0. The first call makes the list of object keys.
  public subscript(position: Int) -> M.View {
    let keys = objectKeys
    if keys.indices.contains(position), let view = view(keys[position]) { return view }
    return missing(position, keys)
  }

  /// Damage is no mistake of the caller's: what cannot be read, or listed, reads as zero, and `damage` says so.
  @inline(never)
  private func missing(_ position: Int, _ keys: [Int64]) -> M.View {
    let isInside = keys.indices.contains(position)
    if owner.hasMetDamage {
      return M.View(_row: owner.unreadable(isInside ? keys[position] : 0, table: plan.table))
    }
    precondition(isInside, "position \(position) is outside of a result of \(keys.count)")
    preconditionFailure("the object at position \(position) was deleted in this transaction")
  }

  func view(_ key: Int64) -> M.View? {
    owner.find(key, table: plan.table).map { M.View(_row: $0) }
  }

  /// The primary keys, in order.
  public var keys: [M.PrimaryKey] { map(\.id) }

  /// Plain copies of the objects, in order.
  public var values: [M] { map(\.value) }

  /// Whether the result walks the table itself, without a list of keys.
  private var isScan: Bool {
    guard plan.inner.isEmpty, !owner.isTransaction, plan.order.isEmpty else { return false }
    if case .indexed = schema.keyKind { return false }
    return true
  }

  /// Walks the objects in the result's order.
  public func makeIterator() -> Iterator {
    Iterator(walk(), table: plan.table, owner: owner)
  }

  private func walk() -> LeafWalk {
    guard isScan, list.known == nil else { return ListWalk(objectKeys, table: plan.table, owner: owner) }
    return attempt(LeafWalk()) { () throws(StoreError) in
      let table = try owner.current().table(plan.table)
      let predicate = try QueryRun(plan, schema: schema).predicate
      if let predicate, try table.usesIndex(for: predicate) {
        return ListWalk(objectKeys, table: plan.table, owner: owner)
      }
      return ScanWalk(
        table, plan.table, predicate, skip: plan.offset, limit: plan.limit ?? .max, owner: owner)
    }
  }
}

/// The one writer's work on a store: becomes the next version, or leaves nothing.
///
/// ``Store/write(timeout:_:)`` hands one to its block. Reading through it sees its own changes. A transaction belongs to
/// one thread at a time and ends with the block; it must not be kept.
///
/// ```swift
/// try store.write { transaction in
///   try transaction.insert(Spaceship(id: 1, name: "Rocinante"))
///   try transaction.update(Spaceship.self, key: 1) { $0.maxSpeed += 10 }
///   try transaction.delete(Spaceship.where { $0.launched == nil })
/// }
/// ```
///
/// Every error leaves the transaction usable, with the change that failed not made.
public final class Transaction {
  @exclusivity(unchecked) @usableFromInline var owner: TransactionOwner
  @usableFromInline let types: StoredTypes
  /// The first failure of a setter within the update that runs.
  @exclusivity(unchecked) @usableFromInline var setterFailure: StoreError?
  /// The engine's side: a constant, since using a variable costs two locked instructions.
  let write: WriteTransaction
  /// Whether a write block has it, without counting a reference.
  @exclusivity(unchecked) private var isLent = false
  @exclusivity(unchecked) private var isKept = false

  init(owner: TransactionOwner, types: StoredTypes) {
    self.owner = owner
    self.types = types
    write = owner.write
  }

  deinit { owner.cancel() }

  /// The version that this transaction began from; a commit makes the next one.
  public var baseVersion: UInt64 { owner.baseVersion }

  /// Whether nobody else keeps it, or anything read through it: then it can serve for the next transaction.
  func isUnused() -> Bool { isKnownUniquelyReferenced(&owner) }

  /// Serves for the transaction that the engine has begun, and is lent to its block.
  func lend() {
    if owner.hasMetDamage { owner.forget() }
    write.reopen()
    let version = write.version
    owner.baseVersion = version &- 1
    owner.unreadBefore = write.engine.unreadValues
    owner.viewed = owner.generation &- 1
    owner.isOpen = true
    isLent = true
  }

  /// The block is over. False: it ended the transaction itself.
  func giveBack() -> Bool {
    isLent = false
    if !isKept { return true }
    isKept = false
    Unmanaged.passUnretained(self).release()
    return false
  }

  /// Called before a block ends the transaction that was lent to it: the next one must find it taken until the block is
  /// over.
  private func keepFromOthers() {
    if !isLent || isKept { return }
    isKept = true
    _ = Unmanaged.passRetained(self)
  }
}

// Adding
extension Transaction {
  /// Adds an object. Throws ``StoreError/duplicateKey(type:key:)`` where its key is taken.
  @inlinable public func insert<M: Model>(_ object: M) throws(StoreError) {
    _ = try owner.insert(table: types.table(M.self)) { object.encode(into: &$0) }
  }

  /// Adds an object of a type without a key, and gives the number that it can be found by.
  @discardableResult
  @inlinable public func insert<M: Model>(_ object: M) throws(StoreError) -> ObjectKey where M.PrimaryKey == ObjectKey {
    ObjectKey(try owner.insert(table: types.table(M.self)) { object.encode(into: &$0) })
  }

  /// Adds objects, in order. The first whose key is taken throws, and those before it stay added.
  @inlinable public func insert<M: Model>(contentsOf objects: some Sequence<M>) throws(StoreError) {
    let table = types.table(M.self)
    let owner = owner
    // Objects that lie side by side are encoded where they are: iterating would copy each, strings and all.
    let failure: StoreError?? = objects.withContiguousStorageIfAvailable { objects in
      for index in objects.indices {
        do throws(StoreError) {
          _ = try owner.insert(table: table) { objects[index].encode(into: &$0) }
        } catch {
          return error
        }
      }
      return nil
    }
    if let failure {
      if let failure { throw failure }
      return
    }
    for object in objects { _ = try owner.insert(table: table) { object.encode(into: &$0) } }
  }

  /// Adds an object, or replaces every property of the one that has its key.
  public func upsert<M: Model>(_ object: M) throws(StoreError) {
    try owner.upsert(object, types.entry(M.self))
  }
}

// Changing
extension Transaction {
  /// Changes properties of the object with this key: `change` assigns to what it is given.
  ///
  /// Throws ``StoreError/noSuchObject(type:key:)`` where there is none, and what `change` throws. The key cannot be
  /// changed. Assigning the value that is there already changes nothing.
  @inlinable public func update<M: Model>(
    _ type: M.Type, key: M.PrimaryKey, _ change: (M.Mutable) throws -> Void
  ) throws {
    guard let place = try find(type, key) else {
      throw StoreError.noSuchObject(type: M.schema.name, key: "\(key)")
    }
    try apply(change, to: place)
  }

  /// Changes every object that meets a condition; returns how many there were.
  @discardableResult
  public func update<M: Model>(_ condition: Condition<M>, _ change: (M.Mutable) throws -> Void) throws -> Int {
    let keys = try owner.keys(of: condition.predicate, types.entry(M.self))
    let table = types.table(M.self)
    for key in keys {
      if let place = try find(key, table: table) { try apply(change, to: place) }
    }
    return keys.count
  }

  @inlinable func find<M: Model>(_ type: M.Type, _ key: M.PrimaryKey) throws(StoreError) -> ChangedRow? {
    let place = types.place(type)
    if let number = key._number { return try find(number, table: place.table) }
    return try findIndexed(type, key)
  }

  /// By the number of the object: along the writer's own tree, so that the change that follows need not look again.
  @usableFromInline func find(_ key: Int64, table: Int) throws(StoreError) -> ChangedRow? {
    if !owner.isOpen { throw .closed }
    let found = try write.find(table: table, key: key)
    if found.row >= 0 { return ChangedRow(found, key: key, table: table, generation: owner.generation) }
    if found.row == -1 { return nil }
    return try owner.row(key, table: table).map { ChangedRow($0) }
  }

  @usableFromInline func findIndexed<M: Model>(_ type: M.Type, _ key: M.PrimaryKey) throws(StoreError) -> ChangedRow? {
    try owner.checkOpen()
    let place = types.place(type)
    return key._find(in: KeyedTable(owner, table: place.table, column: place.key)).map { ChangedRow($0) }
  }

  /// The row as the transaction has it.
  @usableFromInline func row(_ place: ChangedRow) -> Row {
    // What was found along the writer's tree is read in its view, which may not be there yet.
    if place.generation == owner.generation { try? owner.reread() }
    return Row(
      leaf: place.leaf, row: place.row, columnCount: place.columnCount, key: place.key, table: place.table,
      generation: place.generation, owner: owner)
  }

  @inlinable func apply<M: MutableObject>(_ change: (M) throws -> Void, to place: ChangedRow) throws {
    do {
      try change(M(_change: ObjectChange(transaction: self, place: place)))
    } catch {
      setterFailure = nil
      throw error
    }
    if let failure = setterFailure {
      setterFailure = nil
      throw failure
    }
  }

  @usableFromInline func set(_ value: Value, column: Int, of place: ChangedRow) {
    do throws(StoreError) {
      try owner.update(place.key, table: Int(place.table), column: column, value)
    } catch {
      if setterFailure == nil { setterFailure = error }
    }
  }

  /// A number, as bits. It releases nothing that its caller has, and says so: then a block counts no references.
  @_effects(releasenone) @inline(never) @usableFromInline
  func set(_ bits: UInt64, column: Int, of place: ChangedRow) {
    do throws(StoreError) {
      if !owner.isOpen { throw .closed }
      owner.generation &+= 1
      _ = try write.update(table: Int(place.table), key: place.key, column: column, bits: bits)
    } catch {
      if setterFailure == nil { setterFailure = error }
    }
  }
}

// Removing
extension Transaction {
  /// Deletes the object with this key. False: there was none.
  @discardableResult
  public func delete<M: Model>(_ type: M.Type, key: M.PrimaryKey) throws(StoreError) -> Bool {
    guard let place = try find(type, key) else { return false }
    return try owner.delete(place.key, table: types.table(type))
  }

  /// Deletes every object that meets a condition; returns how many.
  @discardableResult
  public func delete<M: Model>(_ condition: Condition<M>) throws(StoreError) -> Int {
    let entry = types.entry(M.self)
    var count = 0
    for key in try owner.keys(of: condition.predicate, entry) where try owner.delete(key, table: entry.table) {
      count += 1
    }
    return count
  }

  /// Deletes the objects of a result of this transaction; returns how many.
  @discardableResult
  public func delete<M: Model>(_ results: Results<M>) throws(StoreError) -> Int {
    let table = types.table(M.self)
    var count = 0
    for key in results.objectKeys where try owner.delete(key, table: table) { count += 1 }
    return count
  }

  /// Deletes every object of a type; returns how many.
  @discardableResult
  public func deleteAll<M: Model>(_ type: M.Type) throws(StoreError) -> Int { try delete(Condition<M>.all) }
}

// Reading its own writes
extension Transaction {
  /// All objects of a type, this transaction's changes included.
  public func objects<M: Model>(_ type: M.Type) -> Results<M> {
    let entry = types.entry(type)
    return Results(owner: owner, schema: entry.schema, plan: QueryPlan(table: entry.table))
  }

  /// The object with this key, as this transaction has it so far.
  public subscript<M: Model>(type: M.Type, key key: M.PrimaryKey) -> M.View? {
    let place = types.place(type)
    return key._find(in: KeyedTable(owner, table: place.table, column: place.key)).map { M.View(_row: $0) }
  }

  /// The first damage that reading through this transaction met; nil where all was well. See ``Snapshot/damage``.
  public var damage: StoreError? { owner.damage }

  /// Number of objects of a type, this transaction's changes included.
  public func count<M: Model>(of type: M.Type) -> Int { objects(type).count }
}

// Ending
extension Transaction {
  /// Makes the changes the next version of the store; returns that version, or the one that was there where nothing
  /// changed. Only for transactions from ``Store/beginWrite(timeout:)``: a write block commits by itself.
  ///
  /// Throws where the changes cannot be kept (``StoreError/outOfSpace(path:needed:)``, a failed sync), or where reading met
  /// damage, so that a value read as zero is not written as if it were right; they are then undone.
  @discardableResult
  public func commit() throws(StoreError) -> UInt64 {
    keepFromOthers()
    return try owner.commit()
  }

  /// Undoes everything and ends the transaction. Only for transactions from ``Store/beginWrite(timeout:)``.
  public func cancel() {
    keepFromOthers()
    owner.cancel()
  }

  /// Ends the transaction; the engine's `commit` follows, and must not need this object any more. False: it is over, or
  /// its store is of no use any more.
  func endForCommit() -> Bool { owner.close() && write.endForCommit() }
}

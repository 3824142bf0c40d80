/// The models that a store was opened with, and where their tables are.
///
/// The index of a table is its position in the stored schema, which holds the types that other programs brought as well.
@usableFromInline final class StoredTypes: @unchecked Sendable {
  struct Entry: Sendable {
    let table: Int
    let schema: TypeSchema
  }

  @usableFromInline struct Place: Sendable {
    @usableFromInline let identity: ObjectIdentifier
    @usableFromInline let table: Int
    /// The column of the primary key.
    @usableFromInline let key: Int
  }

  /// The store that they belong to, open as long as anything read from it is there.
  let engine: Engine
  /// The same without a reference, and what is needed of it to take and let go of a snapshot.
  let heldEngine: Unmanaged<Engine>
  let words: ScopeWords
  let base: UnsafeRawPointer
  private let entries: [Entry]
  @usableFromInline let places: ContiguousArray<Place>

  init(_ models: [(model: any Model.Type, table: Int)], of engine: Engine) {
    self.engine = engine
    heldEngine = .passUnretained(engine)
    words = ScopeWords(engine.session, keeps: !engine.admitsRevocation)
    base = UnsafeRawPointer(engine.session.data.base)
    entries = models.map { Entry(table: $0.table, schema: $0.model.schema) }
    places = ContiguousArray(
      models.map { Place(identity: ObjectIdentifier($0.model), table: $0.table, key: $0.model.schema.key ?? 0) })
  }

  /// Few types: a walk beats a dictionary.
  @inlinable @inline(__always)
  func place<M: Model>(_ type: M.Type) -> Place {
    let identity = ObjectIdentifier(type)
    for place in places where place.identity == identity { return place }
    unknown(type)
  }

  @inline(never) @usableFromInline
  func unknown(_ type: Any.Type) -> Never {
    preconditionFailure("\(type) is not one of the models that this store was opened with: add it to `models`")
  }

  func entry<M: Model>(_ type: M.Type) -> Entry {
    let identity = ObjectIdentifier(type)
    for (index, place) in places.enumerated() where place.identity == identity { return entries[index] }
    unknown(type)
  }

  @inlinable func table<M: Model>(_ type: M.Type) -> Int { place(type).table }
}

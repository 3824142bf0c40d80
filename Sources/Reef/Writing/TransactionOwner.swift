/// The engine's side of a transaction, and what its rows are kept readable by. Each change starts a new generation: rows
/// found before are found again by their key.
final class TransactionOwner: RowOwner, @unchecked Sendable {
  private let write: WriteTransaction
  private var isOpen = true
  /// The generation that `view` shows.
  private var viewed: UInt32 = .max
  let baseVersion: UInt64

  init(_ write: WriteTransaction) {
    self.write = write
    baseVersion = write.baseVersion
    super.init(write.baseView)
  }

  override var isTransaction: Bool { true }

  override func current() throws(StoreError) -> ReadView {
    guard isOpen else { throw .closed }
    if viewed != generation {
      view = try write.readView()
      viewed = generation
    }
    return view
  }

  override func refind(_ row: Row) -> Row {
    precondition(isOpen, "an object of a transaction was used after the transaction ended")
    do throws(StoreError) {
      if let found = try self.row(row.key, table: Int(row.table)) { return found }
    } catch {
      note(error)
    }
    preconditionFailure("an object was used after the transaction deleted it")
  }

  func row(_ key: Int64, table: Int) throws(StoreError) -> Row? {
    guard let position = try current().table(table).find(key: key) else { return nil }
    return Row(position.leaf, position.row, key: key, table: table, owner: self)
  }

  /// Object keys of what meets a condition.
  func keys(of predicate: ReefEngine.Predicate, _ entry: StoredTypes.Entry) throws(StoreError) -> [Int64] {
    try QueryRun(QueryPlan(table: entry.table, predicate: predicate), schema: entry.schema).keys(in: current())
  }

  private func changing() throws(StoreError) {
    guard isOpen else { throw .closed }
    generation &+= 1
  }

  func insert<M: Model>(_ object: M, _ entry: StoredTypes.Entry, replacing: Bool) throws(StoreError) -> Int64 {
    try changing()
    return try write.insert(table: entry.table, replacing: replacing) { object.encode(into: &$0) }
  }

  func update(_ row: Row, column: Int, _ value: Value) throws(StoreError) {
    try changing()
    try write.update(table: Int(row.table), objectKey: row.key, column: column, value)
  }

  func delete(_ key: Int64, table: Int) throws(StoreError) -> Bool {
    try changing()
    return try write.delete(table: table, objectKey: key)
  }

  func commit() throws(StoreError) -> UInt64 {
    guard isOpen else { throw .closed }
    close()
    return try write.commit()
  }

  func cancel() {
    guard isOpen else { return }
    close()
    write.rollback()
  }

  private func close() {
    isOpen = false
    generation &+= 1
  }
}

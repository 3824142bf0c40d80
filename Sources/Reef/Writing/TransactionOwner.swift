/// The engine's side of a transaction, and what its rows are kept readable by. Each change starts a new generation: rows
/// found before are found again by their key.
@usableFromInline final class TransactionOwner: RowOwner, @unchecked Sendable {
  let write: WriteTransaction
  @exclusivity(unchecked) var isOpen = true
  /// The generation that `view` shows, once there is one.
  @exclusivity(unchecked) var viewed: UInt32
  /// Where values of an upsert are kept, by table.
  private var records: [Int: RowRecord] = [:]
  @exclusivity(unchecked) var baseVersion: UInt64
  /// Damaged long values that were met before this transaction.
  @exclusivity(unchecked) var unreadBefore: UInt64
  /// The table that was inserted into last in this transaction, and where its next row may go.
  @exclusivity(unchecked) @usableFromInline var appended = -1
  @exclusivity(unchecked) @usableFromInline var appending: UnsafeMutablePointer<TableWriter.State>?

  /// `view`: any version of the store, which is never read.
  init(_ write: WriteTransaction, _ view: ReadView) {
    self.write = write
    baseVersion = write.version &- 1
    unreadBefore = write.engine.unreadValues
    viewed = .max
    super.init(view, isTransaction: true)
  }

  @inlinable override package func current() throws(StoreError) -> ReadView {
    try reread()
    return view
  }

  @usableFromInline func reread() throws(StoreError) {
    try checkOpen()
    if viewed != generation {
      view = try write.readView
      viewed = generation
    }
  }

  @usableFromInline func checkOpen() throws(StoreError) {
    if !isOpen { throw .closed }
  }

  override func refind(_ key: Int64, table: Int) -> Row {
    precondition(isOpen, "an object of a transaction was used after the transaction ended")
    do throws(StoreError) {
      if let found = try row(key, table: table) { return found }
    } catch {
      // A row of which nothing can be read: all zero, and the transaction does not commit.
      note(error)
      return unreadable(key, table: table)
    }
    preconditionFailure("an object was used after the transaction deleted it")
  }

  /// Object keys of what meets a condition.
  func keys(of predicate: ReefEngine.Predicate, _ entry: StoredTypes.Entry) throws(StoreError) -> [Int64] {
    try QueryRun(QueryPlan(table: entry.table, predicate: predicate), schema: entry.schema).keys(in: current())
  }

  /// Runs a change. What was read before it is out of date after it.
  private func changing<R>(_ change: () throws(StoreError) -> R) throws(StoreError) -> R {
    guard isOpen else { throw .closed }
    defer { generation &+= 1 }
    return try change()
  }

  /// Rows that follow each other go straight into the open leaf; the first, and every one that does not, the long way.
  @inlinable @inline(__always) func insert(
    table: Int, _ encode: (inout RowEncoder) -> Void
  ) throws(StoreError) -> Int64 {
    if appended == table, let appending {
      if let key = TableWriter.State.append(appending, encode) {
        generation &+= 1
        return key
      }
      generation &+= 1
      if let key = try TableWriter.State.insertAway(appending, encode) { return key }
    }
    return try insertSlowly(table: table, encode)
  }

  @inline(never) @usableFromInline func insertSlowly(
    table: Int, _ encode: (inout RowEncoder) -> Void
  ) throws(StoreError) -> Int64 {
    try checkOpen()
    defer { generation &+= 1 }
    let key = try write.insert(table: table, encode)
    appended = table
    appending = write.appending(table: table)
    return key
  }

  /// Inserts, or sets every property of the object that has the key. Properties that are the same already do not count as
  /// changed.
  func upsert<M: Model>(_ object: M, _ entry: StoredTypes.Entry) throws(StoreError) {
    guard let key = entry.schema.key else {
      _ = try insert(table: entry.table) { object.encode(into: &$0) }
      return
    }
    let record = records[entry.table] ?? RowRecord(entry.schema)
    records[entry.table] = record
    try record.encode(object)
    let value = try record.value(key)
    guard let objectKey = try objectKey(value, column: key, entry.table) else {
      _ = try insert(table: entry.table) { object.encode(into: &$0) }
      return
    }
    try changing { () throws(StoreError) in
      for column in entry.schema.properties.indices where column != key {
        _ = try write.update(table: entry.table, key: objectKey, column: column, value: record.value(column))
      }
    }
  }

  private func objectKey(_ key: Value, column: Int, _ table: Int) throws(StoreError) -> Int64? {
    try checkOpen()
    switch key {
    case .int(let number): return try write.contains(table: table, key: number) ? number : nil
    case .string(var text):
      return text.withUTF8 { find(bytes: UnsafeRawBufferPointer($0), column: column, table: table)?.key }
    case .uuid(let uuid):
      return withUnsafeBytes(of: (uuid.high.bigEndian, uuid.low.bigEndian)) {
        find(bytes: $0, column: column, table: table)?.key
      }
    default: return nil
    }
  }

  func update(_ key: Int64, table: Int, column: Int, _ value: Value) throws(StoreError) {
    _ = try changing { () throws(StoreError) in
      try write.update(table: table, key: key, column: column, value: value)
    }
  }

  func delete(_ key: Int64, table: Int) throws(StoreError) -> Bool {
    try changing { () throws(StoreError) in try write.delete(table: table, key: key) }
  }

  func commit() throws(StoreError) -> UInt64 {
    guard isOpen else { throw .closed }
    close()
    if let damage = readDamage {
      write.rollback()
      throw damage
    }
    return try write.commit()
  }

  /// Why what was read through this must not be written again; nil where all was well.
  var readDamage: StoreError? {
    if hasMetDamage { return damage }
    return write.engine.unreadValues > unreadBefore ? write.engine.metDamage : nil
  }

  func cancel() {
    guard isOpen else { return }
    close()
    write.rollback()
  }

  /// False: it was closed before.
  @discardableResult
  func close() -> Bool {
    if !isOpen { return false }
    isOpen = false
    appending = nil
    generation &+= 1
    return true
  }
}

/// One object's values, taken from its encoding.
private final class RowRecord {
  private let schema: TypeSchema
  private let scratch: LeafScratch

  init(_ schema: TypeSchema) {
    self.schema = schema
    scratch = LeafScratch(schema)
  }

  func encode<M: Model>(_ object: M) throws(StoreError) {
    scratch.arena.pointee.used = 0
    scratch.clear(row: 0)
    var encoder = scratch.encoder(row: 0)
    object.encode(into: &encoder)
    guard !encoder.isInvalid else {
      throw .invalidArgument("A property of \(schema.name) was set to a value of another type, or does not exist.")
    }
    guard !scratch.arena.pointee.overflowed else {
      scratch.arena.pointee.overflowed = false
      throw .invalidArgument("A value of \(schema.name) is too long.")
    }
    scratch.finish(encoder, row: 0)
  }

  func value(_ column: Int) throws(StoreError) -> Value {
    let property = schema.properties[column]
    if property.isOptional, scratch.isNull(column, 0) { return .null }
    let bits = scratch.cell(column, 0).pointee
    switch property.type {
    case .bool: return .bool(bits & 1 != 0)
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32: return .int(Int64(bitPattern: bits))
    case .uint64: return .uint(bits)
    case .float: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
    case .double: return .double(Double(bitPattern: bits))
    case .date: return .date(Double(bitPattern: bits))
    case .string: return .string(String(decoding: scratch.bytes(bits), as: UTF8.self))
    case .data: return .data(Array(scratch.bytes(bits)))
    case .uuid:
      let bytes = scratch.bytes(bits)
      guard bytes.count == 16 else { return .uuid(UUIDBytes(high: 0, low: 0)) }
      return .uuid(
        UUIDBytes(
          high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
          low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))))
    }
  }
}

/// Which objects of a table differ between two versions.
struct RowChanges: Sendable {
  struct Change: Sendable {
    /// Object keys; nil where the object is not there.
    var old: Int64?
    var new: Int64?
    /// Whether a value differs; false only for an object made again just as it was.
    var isModified: Bool
  }
  private(set) var list: [Change] = []
  /// Objects made again under their key, by their old object key.
  private(set) var renamed: [Int64: Int64] = [:]
  private var modified: Set<Int64> = []

  var isEmpty: Bool { list.isEmpty }
  var count: Int { list.count }

  /// Whether the object with this (new) object key has other values than before.
  func isModified(_ key: Int64) -> Bool { modified.contains(key) }

  init(from old: TableView, to new: TableView, schema: TypeSchema) throws(StoreError) {
    var difference = try TableChanges(TableDiff(from: old, to: new, schema: schema))
    for (key, _) in difference.modified {
      list.append(Change(old: key, new: key, isModified: true))
      modified.insert(key)
    }
    if case .indexed(let column) = schema.keyKind, !difference.deleted.isEmpty, !difference.inserted.isEmpty {
      try pairAgain(&difference.deleted, old, &difference.inserted, new, column, schema)
    }
    for key in difference.deleted { list.append(Change(old: key, new: nil, isModified: true)) }
    for key in difference.inserted { list.append(Change(old: nil, new: key, isModified: true)) }
    // What was skipped as shared was shared.
    try old.view.checkHeld()
    try new.view.checkHeld()
  }

  /// An object deleted and made again under its String or UUID key has another object key, but is one modification, or
  /// nothing where no value differs.
  private mutating func pairAgain(
    _ deleted: inout [Int64], _ old: TableView, _ inserted: inout [Int64], _ new: TableView, _ column: Int,
    _ schema: TypeSchema
  ) throws(StoreError) {
    var gone: [Value: Int64] = [:]
    for key in deleted {
      if let row = try old.find(key: key) { gone[try row.leaf.value(row.row, column: column, in: schema)] = key }
    }
    var again: Set<Int64> = []
    var fresh: [Int64] = []
    for key in inserted {
      guard let row = try new.find(key: key),
        let before = gone[try row.leaf.value(row.row, column: column, in: schema)],
        let oldRow = try old.find(key: before)
      else {
        fresh.append(key)
        continue
      }
      let differs = try Self.differs(oldRow, row, schema)
      list.append(Change(old: before, new: key, isModified: differs))
      if differs { modified.insert(key) }
      renamed[before] = key
      again.insert(before)
    }
    deleted.removeAll(where: again.contains)
    inserted = fresh
  }

  private static func differs(_ a: RowPosition, _ b: RowPosition, _ schema: TypeSchema) throws(StoreError) -> Bool {
    for column in schema.properties.indices where column != schema.key {
      let (before, after) = (
        try a.leaf.value(a.row, column: column, in: schema), try b.leaf.value(b.row, column: column, in: schema)
      )
      if before != after && !(before.isNaN && after.isNaN) { return true }
    }
    return false
  }
}

extension Value {
  fileprivate var isNaN: Bool {
    switch self {
    case .float(let value): value.isNaN
    case .double(let value), .date(let value): value.isNaN
    default: false
    }
  }
}

/// The models that a store was opened with, and where their tables are.
///
/// The index of a table is its position in the stored schema, which holds the types that other programs brought as well.
final class StoredTypes: Sendable {
  struct Entry: Sendable {
    let identity: ObjectIdentifier
    let table: Int
    let schema: TypeSchema
  }
  let entries: [Entry]

  init(_ entries: [Entry]) { self.entries = entries }

  /// Few types: a walk beats a dictionary.
  func entry<M: Model>(_ type: M.Type) -> Entry {
    let identity = ObjectIdentifier(type)
    for entry in entries where entry.identity == identity { return entry }
    preconditionFailure("\(type) is not one of the models that this store was opened with: add it to `models`")
  }

  func table<M: Model>(_ type: M.Type) -> Int { entry(type).table }

  func schema(ofTable table: Int) -> TypeSchema {
    for entry in entries where entry.table == table { return entry.schema }
    preconditionFailure("no model for table \(table)")
  }
}

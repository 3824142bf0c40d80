import CXXHash

/// The types as a version of the store knows them, with the fingerprint by which every transaction notices a change.
package struct StoredSchema: Sendable {
  package let schema: Schema
  /// 0: no types yet.
  package let fingerprint: UInt64

  package static let empty = StoredSchema(Schema([]), fingerprint: 0)

  init(_ schema: Schema, fingerprint: UInt64) {
    self.schema = schema
    self.fingerprint = fingerprint
  }

  /// Position of a type: its table's index. By a walk: types are few, and making the first `Dictionary` of a process
  /// takes a fifth of the time that opening takes.
  package func index(of name: String) -> Int? { schema.types.firstIndex { $0.name == name } }

  /// Reads the schema that a version's root names.
  package init(reading view: ReadView, fingerprint: UInt64, path: String) throws(StoreError) {
    let root = try view.rootNode()
    let entry = root.pointer.load(fromByteOffset: DataLayout.Root.schema, as: UInt64.self)
    let tables = try view.tableCount
    if entry & 0xffff_ffff == 0 {
      guard tables == 0 else { throw .damaged(path: path, what: "the root node lists tables without a schema") }
      self = .empty
      return
    }
    let bytes = try view.blob(entry)
    guard let schema = SchemaText.schema(from: bytes),
      StoredSchema.isSound(schema), tables == schema.types.count
    else { throw .damaged(path: path, what: "the stored schema cannot be read") }
    self.init(schema, fingerprint: fingerprint)
  }

  private static func isSound(_ schema: Schema) -> Bool {
    schema.types.allSatisfy { type in type.key.map { type.properties.indices.contains($0) } ?? true }
      && repeated(schema.types.map(\.name)) == nil
  }

  /// The bytes to store, and their fingerprint.
  static func encode(_ schema: Schema) -> (bytes: [UInt8], fingerprint: UInt64) {
    let bytes = SchemaText.bytes(of: schema)
    let fingerprint = bytes.withUnsafeBytes { XXH3_64bits($0.baseAddress, $0.count) }
    return (bytes, max(1, fingerprint))
  }

  /// A name that is there twice. By sorting: the first use of a `Set` costs an opening process a tenth of a millisecond.
  private static func repeated(_ names: [String]) -> String? {
    if names.count <= 16 {
      for (index, name) in names.enumerated() where names[..<index].contains(name) { return name }
      return nil
    }
    let sorted = names.sorted()
    return sorted.indices.dropFirst().first { sorted[$0] == sorted[$0 - 1] }.map { sorted[$0] }
  }

  /// What is wrong with a declared schema, or nil.
  static func problem(_ schema: Schema) -> String? {
    if let name = repeated(schema.types.map(\.name)), !name.isEmpty { return "Two types are named \(name)." }
    for type in schema.types {
      if type.name.isEmpty { return "A type has no name." }
      if repeated(type.properties.map(\.name)) != nil {
        return "\(type.name) has two properties of one name."
      }
      if let key = type.key {
        guard type.properties.indices.contains(key) else { return "\(type.name) names a key it does not have." }
        let property = type.properties[key]
        if property.isOptional { return "\(type.name).\(property.name) is the key and cannot be optional." }
        if ![.int64, .string, .uuid].contains(property.type) {
          return "\(type.name).\(property.name) cannot be a key: keys are Int, String or UUID."
        }
      }
      if type.properties.count > 4000 { return "\(type.name) has more than 4,000 properties." }
    }
    return nil
  }
}

/// Declared types against stored ones.
enum SchemaCheck {
  /// The declared types that the store does not have.
  static func missing(_ declared: Schema, in stored: StoredSchema) throws(StoreError) -> [TypeSchema] {
    var missing: [TypeSchema] = []
    for type in declared.types {
      guard let index = stored.index(of: type.name) else {
        missing.append(type)
        continue
      }
      if let reason = difference(type, stored.schema.types[index]) { throw .schemaMismatch(reason: reason) }
    }
    return missing
  }

  private static func difference(_ declared: TypeSchema, _ stored: TypeSchema) -> String? {
    if declared == stored { return nil }
    for property in declared.properties where !stored.properties.contains(where: { $0.name == property.name }) {
      return "\(declared.name).\(property.name) is not in the store."
    }
    for property in stored.properties {
      guard let own = declared.properties.first(where: { $0.name == property.name }) else {
        return "\(declared.name).\(property.name) is in the store, but not declared."
      }
      if own.type != property.type || own.isOptional != property.isOptional {
        return "\(declared.name).\(property.name) is declared as \(describe(own)), but stored as \(describe(property))."
      }
      if own.isIndexed != property.isIndexed {
        return "\(declared.name).\(property.name) is stored \(property.isIndexed ? "with" : "without") an index."
      }
    }
    let declaredKey = declared.key.map { declared.properties[$0].name }
    let storedKey = stored.key.map { stored.properties[$0].name }
    if declaredKey != storedKey {
      return "\(declared.name) has the key \(declaredKey ?? "none"), but is stored with the key \(storedKey ?? "none")."
    }
    return "\(declared.name) declares its properties in another order than they are stored in."
  }

  private static func describe(_ property: PropertySchema) -> String {
    "\(property.type)\(property.isOptional ? "?" : "")"
  }
}

extension Writer {
  /// Adds types to the stored schema, within the transaction under way.
  func add(_ types: [TypeSchema]) throws(StoreError) {
    let merged = Schema(schema.schema.types + types)
    let (bytes, fingerprint) = StoredSchema.encode(merged)
    var result: Result<UInt64, StoreError> = .failure(.closed)
    bytes.withUnsafeBytes { raw in
      do throws(StoreError) {
        result = .success(try LeafBuilder.blob(&state.pointee.space, raw))
      } catch { result = .failure(error) }
    }
    let blob = try result.get()
    try ownRoot()
    let old = state.pointee.root
    let before = Int(old.load(fromByteOffset: DataLayout.Root.tableCount, as: UInt32.self))
    let length = DataLayout.Root.tables + merged.types.count * DataLayout.entrySize
    let oldLength = Int(old.load(fromByteOffset: DataLayout.Node.length, as: UInt32.self))
    guard before == schema.schema.types.count, DataLayout.Root.tables + before * DataLayout.entrySize <= oldLength
    else { throw state.pointee.space.damaged("the root node lists other tables than the schema") }
    let root = try state.pointee.space.allocate(kind: NodeKind.root, form: 0, shape: 0, length: length)
    (root + DataLayout.Node.size).copyMemory(
      from: old + DataLayout.Node.size,
      byteCount: DataLayout.Root.tables + before * DataLayout.entrySize - DataLayout.Node.size)
    root.storeBytes(of: UInt32(merged.types.count), toByteOffset: DataLayout.Root.tableCount, as: UInt32.self)
    for index in before..<merged.types.count {
      root.storeBytes(of: 0, toByteOffset: DataLayout.Root.tables + index * DataLayout.entrySize, as: UInt64.self)
    }
    let oldSchema = old.load(fromByteOffset: DataLayout.Root.schema, as: UInt64.self)
    if oldSchema & 0xffff_ffff != 0 {
      state.pointee.space.retire(try state.pointee.space.enter(oldSchema, kind: NodeKind.blob))
    }
    root.storeBytes(of: blob, toByteOffset: DataLayout.Root.schema, as: UInt64.self)
    state.pointee.root = root
    state.pointee.space.retire(old)
    for index in before..<merged.types.count {
      setTable(index, try TableWriter.empty(merged.types[index], &state.pointee.space))
    }
    adopt(StoredSchema(merged, fingerprint: fingerprint))
    state.pointee.didChange = true
  }
}

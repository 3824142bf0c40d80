import ReefSystem

// Objects: inserting, changing, deleting, with the indexes kept.
extension WriteTransaction {
  /// Inserts one object; `encode` sets its properties, the key included. Returns its object key. `duplicateKey` leaves
  /// the transaction as it was.
  @inline(__always)
  package func insert(
    table index: Int, _ encode: (inout RowEncoder) -> Void
  ) throws(StoreError) -> Int64 {
    try check()
    writer.adds()
    let table = try writer.changing(index)
    let (scratch, row) = table.beginRow()
    var encoder = scratch.encoder(row: row)
    encode(&encoder)
    if encoder.isInvalid || scratch.arena.pointee.overflowed { throw invalid(table, scratch, row) }
    scratch.finish(encoder, row: row)
    let space = writer.state
    if case .integer(let column) = table.keyKind, !table.hasIndexes {
      // The key is the object key: its column is never stored.
      let cell = scratch.cell(column, row)
      let key = Int64(bitPattern: cell.pointee)
      cell.pointee = 0
      let inserted = try guarded { () throws(StoreError) in
        try table.insert(&space.pointee.space, key: key, from: scratch, row: row)
      }
      if !inserted { throw duplicate(table, "\(key)", scratch, row) }
      space.pointee.didChange = true
      return key
    }
    return try insertIndexed(table, scratch, row)
  }

  /// Where rows may be appended without asking, once this transaction inserted one: until it ends.
  package func appending(table index: Int) -> UnsafeMutablePointer<TableWriter.State> {
    let table = writer.tables[index]
    table.state.pointee.table = .passUnretained(table)
    table.state.pointee.writer = writer.state
    table.state.pointee.usable = engine.session.usable
    return table.state
  }

  @inline(never)
  private func insertIndexed(_ table: TableWriter, _ scratch: LeafScratch, _ row: Int) throws(StoreError) -> Int64 {
    let space = writer.state
    let key: Int64
    switch table.keyKind {
    case .integer(let column):
      key = Int64(bitPattern: scratch.cell(column, row).pointee)
      scratch.cell(column, row).pointee = 0
      if try exists(table, key) { throw duplicate(table, "\(key)", scratch, row) }
    case .indexed(let column):
      key = table.state.pointee.nextKey
      keys.pointee.new.encode(scratch, column, row, isOptional: false)
      if let other = try guarded({ () throws(StoreError) in try claimKey(table, key, scratch, column, row) }) {
        throw duplicate(table, describe(table, other, column), scratch, row)
      }
      table.state.pointee.nextKey = key &+ 1
    case .none:
      key = table.state.pointee.nextKey
      table.state.pointee.nextKey = key &+ 1
    }
    try guarded { () throws(StoreError) in
      for position in table.indexedColumns.indices {
        let column = table.indexedColumns[position]
        keys.pointee.new.encode(
          scratch, column, row, isOptional: table.schema.properties[column].isOptional)
        _ = try table.changeIndex(position, &space.pointee.space) { index, space throws(StoreError) in
          try self.keys.pointee.new.withEncoded { encoded throws(StoreError) in
            _ = try index.insert(encoded, key, space: &space)
          }
        }
      }
      guard try table.insert(&space.pointee.space, key: key, from: scratch, row: row) else {
        throw StoreError.damaged(
          path: writer.session.path, what: "an index of \(table.schema.name) does not know key \(key)")
      }
    }
    space.pointee.didChange = true
    return key
  }

  /// Enters the new object into the key index. Returns the object that has the key already, if any.
  private func claimKey(
    _ table: TableWriter, _ key: Int64, _ scratch: LeafScratch, _ column: Int, _ row: Int
  ) throws(StoreError) -> Int64? {
    let space = writer.state
    var index = IndexWriter(root: table.state.pointee.keyIndexRoot, depth: table.state.pointee.keyIndexDepth)
    if !keys.pointee.new.isExact {
      // Equal only by a hash: compare with the rows themselves.
      let cell = scratch.bytes(scratch.cell(column, row).pointee)
      if let other = try findExact(table, cell) { return other }
    }
    let isExact = keys.pointee.new.isExact
    let found = try keys.pointee.new.withEncoded { encoded throws(StoreError) in
      try index.insert(encoded, key, unique: isExact, space: &space.pointee.space)
    }
    if found == nil {
      table.state.pointee.keyIndexRoot = index.root
      table.state.pointee.keyIndexDepth = index.depth
    }
    return found
  }

  /// The object whose (long) key has exactly these bytes, by the encoded key in `keys.new`.
  func findExact(_ table: TableWriter, _ bytes: UnsafeRawBufferPointer) throws(StoreError) -> Int64? {
    guard case .indexed(let column) = table.keyKind else { return nil }
    let copy = Array(bytes)
    let view = try writer.readView()
    return try KeyLookup.find(view, table: table.index, column: column, bytes: copy, key: &keys.pointee.new)
  }

  /// Whether there is an object with this object key, told without packing what lies open.
  package func contains(table index: Int, key: Int64) throws(StoreError) -> Bool {
    try check()
    return try exists(try writer.table(index), key)
  }

  @inline(__always)
  func exists(_ table: TableWriter, _ key: Int64) throws(StoreError) -> Bool {
    if table.covers(key) {
      let at = table.position(key)
      return at < table.state.pointee.rows && table.scratch.keys[at] == key
    }
    guard case .leaf(let node) = try table.locate(writer.state.pointee.space, key) else { return false }
    return try table.leafView(writer.state.pointee.space, node).find(key) >= 0
  }

  private func invalid(_ table: TableWriter, _ scratch: LeafScratch, _ row: Int) -> StoreError {
    let isTooLong = scratch.arena.pointee.overflowed
    scratch.arena.pointee.overflowed = false
    table.abandonRow(scratch, row)
    return .invalidArgument(
      isTooLong
        ? "A value of \(table.schema.name) is too long: the limit is 2 GiB a value and 4 GiB an object."
        : "A property of \(table.schema.name) was set to a value of another type, or does not exist.")
  }

  private func duplicate(_ table: TableWriter, _ key: String, _ scratch: LeafScratch, _ row: Int) -> StoreError {
    table.abandonRow(scratch, row)
    return .duplicateKey(type: table.schema.name, key: key)
  }

  private func describe(_ table: TableWriter, _ key: Int64, _ column: Int) -> String {
    guard let view = try? writer.readView(), let position = try? view.table(table.index).find(key: key),
      let value = try? position.leaf.value(position.row, column: column, in: table.schema)
    else { return "\(key)" }
    return value.keyDescription
  }

  // MARK: Changing

  /// Sets one property of one object. The primary key cannot be changed.
  package func update(
    table index: Int, key: Int64, column: Int, value: Value
  ) throws(StoreError) -> TableWriter.Outcome {
    try check()
    switch value {
    case .null:
      let type = try writer.table(index).schema
      if type.properties.indices.contains(column), !type.properties[column].isOptional {
        throw .invalidArgument("\(type.name).\(type.properties[column].name) is not optional.")
      }
      return try change(index, key, column) {
        $0.encodeNil()
      } apply: { table, space throws(StoreError) in
        try table.updateNull(&space, key: key, column: column)
      }
    case .string(let text): return try updateBytes(table: index, key: key, column: column, Array(text.utf8))
    case .data(let bytes): return try updateBytes(table: index, key: key, column: column, bytes)
    case .uuid(let value):
      var halves = (value.high.bigEndian, value.low.bigEndian)
      let bytes = withUnsafeBytes(of: &halves) { Array($0) }
      return try updateBytes(table: index, key: key, column: column, bytes)
    case .bool(let value): return try update(table: index, key: key, column: column, bits: value ? 1 : 0)
    case .int(let value): return try update(table: index, key: key, column: column, bits: UInt64(bitPattern: value))
    case .uint(let value): return try update(table: index, key: key, column: column, bits: value)
    case .float(let value):
      return try update(table: index, key: key, column: column, bits: UInt64(value.bitPattern))
    case .double(let value), .date(let value):
      return try update(table: index, key: key, column: column, bits: value.bitPattern)
    }
  }

  /// Sets a scalar property: bits as in `RowEncoder`.
  @inline(__always)
  package func update(
    table index: Int, key: Int64, column: Int, bits: UInt64
  ) throws(StoreError) -> TableWriter.Outcome {
    try check()
    if let outcome = try PlainChange.set(state, table: index, key: key, column: column, bits: bits) {
      return outcome
    }
    let table = try writer.table(index)
    guard column >= 0, column < table.schema.properties.count, table.scratch.kinds[column] & 1 == 0 else {
      throw mismatch(table, column)
    }
    writer.adds()
    if table.isPlain(column) {
      let space = writer.state
      do throws(StoreError) {
        _ = try writer.changing(index)
        let outcome = try table.update(&space.pointee.space, key: key, column: column, bits: bits)
        if outcome == .changed { space.pointee.didChange = true }
        return outcome
      } catch {
        space.pointee.isBroken = true
        throw error
      }
    }
    let type = table.schema.properties[column].type
    let isOptional = table.schema.properties[column].isOptional
    return try change(index, key, column) { key in
      switch type {
      case .bool: key.encode(bool: bits & 1 != 0, isOptional: isOptional)
      case .uint64: key.encode(uint: bits, isOptional: isOptional)
      case .double, .date: key.encode(double: Double(bitPattern: bits), isOptional: isOptional)
      case .float: key.encode(float: Float(bitPattern: UInt32(truncatingIfNeeded: bits)), isOptional: isOptional)
      default: key.encode(int: Int64(bitPattern: bits), isOptional: isOptional)
      }
    } apply: { table, space throws(StoreError) in
      try table.update(&space, key: key, column: column, bits: bits)
    }
  }

  private func updateBytes(
    table index: Int, key: Int64, column: Int, _ bytes: [UInt8]
  ) throws(StoreError) -> TableWriter.Outcome {
    let table = try writer.table(index)
    guard column >= 0, column < table.schema.properties.count, table.scratch.kinds[column] & 1 == 1,
      table.schema.properties[column].type != .uuid || bytes.count == 16, bytes.count <= Int(Int32.max)
    else { throw mismatch(table, column) }
    let type = table.schema.properties[column].type
    let isOptional = table.schema.properties[column].isOptional
    return try change(index, key, column) { encoded in
      bytes.withUnsafeBytes { raw in
        if type == .uuid {
          encoded.encode(uuid: UUIDBytes(raw), isOptional: isOptional)
        } else {
          encoded.encode(bytes: raw, isOptional: isOptional)
        }
      }
    } apply: { table, space throws(StoreError) in
      try ArrayBytes.with(bytes) { raw throws(StoreError) in
        try table.update(&space, key: key, column: column, bytes: raw)
      }
    }
  }

  private func mismatch(_ table: TableWriter, _ column: Int) -> StoreError {
    guard table.schema.properties.indices.contains(column) else {
      return .invalidArgument("\(table.schema.name) has no property \(column).")
    }
    return .invalidArgument(
      "\(table.schema.name).\(table.schema.properties[column].name) cannot hold a value of this type.")
  }

  /// A change of a property that may have an index: the entry moves with it.
  private func change(
    _ index: Int, _ key: Int64, _ column: Int, _ encode: (inout IndexKey) -> Void,
    apply: (TableWriter, inout Space) throws(StoreError) -> TableWriter.Outcome
  ) throws(StoreError) -> TableWriter.Outcome {
    let table = try writer.table(index)
    guard table.schema.properties.indices.contains(column) else { throw mismatch(table, column) }
    if table.schema.key == column {
      throw .invalidArgument(
        "\(table.schema.name).\(table.schema.properties[column].name) is the key and cannot be changed.")
    }
    guard try exists(table, key) else { return .missing }
    writer.adds()
    return try guarded { () throws(StoreError) in
      _ = try writer.changing(index)
      let space = writer.state
      guard let position = table.indexedColumns.firstIndex(of: column) else {
        let outcome = try apply(table, &space.pointee.space)
        if outcome == .changed { space.pointee.didChange = true }
        return outcome
      }
      try encodeOld(table, key, column)
      let outcome = try apply(table, &space.pointee.space)
      guard outcome == .changed else { return outcome }
      space.pointee.didChange = true
      encode(&keys.pointee.new)
      _ = try table.changeIndex(position, &space.pointee.space) { index, space throws(StoreError) in
        try self.keys.pointee.old.withEncoded { encoded throws(StoreError) in
          _ = try index.remove(encoded, key, space: &space)
        }
        try self.keys.pointee.new.withEncoded { encoded throws(StoreError) in
          _ = try index.insert(encoded, key, space: &space)
        }
      }
      return outcome
    }
  }

  private func encodeOld(_ table: TableWriter, _ key: Int64, _ column: Int) throws(StoreError) {
    let property = table.schema.properties[column]
    if table.covers(key), table.state.pointee.isDirty {
      let row = table.position(key)
      keys.pointee.old.encode(table.scratch, column, row, isOptional: property.isOptional)
      if table.scratch.cell(column, row).pointee & LeafScratch.blobBit == 0 || table.scratch.kinds[column] & 1 == 0 {
        return
      }
      try table.sync(&writer.state.pointee.space)
    }
    guard case .leaf(let node) = try table.locate(writer.state.pointee.space, key) else { return }
    let leaf = try table.leafView(writer.state.pointee.space, node)
    let row = leaf.find(key)
    guard row >= 0 else { return }
    keys.pointee.old.encode(
      try leaf.column(column), row, type: property.type, isOptional: property.isOptional)
  }

  // MARK: Deleting

  /// Deletes one object. False: there is none.
  @discardableResult
  package func delete(table index: Int, key: Int64) throws(StoreError) -> Bool {
    try check()
    let table = try writer.table(index)
    guard try exists(table, key) else { return false }
    // Until something is added, it frees more than it takes.
    if !writer.state.pointee.didAdd { writer.state.pointee.space.mayUseReserve = true }
    return try guarded { () throws(StoreError) in
      _ = try writer.changing(index)
      let space = writer.state
      for position in table.indexedColumns.indices {
        try encodeOld(table, key, table.indexedColumns[position])
        _ = try table.changeIndex(position, &space.pointee.space) { index, space throws(StoreError) in
          try self.keys.pointee.old.withEncoded { encoded throws(StoreError) in
            _ = try index.remove(encoded, key, space: &space)
          }
        }
      }
      if case .indexed(let column) = table.keyKind {
        try encodeOld(table, key, column)
        var index = IndexWriter(root: table.state.pointee.keyIndexRoot, depth: table.state.pointee.keyIndexDepth)
        try keys.pointee.old.withEncoded { encoded throws(StoreError) in
          _ = try index.remove(encoded, key, space: &space.pointee.space)
        }
        table.state.pointee.keyIndexRoot = index.root
        table.state.pointee.keyIndexDepth = index.depth
      }
      space.pointee.didChange = true
      return try table.delete(&space.pointee.space, key: key)
    }
  }
}

/// Array bytes for a body with typed errors.
enum ArrayBytes {
  static func with<R>(_ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(StoreError) -> R) throws(StoreError)
    -> R
  {
    var result: Result<R, StoreError> = .failure(.closed)
    bytes.withUnsafeBytes { raw in
      do throws(StoreError) { result = .success(try body(raw)) } catch { result = .failure(error) }
    }
    return try result.get()
  }
}

import ReefEngine

extension FuzzCase {
  // MARK: Questions

  mutating func query(_ engine: Engine) throws {
    let types = try engine.storedSchema().schema.types
    let pin = try engine.pin()
    if !input.takesStoredTypes {
      for question in Answers.questions { attempt { _ = try question.ask(try pin.view.table(question.table)) } }
    }
    for (index, type) in types.enumerated().prefix(6) {
      for _ in 0..<6 { ask(pin.view, index, type) }
      for column in type.properties.indices.prefix(16) {
        attempt {
          let table = try pin.view.table(index)
          let sums = try table.aggregate(column: column, in: type)
          _ = (sums.sum, sums.minimum, sums.maximum, sums.average)
        }
      }
      for place in 0..<4 {
        attempt {
          let (root, depth) = try pin.view.table(index).index(place)
          _ = try IndexView(view: pin.view, root: root, depth: depth).check()
        }
      }
    }
  }

  private mutating func ask(_ view: ReadView, _ index: Int, _ type: TypeSchema) {
    guard !type.properties.isEmpty else { return }
    let predicate = condition(type, depth: 2)
    let order = (0..<(1 + random.below(2))).map { _ in
      SortKey(column: random.below(type.properties.count), ascending: random.chance(2))
    }
    let limit = random.chance(2) ? .max : random.below(40)
    let offset = random.below(20)
    attempt {
      let table = try view.table(index)
      _ = try table.firstIndexed(predicate, for: type)
      let compiled = try CompiledPredicate(predicate, for: type)
      _ = try table.count(where: compiled)
      _ = try table.first(where: compiled)
      _ = try table.usesIndex(for: compiled)
      let keys = try table.sortedKeys(where: compiled, by: order, schema: type, offset: offset, limit: limit)
      _ = try table.sorted(keys, by: order, schema: type)
      _ = try table.aggregate(column: order[0].column, in: type, where: compiled)
    }
  }

  /// A condition on a type's properties, with constants of their kinds.
  private mutating func condition(_ type: TypeSchema, depth: Int) -> Predicate {
    let column = random.below(type.properties.count)
    let kind = type.properties[column].type
    switch random.below(depth > 0 ? 9 : 6) {
    case 0, 1:
      return .compare(column: column, Predicate.Comparison(rawValue: random.byte() % 6) ?? .equal, value(kind))
    case 2:
      return .between(column: column, lower: value(kind), upper: value(kind), includesUpper: random.chance(2))
    case 3: return .within(column: column, (0..<random.below(5)).map { _ in value(kind) })
    case 4:
      return .text(column: column, Predicate.TextMatch(rawValue: random.byte() % 3) ?? .prefix, value(kind))
    case 5: return .compare(column: column, .equal, .null)
    case 6: return .not(condition(type, depth: depth - 1))
    case 7: return .and([condition(type, depth: depth - 1), condition(type, depth: depth - 1)])
    default: return .or([condition(type, depth: depth - 1), condition(type, depth: depth - 1)])
    }
  }

  mutating func value(_ type: ValueType) -> Value {
    switch type {
    case .bool: .bool(random.chance(2))
    case .int8: .int(Int64(random.below(256)) - 128)
    case .int16, .int32, .int64: .int(Int64(random.below(1000)) - 500)
    case .uint8, .uint16, .uint32: .int(Int64(random.below(200)))
    case .uint64: .uint(random.next())
    case .float: .float(Float(random.below(1000)) / 4)
    case .double: .double(Double(random.below(100_000)) / 8)
    case .date: .date(Double(random.below(1_000_000)))
    case .string: .string(random.pick(["", "a", "m", "zz", String(repeating: "x", count: random.below(700))]))
    case .data: .data((0..<random.below(40)).map { _ in random.byte() })
    case .uuid: .uuid(UUIDBytes(high: random.next(), low: random.next()))
    }
  }

  // MARK: Versions

  /// What changed between the versions that the file's slots name.
  func compareVersions() {
    attempt {
      let image = try StoreImage(path)
      let versions = image.versions
      guard let newest = versions.first, versions.count > 1 else { return }
      let stored = try StoredSchema(reading: image.view(newest.slot), fingerprint: 0, path: path)
      for older in versions.dropFirst() {
        let (old, new) = (image.view(older.slot), image.view(newest.slot))
        for (index, type) in stored.schema.types.enumerated().prefix(6) {
          attempt {
            let diff = TableDiff(from: try old.table(index), to: try new.table(index), schema: type)
            var seen = 0
            try diff.forEach { (change) throws(StoreError) in
              seen += change.columns.isEmpty ? 1 : 2
              return seen < 20_000
            }
          }
        }
      }
    }
  }

  // MARK: Writing

  mutating func write(_ engine: Engine) throws {
    let types = try engine.storedSchema().schema.types
    for round in 0..<3 {
      var random = random
      attempt {
        let transaction = try engine.write(.after(.milliseconds(500)))
        defer { transaction.rollback() }
        if !input.takesStoredTypes { insert(transaction, round, &random) }
        for (index, type) in types.enumerated().prefix(6) { change(transaction, index, type) }
        if round < 2 || random.chance(2) { _ = try transaction.commit() }
      }
      self.random = random
    }
  }

  private func insert(_ transaction: WriteTransaction, _ round: Int, _ random: inout Mix) {
    var model: SampleStore.Model = [[:], [:], [:]]
    let base = Int64(round) * 20
    for key in 0..<Int64(6) {
      attempt {
        try SampleStore.insertItem(
          random.chance(2) ? 1000 + base + key : Int64(random.below(450)), transaction, &model, &random)
      }
      attempt { try SampleStore.insertNamed(2000 + base + key, transaction, &model, &random) }
      attempt { try SampleStore.insertSparse(Int64(bitPattern: random.next()) >> 4, transaction, &model, &random) }
    }
  }

  private mutating func change(_ transaction: WriteTransaction, _ index: Int, _ type: TypeSchema) {
    guard !type.properties.isEmpty else { return }
    for _ in 0..<8 {
      let key = Int64(random.below(random.chance(4) ? 450 : 40))
      let column = random.below(type.properties.count)
      let new = type.properties[column].isOptional && random.chance(3) ? .null : value(type.properties[column].type)
      attempt { _ = try transaction.update(table: index, key: key, column: column, value: new) }
    }
    for _ in 0..<3 {
      let key = Int64(random.below(random.chance(4) ? 450 : 40))
      attempt { _ = try transaction.delete(table: index, key: key) }
    }
    if input.takesStoredTypes {
      let values = type.properties.map { value($0.type) }
      attempt {
        _ = try transaction.insert(table: index) {
          for (column, value) in values.enumerated() { $0.set(column: column, value: value) }
        }
      }
    }
  }
}

import Foundation
import ReefEngine
import ReefSystem

/// Opens a store that may be damaged, reads it in every way, writes to it, and reads it again, twice; compares all with
/// what should be there.
struct Examination {
  let path: String
  let history: [UInt64: SampleStore.Model]
  let newest: UInt64
  let answers: Answers
  var random: Mix
  private(set) var errors: [String] = []
  private(set) var wrong: [String] = []
  private(set) var log: [String] = []
  private var isEarlier = false

  init(path: String, history: [UInt64: SampleStore.Model], newest: UInt64, answers: Answers, random: Mix) {
    self.path = path
    self.history = history
    self.newest = newest
    self.answers = answers
    self.random = random
  }

  func outcome(mayBeEarlier: Bool) -> Outcome {
    if !wrong.isEmpty || isEarlier && !mayBeEarlier { return .wrong }
    return !errors.isEmpty ? .error : isEarlier ? .earlier : .right
  }

  static func open(_ path: String) throws -> Engine {
    var options = Session.Options(location: .file(path))
    options.peerName = "torture"
    options.openTimeout = .seconds(2)
    options.reserve = 1 << 28
    return try Engine.open(EngineConfiguration(session: options, durability: .memory), SampleStore.schema)
  }

  mutating func run() {
    guard
      let model = session({ examination, engine in
        let pin = try engine.pin()
        guard let model = examination.history[pin.version] else {
          examination.wrong.append("version \(pin.version) never was")
          return SampleStore.Model?.none
        }
        if pin.version != examination.newest {
          examination.isEarlier = true
          examination.errors.isEmpty ? examination.log.append("version \(pin.version), not \(examination.newest)") : ()
        }
        examination.read(pin.view, model, questions: true, known: pin.version)
        let after = examination.write(engine, model)
        let fresh = try engine.pin()
        examination.read(fresh.view, after, questions: true, known: nil)
        return after
      })
    else { return }
    // Damage that a write may have taken along and sealed shows now.
    _ = session { examination, engine in
      let pin = try engine.pin()
      examination.read(pin.view, model, questions: false, known: nil)
      return model
    }
  }

  private mutating func session(
    _ body: (inout Examination, Engine) throws -> SampleStore.Model?
  ) -> SampleStore.Model? {
    do {
      let engine = try Examination.open(path)
      defer { engine.close() }
      return try body(&self, engine)
    } catch {
      note(error, "session")
      return nil
    }
  }

  private mutating func note(_ error: any Error, _ what: String) {
    guard error is StoreError else {
      wrong.append("\(what): \(error)")
      return
    }
    errors.append("\(what): \(error)")
    log.append("\(what): \(error)")
  }

  private mutating func attempt(_ what: String, _ body: (inout Examination) throws -> String?) {
    do {
      if let problem = try body(&self) {
        wrong.append("\(what): \(problem)")
        log.append("WRONG \(what): \(problem)")
      }
    } catch { note(error, what) }
  }

  // MARK: Reading

  private mutating func read(_ view: ReadView, _ model: SampleStore.Model, questions: Bool, known: UInt64?) {
    for table in 0..<3 {
      attempt("rows of table \(table)") { _ in try Self.rows(view, table, model[table]) }
      attempt("lookups in table \(table)") { try $0.lookups(view, table, model[table]) }
    }
    attempt("names") { try $0.names(view, model[1]) }
    guard questions else { return }
    let expected = answers.expected(known ?? 0, model, keep: known != nil)
    for (question, right) in zip(Answers.questions, expected) {
      attempt(question.name) { _ in
        let said = try question.ask(try view.table(question.table))
        return said == right ? nil : "\(said.prefix(6)) … (\(said.count)), not \(right.prefix(6)) … (\(right.count))"
      }
    }
  }

  private static func rows(_ view: ReadView, _ table: Int, _ model: [Int64: SampleStore.Row]) throws -> String? {
    let schema = SampleStore.schema.types[table]
    var problem: String?
    var seen = 0
    try view.table(table).forEachLeaf { (leaf) throws(StoreError) in
      for row in 0..<leaf.count {
        seen += 1
        let key = leaf.key(row)
        guard let expected = model[key] else {
          problem = "there is no object \(key)"
          return false
        }
        for column in schema.properties.indices {
          let value = try leaf.value(row, column: column, in: schema)
          if value != expected[column] {
            problem = "\(schema.properties[column].name) of \(key) is \(value), not \(expected[column])"
            return false
          }
        }
      }
      return true
    }
    return problem ?? (seen == model.count ? nil : "\(seen) objects, not \(model.count)")
  }

  private mutating func lookups(_ view: ReadView, _ table: Int, _ model: [Int64: SampleStore.Row]) throws -> String? {
    let schema = SampleStore.schema.types[table]
    let tree = try view.table(table)
    let keys = model.keys.sorted()
    if keys.isEmpty { return tree.rootEntry == 0 ? nil : "there are objects" }
    for _ in 0..<12 {
      let key = random.chance(4) ? Int64(random.below(2000)) : keys[random.below(keys.count)]
      let place = view.place(of: key, root: tree.rootEntry, depth: tree.depth)
      let found = try tree.find(key: key)
      if place.isSound, place.exists != (model[key] != nil) { return "object \(key): \(place.exists)" }
      guard let found else {
        if model[key] != nil { return "object \(key) is not found" }
        continue
      }
      guard let expected = model[key] else { return "object \(key) is found" }
      let column = random.below(schema.properties.count)
      let value = try found.leaf.value(found.row, column: column, in: schema)
      if value != expected[column] { return "\(schema.properties[column].name) of \(key) is \(value)" }
    }
    return nil
  }

  private mutating func names(_ view: ReadView, _ model: [Int64: SampleStore.Row]) throws -> String? {
    let keys = model.keys.sorted()
    var scratch = IndexKey()
    for _ in 0..<(keys.isEmpty ? 0 : 8) {
      let key = keys[random.below(keys.count)]
      guard case .string(let name)? = model[key]?[0] else { continue }
      let found = try KeyLookup.find(view, table: 1, column: 0, bytes: Array(name.utf8), key: &scratch)
      if found != key { return "\(name) is \(found.map(String.init) ?? "not found"), not \(key)" }
    }
    return nil
  }

  // MARK: Writing

  /// Three transactions; a model of what was committed.
  private mutating func write(_ engine: Engine, _ model: SampleStore.Model) -> SampleStore.Model {
    var model = model
    transaction(engine, "updates", &model) { transaction, model, random in
      for _ in 0..<12 {
        let key = Int64(random.below(430))
        if model[0][key] != nil { try SampleStore.updateItem(key, transaction, &model, &random) }
      }
    }
    transaction(engine, "inserts", &model) { transaction, model, random in
      for key in 0..<Int64(12) { try SampleStore.insertItem(1000 + key, transaction, &model, &random) }
      for key in 0..<Int64(6) { try SampleStore.insertNamed(1000 + key, transaction, &model, &random) }
      for _ in 0..<6 {
        try SampleStore.insertSparse(Int64(bitPattern: random.next()) >> 4, transaction, &model, &random)
      }
    }
    transaction(engine, "deletes", &model) { transaction, model, random in
      for table in 0..<3 {
        let keys = model[table].keys.sorted()
        for _ in 0..<(keys.isEmpty ? 0 : 8) {
          let key = keys[random.below(keys.count)]
          let existed = try transaction.delete(table: table, key: key)
          guard existed == (model[table][key] != nil) else { throw TortureError("delete of \(key) says \(existed)") }
          model[table][key] = nil
        }
      }
    }
    return model
  }

  private mutating func transaction(
    _ engine: Engine, _ what: String, _ model: inout SampleStore.Model,
    _ body: (WriteTransaction, inout SampleStore.Model, inout Mix) throws -> Void
  ) {
    attempt(what) { examination in
      var changed = model
      let transaction = try engine.write(.after(.seconds(2)))
      defer { transaction.rollback() }
      try body(transaction, &changed, &examination.random)
      try transaction.commit()
      model = changed
      return nil
    }
  }
}

import Foundation
import ReefEngine
import ReefSystem

/// What is done with the file.
enum FuzzTarget: String, CaseIterable {
  case open, check, read, query, write, lock

  var summary: String {
    switch self {
    case .open: "opens and closes it, twice, and once more for reading only"
    case .check: "checks it, open and as bytes, and salvages it"
    case .read: "reads every value, forward and backward, and by key"
    case .query: "asks conditions, orders and sums, by index and without, and compares versions"
    case .write: "inserts, changes and deletes, closes it, opens it again and reads"
    case .lock: "finds a damaged lock file beside it, and writes"
    }
  }
}

/// Runs one input: whatever is not a `StoreError` is a fault.
struct FuzzCase {
  let target: FuzzTarget
  let input: FuzzInput
  let path: String
  var random: Mix

  init(_ target: FuzzTarget, _ input: FuzzInput, path: String) {
    self.target = target
    self.input = input
    self.path = path
    random = Mix(input.seed, 7)
  }

  mutating func run() {
    switch target {
    case .open:
      for round in 0..<3 { session(readOnly: round == 2 || input.isReadOnly) { _, _ in } }
    case .check:
      checkImage()
      session(readOnly: input.isReadOnly) { _, engine in _ = try engine.check() }
    case .read: session(readOnly: input.isReadOnly) { fuzz, engine in try fuzz.read(engine) }
    case .query:
      compareVersions()
      session(readOnly: input.isReadOnly) { fuzz, engine in try fuzz.query(engine) }
    case .write, .lock:
      session(readOnly: false) { fuzz, engine in
        try fuzz.write(engine)
        try fuzz.read(engine)
      }
      session(readOnly: false) { fuzz, engine in try fuzz.read(engine) }
    }
  }

  /// An error of the store's is an answer. Any other is no better than a death.
  func attempt(_ body: () throws -> Void) {
    do { try body() } catch {
      guard error is StoreError else { fatalError("\(error)") }
    }
  }

  private mutating func session(readOnly: Bool, _ body: (inout FuzzCase, Engine) throws -> Void) {
    do {
      let engine = try open(path, input.takesStoredTypes ? Schema([]) : SampleStore.schema, readOnly: readOnly)
      defer { engine.close() }
      _ = try engine.storedSchema()
      try body(&self, engine)
    } catch {
      guard error is StoreError else { fatalError("\(error)") }
    }
  }

  private func open(_ path: String, _ schema: Schema, readOnly: Bool) throws -> Engine {
    var options = Session.Options(location: .file(path))
    options.peerName = "fuzz"
    options.openTimeout = .milliseconds(300)
    options.reserve = 1 << 26
    options.readOnly = readOnly
    return try Engine.open(EngineConfiguration(session: options, durability: .memory), schema)
  }

  // MARK: Checking

  private func checkImage() {
    attempt {
      let image = try StoreImage(path)
      for (slot, _) in image.versions { _ = StoreCheck.run(image.view(slot), isChecked: image.isChecked) }
      guard let schema = Salvage.schema(of: image) else { return }
      let out = path + ".out"
      for suffix in ["", ".lock", ".note"] { unlink(out + suffix) }
      let engine = try open(out, schema, readOnly: false)
      defer { engine.close() }
      _ = try Salvage.run(image, schema: schema, into: engine)
      let report = try engine.check()
      if let problem = report.problems.first { fatalError("what was salvaged is not sound: \(problem)") }
    }
  }

  // MARK: Reading

  private mutating func read(_ engine: Engine) throws {
    let types = try engine.storedSchema().schema.types
    let pin = try engine.pin()
    for (index, type) in types.enumerated().prefix(8) { read(pin.view, index, type) }
  }

  private mutating func read(_ view: ReadView, _ index: Int, _ type: TypeSchema) {
    var keys: [Int64] = []
    var random = random
    defer { self.random = random }
    attempt {
      try view.table(index).forEachLeaf { (leaf) throws(StoreError) in
        for row in 0..<leaf.count {
          keys.append(leaf.key(row))
          for column in type.properties.indices.prefix(32) {
            _ = try? leaf.value(row, column: column, in: type).hashValue
          }
        }
        return keys.count < 5000
      }
    }
    attempt {
      var cursor = try view.table(index).rowsBackward(from: Int64(bitPattern: random.next()))
      var count = 0
      while let position = try cursor.next(), count < 500 { count += position.row >= 0 ? 1 : 0 }
    }
    attempt {
      let table = try view.table(index)
      for _ in 0..<20 {
        let key = keys.isEmpty || random.chance(4) ? Int64(random.below(500)) : random.pick(keys)
        let place = view.place(of: key, root: table.rootEntry, depth: table.depth)
        let found = try? table.find(key: key)
        for column in type.properties.indices.prefix(32) {
          if let found { _ = try? found.leaf.value(found.row, column: column, in: type) }
        }
        _ = place.exists
      }
      _ = try table.row(at: random.below(400))
    }
    guard case .indexed(let column) = type.keyKind else { return }
    attempt {
      var scratch = IndexKey()
      let table = try view.table(index)
      for key in keys.prefix(20) {
        guard let found = try table.find(key: key) else { continue }
        guard case .string(let text) = try found.leaf.value(found.row, column: column, in: type) else { continue }
        _ = try KeyLookup.find(view, table: index, column: column, bytes: Array(text.utf8), key: &scratch)
      }
    }
  }
}

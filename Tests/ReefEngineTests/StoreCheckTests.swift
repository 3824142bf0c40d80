import Foundation
import ReefSystem
import Testing

@testable import ReefEngine

/// `reef check` and `reef salvage`, below the commands: a store is damaged at known places, and in random ones.
@Suite struct StoreCheckTests {
  static let schema = Schema([
    TypeSchema(
      "Item",
      [
        PropertySchema("id", .int64), PropertySchema("text", .string), PropertySchema("size", .int32, isIndexed: true),
        PropertySchema("note", .string, isOptional: true, isIndexed: true),
      ], key: 0),
    TypeSchema("Named", [PropertySchema("name", .string), PropertySchema("value", .double)], key: 0),
    TypeSchema("Line", [PropertySchema("bytes", .data)], key: nil),
  ])

  /// What was written: values by type and key.
  struct Sample {
    var items: [Int64: [Value]] = [:]
    var named: [String: [Value]] = [:]
    let path: String

    init(_ path: String) throws {
      self.path = path
      let engine = try Engine.open(
        EngineConfiguration(session: Session.Options(location: .file(path)), durability: .memory),
        StoreCheckTests.schema)
      defer { engine.close() }
      let transaction = try engine.write()
      for key in Int64(0)..<3000 {
        let text = key % 97 == 0 ? String(repeating: "long ", count: 3000) : "text of \(key)"
        let note: Value = key % 3 == 0 ? .null : .string("note \(key % 50)")
        items[key] = [.int(key), .string(text), .int(key % 40), note]
        _ = try transaction.insert(table: 0) { row in
          row.set(column: 0, int: key)
          row.set(column: 1, string: text)
          row.set(column: 2, int: key % 40)
          row.set(column: 3, value: note)
        }
      }
      for number in 0..<900 {
        let name = "name \(number)"
        named[name] = [.string(name), .double(Double(number))]
        _ = try transaction.insert(table: 1) { row in
          row.set(column: 0, string: name)
          row.set(column: 1, double: Double(number))
        }
      }
      for number in 0..<300 {
        _ = try transaction.insert(table: 2) { $0.set(column: 0, value: .data([UInt8](repeating: 7, count: number))) }
      }
      try transaction.commit()
    }

    /// What a store at `path` has of it. Wrong: an object that is not as it was written.
    func compare(_ path: String) throws -> (items: Int, named: Int, wrong: Int, lines: Int) {
      let engine = try Engine.open(
        EngineConfiguration(session: Session.Options(location: .file(path)), durability: .memory))
      defer { engine.close() }
      let types = StoreCheckTests.schema.types
      let pin = try engine.pin()
      var found = (items: 0, named: 0, wrong: 0, lines: try pin.view.table(2).count)
      try pin.view.table(0).forEachLeaf { (leaf) throws(StoreError) in
        for row in 0..<leaf.count {
          found.items += 1
          var values: [Value] = []
          for column in 0..<4 { values.append(try leaf.value(row, column: column, in: types[0])) }
          if items[leaf.key(row)] != values { found.wrong += 1 }
        }
        return true
      }
      try pin.view.table(1).forEachLeaf { (leaf) throws(StoreError) in
        for row in 0..<leaf.count {
          found.named += 1
          let values = [
            try leaf.value(row, column: 0, in: types[1]), try leaf.value(row, column: 1, in: types[1]),
          ]
          guard case .string(let name) = values[0], named[name] == values else {
            found.wrong += 1
            continue
          }
        }
        return true
      }
      return found
    }
  }

  private static func folder() throws -> String {
    let path =
      URL(fileURLWithPath: NSTemporaryDirectory()).resolvingSymlinksInPath().path + "/check-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  private func check(_ path: String) throws -> CheckReport {
    let image = try StoreImage(path)
    let slot = try #require(image.versions.first?.slot)
    return StoreCheck.run(image.view(slot), isChecked: image.isChecked)
  }

  /// Salvages `path`; returns what was said and what is there.
  private func salvage(_ path: String, _ sample: Sample) throws
    -> (types: [Salvage.TypeResult], found: (items: Int, named: Int, wrong: Int, lines: Int))?
  {
    let out = path + ".out"
    defer { for end in ["", ".lock", ".note"] { try? FileManager.default.removeItem(atPath: out + end) } }
    let image = try StoreImage(path)
    guard let schema = Salvage.schema(of: image) else { return nil }
    let engine = try Engine.open(
      EngineConfiguration(session: Session.Options(location: .file(out)), durability: .memory), schema)
    let types: [Salvage.TypeResult]
    do {
      defer { engine.close() }
      types = try Salvage.run(image, schema: schema, into: engine)
      #expect(try engine.check().isSound)
    }
    return (types, try sample.compare(out))
  }

  @Test func soundStore() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let sample = try Sample(folder + "/a.reef")
    let report = try check(sample.path)
    #expect(report.isSound, "\(report.problems)")
    #expect(report.types.map(\.rows) == [3000, 900, 300])
    #expect(report.types.map(\.indexEntries) == [6000, 900, 0])
    let engine = try Engine.open(
      EngineConfiguration(session: Session.Options(location: .file(sample.path)), durability: .memory))
    let open = try engine.check()
    #expect(open.isSound && open.nodes == report.nodes, "\(open.problems)")
    engine.close()
    let all = try #require(try salvage(sample.path, sample))
    #expect(all.types.allSatisfy { $0.lost + $0.incomplete + $0.older == 0 })
    #expect(all.found.items == 3000 && all.found.named == 900 && all.found.lines == 300 && all.found.wrong == 0)
  }

  /// One leaf is damaged: it is named with its objects, and all others are taken.
  @Test func damagedLeafIsNamed() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let sample = try Sample(folder + "/a.reef")
    var image = try StoreImage(sample.path)
    let slot = try #require(image.versions.first?.slot)
    if !image.isChecked { return }
    let leaf = try #require(try image.view(slot).table(0).leaf(for: 1000))
    let (first, count) = (leaf.key(0), leaf.count)
    let offset = leaf.pointer - UnsafeRawPointer(image.base)
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: sample.path))
    try file.seek(toOffset: UInt64(offset + DataLayout.Leaf.base))
    try file.write(contentsOf: Data([0xff, 0xff]))
    try file.close()
    image = try StoreImage(sample.path)
    let report = try check(sample.path)
    #expect(report.problems.first?.offset == offset, "\(report.problems)")
    #expect(report.problems.first?.place.hasPrefix("Item, objects \(first) ") == true, "\(report.problems)")
    // The slot of the version before, which the file may still name, has no objects at all.
    let taken = try #require(try salvage(sample.path, sample))
    #expect(taken.found.items == 3000 - count && taken.found.wrong == 0 && taken.found.named == 900)
    #expect(taken.types[0].lost == count)
  }

  /// An index entry under another value, in a file whose checksums fit: only comparing with the objects finds it.
  @Test func indexAgainstObjects() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let sample = try Sample(folder + "/a.reef")
    let image = try StoreImage(sample.path)
    let slot = try #require(image.versions.first?.slot)
    let view = image.view(slot)
    let (root, depth) = try view.table(0).index(0)
    var entry = root
    for level in stride(from: depth, to: 0, by: -1) {
      entry = try IndexView(view: view, root: entry, depth: level).enter(entry, level: level).children[0]
    }
    let node = try IndexView(view: view, root: entry, depth: 0).enter(entry, level: 0)
    let place = UnsafeMutablePointer(mutating: node.objectKeys)
    #expect(StoreCheck.run(view, isChecked: false).isSound)
    swap(&place[node.count - 1], &place[0])
    let report = StoreCheck.run(view, isChecked: false)
    #expect(!report.isSound && report.problems.allSatisfy { $0.place.contains("index of size") }, "\(report.problems)")
  }

  /// A blob that says it holds more than its node, in a file whose checksums fit: reading refuses it, and so does a check.
  @Test func blobLongerThanItsNode() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let sample = try Sample(folder + "/a.reef")
    let image = try StoreImage(sample.path)
    let view = image.view(try #require(image.versions.first?.slot))
    // Object 0 has a long text.
    let leaf = try #require(try view.table(0).leaf(for: 0))
    var blobs: [UnsafeMutableRawPointer] = []
    var nodes = [UnsafeMutableRawPointer(mutating: leaf.pointer)]
    while let node = nodes.popLast() {
      if NodeView(pointer: node, head: node.load(as: UInt64.self)).kind == NodeKind.blob { blobs.append(node) }
      let isSound = NodeChildren.forEach(node) { (place) in
        let ref = UInt32(truncatingIfNeeded: place.loadUnaligned(as: UInt64.self))
        nodes.append(image.base + (Int(ref) << DataLayout.grainShift))
      }
      #expect(isSound)
    }
    let blob = try #require(blobs.first)
    let length = Int(blob.load(as: UInt64.self) >> 32)
    blob.storeBytes(
      of: UInt64(length - DataLayout.Blob.data + 1), toByteOffset: DataLayout.Blob.bytes, as: UInt64.self)
    let report = StoreCheck.run(view, isChecked: false)
    #expect(report.problems.contains { $0.what == "a blob is longer than its node" }, "\(report.problems)")
  }

  /// Random bytes: a check that says "sound" is right, and a salvage never takes what was not written. Both end.
  @Test func randomDamage() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let sample = try Sample(folder + "/a.reef")
    let whole = try Data(contentsOf: URL(fileURLWithPath: sample.path))
    var random = TestRandom(seed: freshSeed("check"))
    if !(try StoreImage(sample.path)).isChecked { return }
    var (sound, damaged, unreadable) = (0, 0, 0)
    for round in 0..<120 {
      var bytes = whole
      for _ in 0..<(1 + random.below(12)) {
        let at = random.chance(10) ? random.below(4096 * 4) : 65536 + random.below(bytes.count - 65536)
        let length = min(1 + random.below(random.chance(4) ? 4000 : 8), bytes.count - at)
        for place in at..<(at + length) { bytes[place] = UInt8(truncatingIfNeeded: random.next()) }
      }
      if random.chance(10) { bytes = bytes.prefix(random.below(bytes.count)) }
      let path = folder + "/b.reef"
      try bytes.write(to: URL(fileURLWithPath: path))
      let image = try StoreImage(path)
      guard let slot = image.versions.first?.slot, slot.version > 1 else {
        unreadable += 1
        continue
      }
      let report = StoreCheck.run(image.view(slot), isChecked: true)
      guard let taken = try salvage(path, sample) else {
        #expect(!report.isSound, "round \(round)")
        unreadable += 1
        continue
      }
      let incomplete = taken.types.reduce(0) { $0 + $1.incomplete }
      #expect(taken.found.wrong <= incomplete, "round \(round): \(taken)")
      if report.isSound {
        sound += 1
        #expect(
          taken.found.items == 3000 && taken.found.named == 900 && taken.found.lines == 300 && incomplete == 0,
          "round \(round): \(taken)")
      } else {
        damaged += 1
      }
    }
    print("check: \(sound) sound, \(damaged) damaged, \(unreadable) of which nothing is left")
    #expect(sound > 0 && damaged > 0)
  }
}

import CXXHash
import ReefSystem

/// What a check found.
package struct CheckReport: Sendable {
  /// One thing that is not as it should be.
  package struct Problem: Sendable, CustomStringConvertible {
    /// Byte in the file where it was met; nil: none.
    package let offset: Int?
    /// "Spaceship, keys 1024 … 1279" or "the schema".
    package let place: String
    package let what: String

    package var description: String { "\(place): \(what)" + (offset.map { ", at byte \($0)" } ?? "") }
  }

  package struct TypeCount: Sendable {
    package let name: String
    package var rows = 0
    package var leaves = 0
    package var bytes = 0
    package var indexEntries = 0
  }

  package var version: UInt64 = 0
  package var nodes = 0
  package var bytes = 0
  package var types: [TypeCount] = []
  package var problems: [Problem] = []
  package var problemCount = 0
  package var isSound: Bool { problemCount == 0 }

  mutating func note(_ offset: Int?, _ place: String, _ what: String) {
    problemCount += 1
    if problems.count < 1000 { problems.append(Problem(offset: offset, place: place, what: what)) }
  }
}

/// Verifies everything that a version reaches: each node against the checksum that its parent knows and against its own
/// counts, each table's rows against its count and their order, each index against its table.
///
/// It ends on any bytes: no node is entered twice, and depths are bounded. It reads by `view` alone, so the version must be
/// pinned, or the bytes nobody else's.
package struct StoreCheck {
  private let view: ReadView
  private let isChecked: Bool
  private var seen: Set<UInt32> = []
  private var report = CheckReport()
  /// Whether a node's block is in use, by the allocator's records; nil: they are not to be believed now.
  private let isKnown: ((UInt32, Int) -> Bool)?
  private static let maximumDepth = 64

  private init(_ view: ReadView, isChecked: Bool, isKnown: ((UInt32, Int) -> Bool)?) {
    self.view = view
    self.isChecked = isChecked
    self.isKnown = isKnown
    report.version = view.version
  }

  /// `isKnown`: asked about each node's ref and length.
  package static func run(
    _ view: ReadView, isChecked: Bool, isKnown: ((UInt32, Int) -> Bool)? = nil
  ) -> CheckReport {
    var check = StoreCheck(view, isChecked: isChecked, isKnown: isKnown)
    check.run()
    return check.report
  }

  private mutating func run() {
    guard enter(view.root, "the root") != nil else { return }
    do throws(StoreError) {
      let root = try view.rootNode()
      let schemaEntry = root.pointer.load(fromByteOffset: DataLayout.Root.schema, as: UInt64.self)
      if schemaEntry & 0xffff_ffff != 0, enter(schemaEntry, "the schema") == nil { return }
      let stored = try StoredSchema(reading: view, fingerprint: 0, path: "")
      for (index, type) in stored.schema.types.enumerated() { try table(index, type) }
    } catch {
      report.note(offset(of: view.root), "the root", Self.text(error))
    }
  }

  private static func text(_ error: StoreError) -> String {
    if case .damaged(_, let what) = error { return what }
    return "\(error)"
  }

  private func offset(of entry: UInt64) -> Int { Int(entry & 0xffff_ffff) << DataLayout.grainShift }

  /// A node, held against its checksum; nil where it cannot be used, which is noted. Entered once only.
  private mutating func enter(_ entry: UInt64, _ place: String) -> NodeView? {
    let ref = UInt32(truncatingIfNeeded: entry)
    let offset = offset(of: entry)
    guard offset >= DataLayout.extentSize, UInt64(offset) + UInt64(DataLayout.Node.size) <= view.limit else {
      report.note(offset, place, "a ref leads out of the file")
      return nil
    }
    guard seen.insert(ref).inserted else {
      report.note(offset, place, "a node is reached twice")
      return nil
    }
    let pointer = view.base + offset
    let head = pointer.load(as: UInt64.self)
    let length = Int(head >> 32)
    guard length >= DataLayout.Node.size, UInt64(offset) + UInt64(length) <= view.limit else {
      report.note(offset, place, "a node is longer than the file")
      return nil
    }
    if isChecked, XXH3_64bits(pointer, length) & 0xffff_ffff != entry >> 32 {
      report.note(offset, place, "a node is not what its parent's checksum says")
      return nil
    }
    let node = NodeView(pointer: pointer, head: head)
    guard isFilled(node) else {
      report.note(offset, place, "a blob is longer than its node")
      return nil
    }
    if let isKnown, !isKnown(ref, length) { report.note(offset, place, "the records of free space do not know a node") }
    report.nodes += 1
    report.bytes += length
    return node
  }

  /// A blob counts its bytes apart from its node's length; what reads it holds one against the other, and so does a check.
  private func isFilled(_ node: NodeView) -> Bool {
    guard node.kind == NodeKind.blob else { return true }
    guard node.length >= DataLayout.Blob.data else { return false }
    let bytes = node.pointer.load(fromByteOffset: DataLayout.Blob.bytes, as: UInt64.self)
    return bytes <= UInt64(node.length - DataLayout.Blob.data)
  }

  /// Enters what hangs below a node. False: some of it cannot be used.
  private mutating func below(_ node: NodeView, _ place: String, depth: Int = 0) -> Bool {
    guard depth < Self.maximumDepth else { return false }
    var entries: [UInt64] = []
    let isSound = NodeChildren.forEach(node.pointer) { entries.append($0.loadUnaligned(as: UInt64.self)) }
    guard isSound else {
      report.note(node.pointer - view.base, place, "a node's counts do not fit its length")
      return false
    }
    var isWhole = true
    for entry in entries {
      guard let child = enter(entry, place), below(child, place, depth: depth + 1) else {
        isWhole = false
        continue
      }
    }
    return isWhole
  }

  // MARK: Tables

  private struct Walk {
    let type: TypeSchema
    var count: CheckReport.TypeCount
    var last: Int64?
    var isWhole = true
    var keys: [Int64] = []
  }

  private mutating func table(_ index: Int, _ type: TypeSchema) throws(StoreError) {
    let entry = try view.tableEntry(index)
    var walk = Walk(type: type, count: CheckReport.TypeCount(name: type.name))
    defer { report.types.append(walk.count) }
    guard entry & 0xffff_ffff != 0 else { return }
    guard enter(entry, type.name) != nil else { return }
    let table: TableView
    do throws(StoreError) { table = try TableView(view: view, entry: entry) } catch {
      report.note(offset(of: entry), type.name, Self.text(error))
      return
    }
    if table.rootEntry != 0 { rows(table.rootEntry, level: table.depth, low: .min, high: .max, &walk) }
    if walk.isWhole, walk.count.rows != table.count {
      report.note(offset(of: entry), type.name, "there are \(walk.count.rows) objects, not \(table.count)")
    }
    walk.keys.sort()
    if case .indexed(let column) = type.keyKind {
      self.index("key index", table.keyIndexRoot, table.keyIndexDepth, column, table, &walk)
    }
    for (position, column) in type.properties.indices.filter({ type.properties[$0].isIndexed }).enumerated() {
      do throws(StoreError) {
        let (root, depth) = try table.index(position)
        self.index("index of \(type.properties[column].name)", root, depth, column, table, &walk)
      } catch { report.note(offset(of: entry), type.name, Self.text(error)) }
    }
  }

  private static func range(_ type: TypeSchema, _ low: Int64, _ high: Int64) -> String {
    if low == .min && high == .max { return "\(type.name), all objects" }
    return "\(type.name), objects \(low == .min ? "…" : "\(low)") … \(high == .max ? "" : "\(high)")"
  }

  private mutating func rows(_ entry: UInt64, level: Int, low: Int64, high: Int64, _ walk: inout Walk) {
    let place = Self.range(walk.type, low, high)
    guard let node = enter(entry, place) else {
      walk.isWhole = false
      return
    }
    if level == 0 { return leaf(entry, node, place, &walk) }
    let inner: InnerView
    do throws(StoreError) { inner = try view.inner(entry) } catch {
      walk.isWhole = false
      report.note(offset(of: entry), place, Self.text(error))
      return
    }
    for child in 0..<inner.count where inner.entry(child) != 0 {
      let next = child + 1 < inner.count ? inner.lowKey(child + 1) : high
      rows(inner.entry(child), level: level - 1, low: inner.lowKey(child), high: next == .min ? high : next, &walk)
    }
  }

  private mutating func leaf(_ entry: UInt64, _ node: NodeView, _ place: String, _ walk: inout Walk) {
    let isWhole = below(node, place)
    if !isWhole { walk.isWhole = false }
    do throws(StoreError) {
      let leaf = try view.leaf(entry)
      for row in 0..<leaf.count {
        let key = leaf.key(row)
        if let last = walk.last, key <= last {
          walk.isWhole = false
          report.note(offset(of: entry), place, "object \(key) comes after \(last)")
          break
        }
        walk.last = key
        walk.keys.append(key)
      }
      walk.count.rows += leaf.count
      walk.count.leaves += 1
      walk.count.bytes += node.length
      guard isWhole else { return }
      for column in walk.type.properties.indices {
        for row in 0..<leaf.count { _ = try leaf.value(row, column: column, in: walk.type) }
      }
    } catch {
      walk.isWhole = false
      report.note(offset(of: entry), place, Self.text(error))
    }
  }

  // MARK: Indexes

  private mutating func index(
    _ name: String, _ root: UInt64, _ depth: Int, _ column: Int, _ table: TableView, _ walk: inout Walk
  ) {
    let place = "\(walk.type.name), \(name)"
    let index = IndexView(view: view, root: root, depth: depth)
    if root & 0xffff_ffff != 0 {
      guard let node = enter(root, place), below(node, place) else { return }
    }
    do throws(StoreError) {
      let entries = try index.check().entries
      walk.count.indexEntries += entries
      guard walk.isWhole else { return }
      if entries != walk.keys.count {
        report.note(offset(of: root), place, "it has \(entries) entries for \(walk.keys.count) objects")
        return
      }
      // As many entries as objects, each once: what is left is that each stands under its object's value.
      let property = walk.type.properties[column]
      var key = IndexKey()
      for object in walk.keys {
        guard let row = try table.find(key: object) else {
          report.note(nil, place, "object \(object) is not found by its key")
          return
        }
        let value = try row.leaf.value(row.row, column: column, in: walk.type)
        guard key.encode(value, type: property.type, isOptional: property.isOptional) else { continue }
        let stands = try key.withEncoded { (encoded) throws(StoreError) in try index.contains(encoded, object) }
        if !stands {
          report.note(offset(of: root), place, "object \(object) does not stand under its value")
          return
        }
      }
    } catch { report.note(offset(of: root), place, Self.text(error)) }
  }
}

/// The writing side of one table: a copy-on-write B+tree whose leaves hold up to 256 rows by column.
///
/// At most one leaf is *open*: unpacked in a `LeafScratch`, so that inserting rows in key order, or deleting neighbours,
/// packs each leaf once. Everything else changes the column nodes of the transaction in place. `sync` packs the open
/// leaf and writes the counters; the tree is whole and readable after it.
///
/// One per table and process, reused from transaction to transaction. All methods need the writer word.
@usableFromInline package final class TableWriter: @unchecked Sendable {
  package let index: Int
  package let schema: TypeSchema
  package let keyKind: TypeSchema.KeyKind
  let scratch: LeafScratch
  /// A row on its way into another leaf than the open one, and single columns being rebuilt.
  let spare: LeafScratch
  package let state: UnsafeMutablePointer<State>
  let path: UnsafeMutablePointer<PathStep>
  /// One per column, while a row is inserted in place.
  let gaps: UnsafeMutablePointer<ColumnGap>
  let bytesColumns: [Int]
  /// Columns with a secondary index, in the order of their roots in the table's node.
  package let indexedColumns: [Int]
  /// Whether changing a column touches nothing else.
  private let plain: [Bool]
  package var hasIndexes: Bool { !indexedColumns.isEmpty }

  struct PathStep {
    var node: UnsafeMutableRawPointer
    var index: Int
  }

  package init(index: Int, schema: TypeSchema) {
    self.index = index
    self.schema = schema
    keyKind = schema.keyKind
    scratch = LeafScratch(schema)
    spare = LeafScratch(schema)
    path = .allocate(capacity: TableView.maximumDepth + 2)
    path.initialize(
      repeating: PathStep(node: UnsafeMutableRawPointer(scratch.keys), index: 0), count: TableView.maximumDepth + 2)
    gaps = .allocate(capacity: max(1, scratch.columns))
    gaps.initialize(
      repeating: ColumnGap(node: UnsafeMutableRawPointer(scratch.keys), length: 0), count: max(1, scratch.columns))
    let indexed = schema.indexedColumns
    indexedColumns = indexed
    let plain = schema.properties.indices.map { !indexed.contains($0) && schema.key != $0 }
    self.plain = plain
    state = .allocate(capacity: 1)
    state.initialize(to: State(scratch, spare: spare, schema, path: path, plain: plain))
    bytesColumns = schema.properties.indices.filter {
      schema.properties[$0].type == .string || schema.properties[$0].type == .data
    }
  }

  @inline(__always) func isPlain(_ column: Int) -> Bool { plain[column] }

  deinit {
    state.pointee.scalars.deallocate()
    state.deallocate()
    path.deallocate()
    gaps.deallocate()
  }

  /// Begins with what the transaction's root says of the table.
  package func load(_ space: inout Space, entry: UInt64, transaction: UInt64) throws(StoreError) {
    let node = try space.enter(entry, kind: NodeKind.table)
    guard state.pointee.load(node, space, transaction: transaction) else {
      throw space.damaged("the node of table \(schema.name)")
    }
  }

  // MARK: Root and depth lie in the table's node, which must be owned to be set

  var root: UInt64 { state.pointee.node.load(fromByteOffset: DataLayout.Table.root, as: UInt64.self) }
  var depth: Int { Int(state.pointee.node.load(fromByteOffset: DataLayout.Table.depth, as: UInt32.self)) }
  func setRoot(_ entry: UInt64, depth: Int) {
    state.pointee.node.storeBytes(of: entry, toByteOffset: DataLayout.Table.root, as: UInt64.self)
    state.pointee.node.storeBytes(of: UInt32(depth), toByteOffset: DataLayout.Table.depth, as: UInt32.self)
  }
  func setRoot(_ entry: UInt64) {
    state.pointee.node.storeBytes(of: entry, toByteOffset: DataLayout.Table.root, as: UInt64.self)
  }

  /// Packs the open leaf and writes the counters. The table's node must be owned.
  package func sync(_ space: inout Space) throws(StoreError) {
    try flush(&space)
    state.pointee.writeCounters()
  }
}

extension TypeSchema {
  /// Columns with a secondary index. A String or UUID key has its key index instead, an Int key needs none.
  package var indexedColumns: [Int] { properties.indices.filter { properties[$0].isIndexed && key != $0 } }
}

import ReefSystem

/// Secondary indexes of the table: their roots lie in its node.
extension TableWriter {
  /// Changes one index and writes back where it begins. The table's node must be owned.
  @inline(__always)
  func changeIndex(
    _ position: Int, _ space: inout Space,
    _ body: (inout IndexWriter, inout Space) throws(StoreError) -> Void
  ) throws(StoreError) {
    let place = state.pointee.node + (DataLayout.Table.indexes &+ position &* 16)
    var index = IndexWriter(
      root: place.load(as: UInt64.self),
      depth: Int(min(place.load(fromByteOffset: 8, as: UInt64.self), UInt64(DataLayout.Index.maximumDepth))))
    try body(&index, &space)
    place.storeBytes(of: index.root, as: UInt64.self)
    place.storeBytes(of: UInt64(index.depth), toByteOffset: 8, as: UInt64.self)
  }

  /// An empty table's node.
  static func empty(_ schema: TypeSchema, _ space: inout Space) throws(StoreError) -> UInt64 {
    let indexes = schema.indexedColumns.count
    let length = DataLayout.Table.indexes + indexes * 16
    let node = try space.allocate(kind: NodeKind.table, form: 0, shape: 0, length: length)
    (node + DataLayout.Node.size).zero(length - DataLayout.Node.size)
    node.storeBytes(of: UInt32(schema.properties.count), toByteOffset: DataLayout.Table.columns, as: UInt32.self)
    node.storeBytes(of: UInt32(indexes), toByteOffset: DataLayout.Table.indexCount, as: UInt32.self)
    return UInt64(space.ref(of: node))
  }
}

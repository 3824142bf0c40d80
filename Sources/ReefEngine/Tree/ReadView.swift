/// One version of a store, as bytes: where the file is mapped, how far it may be read, and the root of the version.
///
/// A plain value. It reads mapped memory in place, so it and everything reached through it is valid only while the
/// version is pinned. Every node is entered through `node(_:)` or one of the functions built on it, which check once
/// that the node lies within the file; arithmetic on what the file says cannot trap.
@usableFromInline package struct ReadView: @unchecked Sendable {
  @usableFromInline package let base: UnsafeRawPointer
  /// Bytes that may be read from `base`: the logical size of the version.
  @usableFromInline package let limit: UInt64
  /// Entry of the root node.
  @usableFromInline package let root: UInt64
  @usableFromInline package let version: UInt64

  @inlinable package init(base: UnsafeRawPointer, limit: UInt64, root: UInt64, version: UInt64) {
    self.base = base
    self.limit = limit
    self.root = root
    self.version = version
  }
}

/// A node's place and the first eight bytes of its header, read once: what was checked is what is used, even when
/// another process scribbles over the file.
@usableFromInline package struct NodeView {
  @usableFromInline package let pointer: UnsafeRawPointer
  @usableFromInline package let head: UInt64

  @inlinable @inline(__always)
  package init(pointer: UnsafeRawPointer, head: UInt64) {
    self.pointer = pointer
    self.head = head
  }

  @inlinable package var kind: UInt8 { @inline(__always) get { UInt8(truncatingIfNeeded: head) } }
  @inlinable package var form: UInt8 { @inline(__always) get { UInt8(truncatingIfNeeded: head &>> 8) } }
  @inlinable package var count: Int { @inline(__always) get { Int(truncatingIfNeeded: head &>> 16 & 0x1ff) } }
  /// Length of each value of a fixed-length column.
  @inlinable package var valueLength: Int { @inline(__always) get { Int(truncatingIfNeeded: head &>> 25 & 0x7f) } }
  /// Bytes used, header included.
  @inlinable package var length: Int { @inline(__always) get { Int(truncatingIfNeeded: head &>> 32) } }
  @inlinable package var stamp: UInt64 { pointer.load(fromByteOffset: DataLayout.Node.stamp, as: UInt64.self) }
}

extension ReadView {
  /// Enters a node: the one place where a ref from the file becomes a pointer.
  @inlinable @inline(__always)
  package func node(_ entry: UInt64) throws(StoreError) -> NodeView {
    let offset = (entry & 0xffff_ffff) &<< UInt64(DataLayout.grainShift)
    guard offset &+ UInt64(DataLayout.Node.size) <= limit else {
      if let node = provenNode(entry) { return node }
      throw unproven("a ref leads out of the file")
    }
    let pointer = base + Int(truncatingIfNeeded: offset)
    let head = pointer.load(as: UInt64.self)
    let length = head &>> 32
    guard length >= UInt64(DataLayout.Node.size), offset &+ length <= limit else {
      throw damaged("a node is longer than the file")
    }
    return NodeView(pointer: pointer, head: head)
  }

  /// Enters a node that must be of `kind` and at least `length` bytes long.
  @inlinable @inline(__always)
  package func node(_ entry: UInt64, kind: UInt8, length: Int) throws(StoreError) -> NodeView {
    let node = try node(entry)
    guard node.kind == kind, node.length >= length else { throw damaged("a node is not of the kind expected here") }
    return node
  }

  /// Kept out of line so that the checks inlined into every reader stay a compare and a branch.
  @inline(never) @usableFromInline
  package func damaged(_ what: StaticString) -> StoreError {
    revocationError(what) ?? .damaged(path: SessionRegistry.path(mappedAt: base) ?? "", what: what.description)
  }
}

extension ReadView {
  @inlinable package func rootNode() throws(StoreError) -> NodeView {
    try node(root, kind: NodeKind.root, length: DataLayout.Root.tables)
  }

  /// Number of tables in this version's stored schema.
  @inlinable package var tableCount: Int {
    get throws(StoreError) {
      let node = try rootNode()
      let count = Int(node.pointer.load(fromByteOffset: DataLayout.Root.tableCount, as: UInt32.self))
      guard DataLayout.Root.tables &+ count &* DataLayout.entrySize <= node.length else {
        throw damaged("the root node lists more tables than it holds")
      }
      return count
    }
  }

  /// Entry of the node of the table at `index` in the stored schema; 0 where the version has no such table.
  @inlinable package func tableEntry(_ index: Int) throws(StoreError) -> UInt64 {
    let node = try rootNode()
    let count = Int(node.pointer.load(fromByteOffset: DataLayout.Root.tableCount, as: UInt32.self))
    guard index >= 0, index < count else { return 0 }
    let offset = DataLayout.Root.tables &+ index &* DataLayout.entrySize
    guard offset &+ DataLayout.entrySize <= node.length else {
      throw damaged("the root node lists more tables than it holds")
    }
    return node.pointer.load(fromByteOffset: offset, as: UInt64.self)
  }

  /// The table at `index` in the stored schema. A table that this version does not have yet reads as empty.
  @inlinable package func table(_ index: Int) throws(StoreError) -> TableView {
    try TableView(view: self, entry: tableEntry(index))
  }

  /// The bytes of a blob node, in place.
  @inlinable package func blob(_ entry: UInt64) throws(StoreError) -> UnsafeRawBufferPointer {
    let offset = (entry & 0xffff_ffff) &<< UInt64(DataLayout.grainShift)
    guard offset &+ UInt64(DataLayout.Blob.data) <= limit else { return try provenBlob(entry) }
    let pointer = base + Int(truncatingIfNeeded: offset)
    let room = limit &- offset &- UInt64(DataLayout.Blob.data)
    let bytes = pointer.load(fromByteOffset: DataLayout.Blob.bytes, as: UInt64.self)
    guard pointer.load(as: UInt8.self) == NodeKind.blob, bytes <= room else {
      throw damaged("a blob is longer than the file")
    }
    return UnsafeRawBufferPointer(start: pointer + DataLayout.Blob.data, count: Int(truncatingIfNeeded: bytes))
  }

  @inline(never) @usableFromInline
  func provenBlob(_ entry: UInt64) throws(StoreError) -> UnsafeRawBufferPointer {
    guard let node = provenNode(entry) else {
      noteUnreadValue()
      throw unproven("a ref leads out of the file")
    }
    guard node.kind == NodeKind.blob, node.length >= DataLayout.Blob.data else { throw damaged("a blob is too short") }
    let bytes = node.pointer.load(fromByteOffset: DataLayout.Blob.bytes, as: UInt64.self)
    guard bytes <= UInt64(truncatingIfNeeded: node.length &- DataLayout.Blob.data) else {
      throw damaged("a blob is longer than its node")
    }
    return UnsafeRawBufferPointer(start: node.pointer + DataLayout.Blob.data, count: Int(truncatingIfNeeded: bytes))
  }
}

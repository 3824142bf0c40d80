import CXXHash
import ReefSystem

/// Builds one record of the redo ring: the nodes of a version that were made after another, as they lie in the file.
struct RedoRecordBuilder: ~Copyable {
  private typealias Field = DataLayout.Record
  /// Whole blocks, aligned to them.
  let bytes: UnsafeMutableRawPointer
  let capacity: Int
  private(set) var length = 0
  private var count: UInt64 = 0
  private var isTooLarge = false

  init(capacity: Int) {
    self.capacity = capacity
    bytes = .allocate(byteCount: capacity, alignment: DataLayout.redoBlock)
  }

  deinit { bytes.deallocate() }

  /// Copies every node below `root` that was made after `base`. False: it does not fit, or there is a node that only a
  /// checkpoint can carry. The version must be held.
  mutating func collect(root: UInt64, after base: UInt64, in data: MappedFile, limit: UInt64) throws(StoreError) -> Bool
  {
    length = Field.nodes
    count = 0
    isTooLarge = false
    try add(root, base, UnsafeRawPointer(data.base), limit, data.path, depth: 0)
    return !isTooLarge
  }

  private mutating func add(
    _ entry: UInt64, _ base: UInt64, _ file: UnsafeRawPointer, _ limit: UInt64, _ path: String, depth: Int
  ) throws(StoreError) {
    let offset = (entry & 0xffff_ffff) << UInt64(DataLayout.grainShift)
    guard offset >= UInt64(DataLayout.extentSize), offset + 16 <= limit else {
      throw .damaged(path: path, what: "a ref leads out of the file")
    }
    let node = file + Int(offset)
    let made = node.load(fromByteOffset: DataLayout.Node.stamp, as: UInt64.self) & DataLayout.versionMask
    if made <= base || isTooLarge { return }
    let size = Int(node.load(fromByteOffset: DataLayout.Node.length, as: UInt32.self))
    guard size >= 16, offset + UInt64(size) <= limit else {
      throw .damaged(path: path, what: "a node leads out of the file")
    }
    // What the record holds ends a wide walk, this a deep one.
    guard depth < TreeWalk.maximumDepth else {
      throw .damaged(path: path, what: "a node of the newest version leads back to itself")
    }
    let padded = (size + 7) & ~7
    let ref = UInt32(truncatingIfNeeded: entry)
    guard size < 1 << 24, length + DataLayout.RecordNode.bytes + padded <= capacity,
      let sizeClass = Space.sizeClass(file, of: ref)
    else {
      isTooLarge = true
      return
    }
    let place = bytes + length
    place.storeBytes(of: ref, toByteOffset: DataLayout.RecordNode.ref, as: UInt32.self)
    place.storeBytes(
      of: UInt32(size) | UInt32(sizeClass) << 24, toByteOffset: DataLayout.RecordNode.shape, as: UInt32.self)
    let copy = place + DataLayout.RecordNode.bytes
    if padded != size { copy.storeBytes(of: 0, toByteOffset: padded - 8, as: UInt64.self) }
    copy.copyMemory(from: node, byteCount: size)
    length += DataLayout.RecordNode.bytes + padded
    count += 1
    let isSound = try NodeChildren.forEach(node) { place throws(StoreError) in
      try add(place.loadUnaligned(as: UInt64.self), base, file, limit, path, depth: depth + 1)
    }
    guard isSound else { throw .damaged(path: path, what: "a node of the newest version is not sound") }
  }

  /// Bytes of the record, padded to whole blocks.
  var paddedLength: Int { (length + DataLayout.redoBlock - 1) & ~(DataLayout.redoBlock - 1) }

  /// Fills the record's head in and returns its checksum, which the next record carries.
  func finish(_ slot: RootSlot, base: UInt64, state: RedoRing.State) -> UInt64 {
    func put(_ offset: Int, _ value: UInt64) { bytes.storeBytes(of: value, toByteOffset: offset, as: UInt64.self) }
    put(Field.length, UInt64(length))
    put(Field.session, slot.session)
    put(Field.base, base)
    put(Field.version, slot.version)
    put(Field.chain, state.chain)
    put(Field.position, state.head)
    put(Field.root, slot.root)
    put(Field.extents, slot.extents)
    put(Field.fingerprint, slot.fingerprint)
    put(Field.flags, slot.flags)
    put(Field.time, slot.time)
    put(Field.generation, slot.generation)
    put(Field.nodeCount, count)
    let checksum = XXH3_64bits(bytes + Field.length, length - Field.length)
    put(Field.checksum, checksum)
    (bytes + length).zero(paddedLength - length)
    return checksum
  }
}

/// One record as read back from the ring: whole, and the one that belongs at its place.
struct RedoRecord {
  private typealias Field = DataLayout.Record
  private let bytes: [UInt8]
  let checksum: UInt64
  let base: UInt64
  /// The version that it leads to, as a slot would name it.
  let slot: RootSlot

  /// Reads the record at a position; nil: none that belongs there is.
  init?(_ ring: UnsafeRawBufferPointer, position: UInt64, chain: UInt64, session: UInt64, epoch: UInt64) {
    guard let start = ring.baseAddress, ring.count >= DataLayout.redoBlock,
      ring.count % DataLayout.redoBlock == 0
    else { return nil }
    let offset = Int(position % UInt64(ring.count))
    guard offset % DataLayout.redoBlock == 0 else { return nil }
    let head = start + offset
    let length = head.load(fromByteOffset: Field.length, as: UInt64.self)
    guard length >= UInt64(Field.nodes), length <= UInt64(ring.count) else { return nil }
    let count = Int(length)
    let copied = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      let first = min(count, ring.count - offset)
      if let target = UnsafeMutableRawPointer(buffer.baseAddress) {
        target.copyMemory(from: head, byteCount: first)
        (target + first).copyMemory(from: start, byteCount: count - first)
      }
      filled = count
    }
    func word(_ offset: Int) -> UInt64 {
      copied.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
    }
    let sum = copied.withUnsafeBytes { bytes -> UInt64 in
      guard let start = bytes.baseAddress else { return 0 }
      return XXH3_64bits(start + Field.length, count - Field.length)
    }
    guard sum == word(Field.checksum) || Mutant.lives(.recordUnchecked), word(Field.session) == session,
      word(Field.chain) == chain || Mutant.lives(.replayAnyChain),
      word(Field.position) == position
    else { return nil }
    var slot = RootSlot()
    slot.version = word(Field.version)
    slot.root = word(Field.root)
    slot.extents = word(Field.extents)
    slot.session = session
    slot.epoch = epoch
    slot.fingerprint = word(Field.fingerprint)
    slot.flags = word(Field.flags)
    slot.time = word(Field.time)
    slot.generation = word(Field.generation)
    bytes = copied
    checksum = sum
    base = word(Field.base)
    self.slot = slot
  }

  /// Blocks that it takes in the ring.
  var paddedLength: UInt64 {
    UInt64((bytes.count + DataLayout.redoBlock - 1) / DataLayout.redoBlock * DataLayout.redoBlock)
  }

  struct Node {
    var ref: UInt32
    var sizeClass: Int
    var bytes: ArraySlice<UInt8>
  }

  /// Its nodes; nil where the list does not end where the record does.
  func nodes() -> [Node]? {
    typealias Item = DataLayout.RecordNode
    var nodes: [Node] = []
    var at = Field.nodes
    while at < bytes.count {
      guard at + Item.bytes <= bytes.count else { return nil }
      let (ref, shape) = bytes.withUnsafeBytes {
        (
          $0.loadUnaligned(fromByteOffset: at + Item.ref, as: UInt32.self),
          $0.loadUnaligned(fromByteOffset: at + Item.shape, as: UInt32.self)
        )
      }
      let length = Int(shape & 0xff_ffff)
      let start = at + Item.bytes
      guard length >= DataLayout.Node.size, start + length <= bytes.count else { return nil }
      nodes.append(Node(ref: ref, sizeClass: Int(shape >> 24), bytes: bytes[start..<(start + length)]))
      at = start + (length + 7) & ~7
    }
    return nodes
  }
}

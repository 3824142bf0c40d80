import ReefSystem

/// What the redo ring holds beyond the newest durable slot, read before anything is stored.
struct Replay {
  /// The newest version that records lead to, without a gap; the durable slot's own where there are none.
  private(set) var reached: RootSlot
  private let durable: RootSlot
  /// The latest bytes of each node in the records.
  private var nodes: [UInt32: RedoRecord.Node] = [:]

  /// Reads records from the slot's position while they hold and follow one another, and not a step further: whatever lies
  /// beyond the first that does not hold was never acknowledged.
  init(after durable: RootSlot, in data: MappedFile) throws(StoreError) {
    self.durable = durable
    reached = durable
    guard durable.ringLength != 0, !durable.isClean, !Mutant.lives(.replayNothing) else { return }
    guard let range = Recovery.ring(of: durable) else {
      throw .damaged(path: data.path, what: "the durable slot's redo ring lies outside the file")
    }
    let ring = UnsafeRawBufferPointer(
      start: data.base + range.lowerBound << DataLayout.extentShift, count: range.count << DataLayout.extentShift)
    var (position, chain) = (durable.ringPosition, durable.chain)
    // No more than the ring holds: a record is a block at least.
    for _ in 0..<(ring.count / DataLayout.redoBlock) {
      guard
        let record = RedoRecord(
          ring, position: position, chain: chain, session: durable.session, epoch: durable.epoch)
      else { return }
      // Begun before the slot was written: its nodes lie in the slot's tree.
      if record.slot.version > reached.version {
        guard record.base <= reached.version || Mutant.lives(.replayAnyBase), record.slot.extents <= durable.extents,
          let more = record.nodes()
        else {
          return
        }
        for node in more { nodes[node.ref] = node }
        let boot = reached.boot
        reached = record.slot
        reached.boot = boot
      }
      position &+= record.paddedLength
      chain = record.checksum
    }
  }

  var isEmpty: Bool { reached.version == durable.version }

  /// The nodes of the version reached that a power loss may have kept from the file: each has the checksum that its
  /// parent knows, and fits where it shall lie. Throws where the tree is not whole.
  private func missing(_ data: MappedFile, _ space: borrowing Space) throws(StoreError) -> [RedoRecord.Node] {
    var found: [RedoRecord.Node] = []
    var seen: Set<UInt32> = []
    var entries = [reached.root]
    let limit = reached.extents << UInt64(DataLayout.extentShift)
    while let entry = entries.popLast() {
      let ref = UInt32(truncatingIfNeeded: entry)
      let offset = UInt64(ref) << UInt64(DataLayout.grainShift)
      guard offset >= UInt64(DataLayout.extentSize), offset + 16 <= limit else {
        throw .damaged(path: data.path, what: "a ref of the redo ring leads out of the file")
      }
      if !seen.insert(ref).inserted { continue }
      guard let node = nodes[ref], Replay.sum(node.bytes) == entry >> 32 else {
        // Older than the slot: the file has it.
        let place = data.base + Int(offset)
        let length = UInt64(place.load(fromByteOffset: DataLayout.Node.length, as: UInt32.self))
        guard length >= 16, offset + length <= limit, Checks.sum(place) == entry >> 32 else {
          throw .damaged(path: data.path, what: "a node that the redo ring builds on is not there")
        }
        continue
      }
      guard space.isBlock(ref, sizeClass: node.sizeClass, length: node.bytes.count) else {
        throw .damaged(path: data.path, what: "a node of the redo ring lies in no block")
      }
      found.append(node)
      let isSound = node.bytes.withUnsafeBytes { bytes -> Bool in
        guard let start = bytes.baseAddress else { return false }
        let length = Int(start.loadUnaligned(fromByteOffset: DataLayout.Node.length, as: UInt32.self))
        guard length == bytes.count else { return false }
        return NodeChildren.forEach(start) { entries.append($0.loadUnaligned(as: UInt64.self)) }
      }
      guard isSound else { throw .damaged(path: data.path, what: "a node of the redo ring is not sound") }
    }
    return found
  }

  private static func sum(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.withUnsafeBytes { bytes in bytes.baseAddress.map { Checks.sum($0) } ?? 0 }
  }

  /// Stores the nodes, and says that their blocks are in use. Cut off, it is done again: the slot and the ring suffice.
  func store(in data: MappedFile, _ space: inout Space) throws(StoreError) {
    let missing = try missing(data, space)
    FaultPoint.step("replay.read")
    for extent in Set(missing.map { Int($0.ref >> 12) }) {
      // A hole that was filled again may be one still.
      try storing(data.path, needed: DataLayout.extentSize) { () throws(SystemError) in
        try data.allocate(offset: extent << DataLayout.extentShift, length: DataLayout.extentSize)
      }
    }
    try space.restore(missing.map { ($0.ref, $0.sizeClass) })
    for node in missing {
      let place = space.pointer(node.ref)
      node.bytes.withUnsafeBytes { bytes in
        if let start = bytes.baseAddress { place.copyMemory(from: start, byteCount: bytes.count) }
      }
    }
    FaultPoint.step("replay.stored")
  }
}

extension Recovery {
  /// The extents of a slot's redo ring; nil where they do not lie in its file.
  static func ring(of slot: RootSlot) -> Range<Int>? {
    let unit = UInt64(DataLayout.extentSize)
    guard slot.ringStart % unit == 0, slot.ringLength % unit == 0, slot.ringStart >= unit,
      slot.ringStart / unit < slot.extents, slot.ringLength / unit <= slot.extents - slot.ringStart / unit
    else { return nil }
    let first = Int(slot.ringStart / unit)
    return first..<(first + Int(slot.ringLength / unit))
  }
}

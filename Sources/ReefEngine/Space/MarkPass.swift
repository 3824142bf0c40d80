import ReefSystem

/// Finds leaked blocks: what neither the tree of a version, nor a waiting entry, nor a magazine knows. Owed after a
/// crash of all processes, or where the lock file could not grow. Marking needs no lock; sweeping takes the writer word
/// for a few extents at a time.
///
/// Sound because of the stamps: a block live at the base version is marked; one that waited, or lay in a magazine, then
/// is marked as well; one made since has a newer stamp of this epoch; magazines are empty while extents are swept. All
/// else with its bit set is a leak.
struct MarkPass: ~Copyable {
  private let session: Session
  private let writer: Writer
  private let isStopped: () -> Bool
  /// Marks by extent: one bit a grain of the extent's start offsets, allocated when first needed.
  private var marks: [UnsafeMutablePointer<UInt64>?] = []
  /// Extents in which something lies that the allocator's records know nothing of.
  private var unknown: [Range<Int>] = []
  private static let words = DataLayout.extentSize / DataLayout.grain / 64

  init(session: Session, writer: Writer, isStopped: @escaping () -> Bool) {
    self.session = session
    self.writer = writer
    self.isStopped = isStopped
  }

  deinit { for words in marks { words?.deallocate() } }

  /// Runs the whole pass. False: stopped, or something stood in the way; it is still owed.
  mutating func run() throws(StoreError) -> Bool {
    let lock = session.lock
    let slot = try session.claimSlot()
    defer {
      session.unpin(slot)
      session.returnSlot(slot)
    }
    try writer.begin(.after(.seconds(5)))
    let pinned = session.pinNewest(slot)
    if mayBeSeen(besides: pinned.version) {
      writer.finishUnchanged()
      return false
    }
    let extents = Int(pinned.extents)
    marks = Array(repeating: nil, count: extents)
    lock.set(LockLayout.Control.marking, 1)
    lock.set(LockLayout.Control.needsMark, 0)
    let known = known()
    writer.finishUnchanged()
    FaultPoint.step("mark.based")

    let limit = pinned.extents << UInt64(DataLayout.extentShift)
    guard try mark(pinned.root, limit: limit) else {
      lock.set(LockLayout.Control.needsMark, 1)
      return false
    }
    // Only now: behind a commit that waits for the disk, what it replaced waits already and is still in the base version's
    // tree. Marked before, it would have been taken for visited, and nothing below it been marked.
    for ref in known { _ = set(ref) }
    FaultPoint.step("mark.marked")
    if !unknown.isEmpty {
      try writer.begin(.after(.seconds(5)))
      for extents in unknown { writer.state.pointee.space.quarantine(extents) }
      writer.finishUnchanged()
    }
    var extent = 1
    while extent < extents {
      if isStopped() {
        lock.set(LockLayout.Control.needsMark, 1)
        return false
      }
      try writer.begin(.after(.seconds(5)))
      // Blocks that came into magazines since have their bits set and an old stamp, or none: not leaks, but free.
      writer.state.pointee.space.flushMagazines()
      let end = min(extents, extent + 32)
      while extent < end { extent = sweep(extent, base: pinned.version) }
      writer.finishUnchanged()
      FaultPoint.step("mark.swept")
    }
    try writer.begin(.after(.seconds(5)))
    if lock.word(LockLayout.Control.oldExtents) != 0 {
      writer.state.pointee.space.flushMagazines()
      writer.state.pointee.space.trustRecords()
    }
    lock.set(LockLayout.Control.marking, 0)
    writer.finishUnchanged()
    return true
  }

  /// Whether somebody holds another version while blocks are in no tree of this one and wait nowhere, since the lock file
  /// could not grow: they may be seen there, and are found once nobody does, at the latest in the next session.
  private func mayBeSeen(besides version: UInt64) -> Bool {
    guard session.lock.word(LockLayout.Statistics.leaked) != 0 else { return false }
    _ = session.slots.takeLingering()
    var reclaimer = Reclaimer()
    writer.state.pointee.space.scan(&reclaimer)
    for index in 0..<LockLayout.Bin.count where reclaimer.pins[index] != 0 && reclaimer.pins[index] < version {
      return true
    }
    return false
  }

  private mutating func set(_ ref: UInt32) -> Bool {
    let extent = Int(ref >> 12)
    guard extent < marks.count else { return false }
    if marks[extent] == nil {
      let words = UnsafeMutablePointer<UInt64>.allocate(capacity: Self.words)
      words.initialize(repeating: 0, count: Self.words)
      marks[extent] = words
    }
    guard let words = marks[extent] else { return false }
    let bit = Int(ref & 0xfff)
    if words[bit >> 6] >> UInt64(bit & 63) & 1 != 0 { return false }
    words[bit >> 6] |= 1 << UInt64(bit & 63)
    return true
  }

  private func isMarked(_ ref: UInt32) -> Bool {
    guard let words = marks[Int(ref >> 12)] else { return false }
    let bit = Int(ref & 0xfff)
    return words[bit >> 6] >> UInt64(bit & 63) & 1 != 0
  }

  /// What waits or lies in a magazine at this moment.
  private func known() -> [UInt32] {
    var known: [UInt32] = []
    let lock = session.lock
    let count = min(Int(lock.word(LockLayout.Control.poolCount)), LockLayout.maximumWaiting)
    for index in 0..<count {
      let entry = LockLayout.Waiting.pool + index * LockLayout.Waiting.size
      let ref = lock.word32(entry + LockLayout.Waiting.ref)
      if ref != 0 { known.append(ref) }
    }
    for index in 0..<SizeClasses.shared.count {
      let state = LockLayout.ClassState.table + index * LockLayout.ClassState.size
      let filled = min(Int(lock.word32(state + LockLayout.ClassState.filled)), LockLayout.magazineCapacity)
      for at in 0..<filled { known.append(lock.word32(state + LockLayout.ClassState.magazine + at * 4)) }
    }
    return known
  }

  /// Marks everything below the root. False: stopped or damaged.
  private mutating func mark(_ root: UInt64, limit: UInt64) throws(StoreError) -> Bool {
    let base = UnsafeRawPointer(session.data.base)
    var stack = [root]
    var steps = 0
    while let entry = stack.popLast() {
      let ref = UInt32(truncatingIfNeeded: entry)
      steps += 1
      if steps & 0xfff == 0, isStopped() { return false }
      let offset = UInt64(ref) << UInt64(DataLayout.grainShift)
      guard offset >= UInt64(DataLayout.extentSize), offset + 16 <= limit else {
        throw .damaged(path: session.path, what: "a ref leads out of the file")
      }
      if !set(ref) { continue }
      // What hangs below a damaged node would be taken for leaked: nothing is swept then.
      if let verification = session.verification, !verification.isProven, verification.node(entry) == nil {
        throw .damaged(path: session.path, what: Verification.problem)
      }
      let node = base + Int(offset)
      let length = Int(node.load(fromByteOffset: DataLayout.Node.length, as: UInt32.self))
      guard offset + UInt64(length) <= limit else {
        throw .damaged(path: session.path, what: "a node leads out of the file")
      }
      if !writer.state.pointee.space.knows(ref, length: length) {
        let first = Int(ref >> 12)
        unknown.append(first..<first + 1 + length >> DataLayout.extentShift)
      }
      let isSound = NodeChildren.forEach(node) { place in
        stack.append(place.loadUnaligned(as: UInt64.self))
      }
      guard isSound else { throw .damaged(path: session.path, what: "a node of the newest version is not sound") }
    }
    return true
  }

  /// Clears the leaks of one extent; returns the next to look at.
  private func sweep(_ extent: Int, base version: UInt64) -> Int {
    let state = writer.state
    let descriptor = state.pointee.space.descriptor(extent)
    switch descriptor.load(as: UInt8.self) {
    case ExtentState.slab:
      let index = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.sizeClass, as: UInt8.self))
      guard index < SizeClasses.shared.count else { return extent + 1 }
      let geometry = SizeClasses.shared.geometry[index]
      for block in 0..<geometry.blocks {
        let word = state.pointee.space.bitmap(extent)[block >> 6]
        if word >> UInt64(block & 63) & 1 == 0 { continue }
        let offset = extent << DataLayout.extentShift + geometry.first + block * geometry.size
        let ref = UInt32(offset >> DataLayout.grainShift)
        if !isMarked(ref), isOld(offset, version) { state.pointee.space.clearBit(ref) }
      }
    case ExtentState.runHead:
      let length = max(1, Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.runLength, as: UInt32.self)))
      let offset = extent << DataLayout.extentShift
      if !isMarked(UInt32(offset >> DataLayout.grainShift)), isOld(offset, version) {
        // The head first: cut off, the tails belong to nobody, and the next pass finds them. The other way round a head
        // would be left that claims extents which others may have taken by then.
        descriptor.storeBytes(of: ExtentState.free, as: UInt8.self)
        Space.barrier()
        state.pointee.space.freeRun(extent, descriptor)
      }
      return extent + length
    case ExtentState.runTail:
      // A tail that no head leads over: its run was cut off.
      descriptor.storeBytes(of: ExtentState.free, as: UInt8.self)
      state.pointee.space.pushFree(extent, descriptor)
    case ExtentState.ring where !RedoRing.ranges(session.lock).contains(where: { $0.contains(extent) }):
      // Of a ring that was never named, or is no longer: whoever made or left it died.
      state.pointee.space.releaseRing(extent..<(extent + 1))
    default: break
    }
    return extent + 1
  }

  private func isOld(_ offset: Int, _ version: UInt64) -> Bool {
    let stamp = session.data.base.load(fromByteOffset: offset + DataLayout.Node.stamp, as: UInt64.self)
    let epoch = session.lock.word(LockLayout.Header.epoch)
    return !(stamp >> DataLayout.epochShift == epoch && stamp & DataLayout.versionMask > version)
  }
}

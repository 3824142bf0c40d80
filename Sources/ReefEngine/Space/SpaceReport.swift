import ReefSystem

/// What the space of a store is used for, and whether that adds up: the invariants of block life, checked by reading
/// everything. For tests, and for `reef info --space`.
package struct SpaceReport: Sendable, CustomStringConvertible {
  package var live = 0
  package var waiting = 0
  package var inMagazines = 0
  /// Blocks whose bit is set though nothing knows them.
  package var leaked = 0
  // The rest must be zero.
  package var liveWithoutBit = 0
  package var liveAndFree = 0
  package var waitingTwice = 0
  package var damaged = 0
  /// A block that is wrong, for people.
  package var example = ""

  package var description: String {
    "live \(live), waiting \(waiting), in magazines \(inMagazines), leaked \(leaked), live without bit "
      + "\(liveWithoutBit), live and free \(liveAndFree), waiting twice \(waitingTwice), damaged \(damaged)\(example)"
  }
}

extension WriteTransaction {
  /// Walks the newest committed version and all bitmaps. The transaction must not have changed anything.
  package func spaceReport() throws(StoreError) -> SpaceReport {
    try check()
    return writer.spaceReport()
  }
}

extension Writer {
  func spaceReport() -> SpaceReport {
    var report = SpaceReport()
    let limit = state.pointee.space.fileLimit
    var live: Set<UInt32> = []
    var stack = [UInt32(truncatingIfNeeded: lock.word(LockLayout.Control.tipRoot))]
    while let ref = stack.popLast() {
      let offset = UInt64(ref) << UInt64(DataLayout.grainShift)
      guard offset >= UInt64(DataLayout.extentSize), offset + 16 <= limit else {
        report.damaged += 1
        continue
      }
      if !live.insert(ref).inserted { continue }
      let node = UnsafeRawPointer(data.base) + Int(offset)
      guard offset + UInt64(node.load(fromByteOffset: DataLayout.Node.length, as: UInt32.self)) <= limit else {
        report.damaged += 1
        continue
      }
      let isSound = NodeChildren.forEach(node) { place in
        stack.append(UInt32(truncatingIfNeeded: place.loadUnaligned(as: UInt64.self)))
      }
      if !isSound { report.damaged += 1 }
    }
    report.live = live.count

    var waiting: Set<UInt32> = []
    for index in 0..<Int(lock.word(LockLayout.Control.poolCount)) {
      let ref = lock.word32(LockLayout.Waiting.pool + index * LockLayout.Waiting.size + LockLayout.Waiting.ref)
      if ref == 0 { continue }
      if !waiting.insert(ref).inserted { report.waitingTwice += 1 }
      if live.contains(ref) { report.liveAndFree += 1 }
    }
    report.waiting = waiting.count

    var magazines: Set<UInt32> = []
    for index in 0..<SizeClasses.shared.count {
      let place = LockLayout.ClassState.table + index * LockLayout.ClassState.size
      for at in 0..<Int(lock.word32(place + LockLayout.ClassState.filled)) {
        let ref = lock.word32(place + LockLayout.ClassState.magazine + at * 4)
        if !magazines.insert(ref).inserted || live.contains(ref) || waiting.contains(ref) { report.liveAndFree += 1 }
      }
    }
    report.inMagazines = magazines.count

    for ref in live where !hasBit(ref) {
      report.liveWithoutBit += 1
      let node = UnsafeRawPointer(data.base) + Int(ref) << DataLayout.grainShift
      let stamp = node.load(fromByteOffset: DataLayout.Node.stamp, as: UInt64.self)
      let extent = Int(ref >> 12)
      report.example =
        ": \(ref) of kind \(node.load(as: UInt8.self)), made in epoch \(stamp >> DataLayout.epochShift) by version "
        + "\(stamp & DataLayout.versionMask), in extent \(extent) of \(state.pointee.space.extentCount) in state "
        + "\(state.pointee.space.descriptor(extent).load(as: UInt8.self)), old below \(state.pointee.space.oldExtents)"
    }
    for ref in waiting where !hasBit(ref) { report.liveWithoutBit += 1 }
    for extent in 1..<state.pointee.space.extentCount {
      for ref in usedBlocks(extent) where !live.contains(ref) && !waiting.contains(ref) && !magazines.contains(ref) {
        report.leaked += 1
      }
    }
    return report
  }

  private func hasBit(_ ref: UInt32) -> Bool {
    let extent = Int(ref >> 12)
    let descriptor = state.pointee.space.descriptor(extent)
    switch descriptor.load(as: UInt8.self) {
    case ExtentState.runHead: return ref & 0xfff == 0
    case ExtentState.slab:
      let index = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.sizeClass, as: UInt8.self))
      guard index < SizeClasses.shared.count, let block = state.pointee.space.blockIndex(ref, index) else {
        return false
      }
      return state.pointee.space.bitmap(extent)[block >> 6] >> UInt64(block & 63) & 1 != 0
    default: return false
    }
  }

  private func usedBlocks(_ extent: Int) -> [UInt32] {
    let descriptor = state.pointee.space.descriptor(extent)
    switch descriptor.load(as: UInt8.self) {
    case ExtentState.runHead: return [UInt32(extent << 12)]
    case ExtentState.slab:
      let index = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.sizeClass, as: UInt8.self))
      guard index < SizeClasses.shared.count else { return [] }
      let geometry = SizeClasses.shared.geometry[index]
      var refs: [UInt32] = []
      for block in 0..<geometry.blocks
      where state.pointee.space.bitmap(extent)[block >> 6] >> UInt64(block & 63) & 1 != 0 {
        let offset = extent << DataLayout.extentShift + geometry.first + block * geometry.size
        refs.append(UInt32(offset >> DataLayout.grainShift))
      }
      return refs
    default: return []
    }
  }
}

import ReefSystem

/// Undoing a transaction that did not commit: rolled back, or its writer died. Every function here may itself be cut
/// off at any store and is then simply run again: nothing is allocated in between.
extension Space {
  /// Rolls back the transaction under way in this process: what it took is free again, what it replaced lives on.
  package mutating func undo(freshTail: UInt64, freshCount: UInt64) {
    flushMagazines()
    if !Mutant.lives(.rollbackKeepsWaiting) { cutFresh(after: freshTail, count: freshCount) }
    clearNewer(than: stamp &- 1)
    clearAllTouched()
  }

  /// After the death of a writer: finishes a pass that was cut off, undoes what was made after `version`, and rebuilds
  /// every list from what is certain.
  package mutating func repair(version tip: UInt64, epoch: UInt64) {
    flushMagazines()
    // A death may have come between the words that name a new ring and the marking of its extents.
    let ring = Int(control(LockLayout.Redo.newStart)) >> DataLayout.extentShift
    markRing(ring..<(ring + Int(control(LockLayout.Redo.newLength)) >> DataLayout.extentShift))
    rebuildWaiting(tip: tip)
    if !Mutant.lives(.repairLeavesNewer) {
      let last = Mutant.lives(.repairClearsNewest) ? tip - 1 : tip
      clearNewer(than: epoch << DataLayout.epochShift | last)
    }
    // A dead writer may have left counts and links half done.
    forgetLists()
    setControl(LockLayout.Control.reclaiming, 0)
    clearAllTouched()
  }

  /// A new generation, which forgets all counts and lists.
  mutating func forgetLists() {
    let next = (control(LockLayout.Control.listGeneration) + 1) & 0x7fff_ffff
    for index in 0..<classes.count {
      let state = classState(index)
      state.storeBytes(of: 0, toByteOffset: LockLayout.ClassState.current, as: UInt32.self)
      state.storeBytes(of: 0, toByteOffset: LockLayout.ClassState.partialHead, as: UInt32.self)
    }
    setControl(LockLayout.Control.freeHead, 0)
    setControl(LockLayout.Control.freeExtents, 0)
    setControl(LockLayout.Control.scanNext, 0)
    setControl(LockLayout.Control.holes, 0)
    Space.barrier()
    setControl(LockLayout.Control.listGeneration, max(1, next))
  }

  /// In touched extents, clears what was stamped after `last`.
  private mutating func clearNewer(than last: UInt64) {
    let words = (lock + LockLayout.touchedOffset).assumingMemoryBound(to: UInt64.self)
    let epoch = last >> DataLayout.epochShift
    for word in 0..<((extentCount + 63) / 64) {
      var bits = words[word]
      while bits != 0 {
        let extent = word * 64 + bits.trailingZeroBitCount
        bits &= bits &- 1
        if extent > 0, extent < extentCount { clearNewer(than: last, epoch: epoch, in: extent) }
      }
    }
  }

  private mutating func clearNewer(than last: UInt64, epoch: UInt64, in extent: Int) {
    let descriptor = descriptor(extent)
    func isNewer(_ node: UnsafeRawPointer) -> Bool {
      let made = node.load(fromByteOffset: DataLayout.Node.stamp, as: UInt64.self)
      return made > last && made >> DataLayout.epochShift == epoch
    }
    switch descriptor.load(as: UInt8.self) {
    case ExtentState.slab:
      let index = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.sizeClass, as: UInt8.self))
      guard index < classes.count else { return }
      let geometry = classes.geometry[index]
      let words = bitmap(extent)
      for word in 0..<((geometry.blocks + 63) / 64) {
        var bits = words[word]
        while bits != 0 {
          let block = word * 64 + bits.trailingZeroBitCount
          bits &= bits &- 1
          if block >= geometry.blocks { break }
          let offset = extent << DataLayout.extentShift + geometry.first + block * geometry.size
          if isNewer(base + offset) { clearBit(UInt32(offset >> DataLayout.grainShift)) }
        }
      }
    case ExtentState.runHead:
      if isNewer(base + extent << DataLayout.extentShift) { freeRun(extent, descriptor) }
    case ExtentState.free, ExtentState.hole, ExtentState.unknown:
      // A run whose head was not yet made one: its tails were free before.
      let count = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.runLength, as: UInt32.self))
      var at = extent + 1
      while at < extent + count, at < extentCount {
        let tail = self.descriptor(at)
        if tail.load(as: UInt8.self) == ExtentState.runTail {
          tail.storeBytes(of: ExtentState.free, as: UInt8.self)
          pushFree(at, tail)
        }
        at += 1
      }
      descriptor.storeBytes(of: 0, toByteOffset: DataLayout.Descriptor.runLength, as: UInt32.self)
    default: break
    }
  }

  /// Drops the entries that this transaction appended to the fresh queue.
  private func cutFresh(after tail: UInt64, count: UInt64) {
    var link: UInt32
    if tail == 0 {
      link = UInt32(truncatingIfNeeded: control(LockLayout.Control.freshHead))
      setControl(LockLayout.Control.freshHead, 0)
    } else {
      let last = waiting(Int(tail) - 1)
      link = last.load(fromByteOffset: LockLayout.Waiting.next, as: UInt32.self)
      last.storeBytes(of: 0, toByteOffset: LockLayout.Waiting.next, as: UInt32.self)
    }
    setControl(LockLayout.Control.freshTail, tail)
    setControl(LockLayout.Control.freshCount, count)
    while link != 0 {
      let entry = waiting(Int(link) - 1)
      let next = entry.load(fromByteOffset: LockLayout.Waiting.next, as: UInt32.self)
      giveBack(link, entry)
      link = next
    }
  }

  /// Rebuilds all lists of waiting blocks from the pool: whole entries of committed transactions wait, the rest are free.
  private mutating func rebuildWaiting(tip: UInt64) {
    let count = min(Int(control(LockLayout.Control.poolCount)), LockLayout.maximumWaiting)
    for slot in 0..<LockLayout.Bin.count {
      (lock + LockLayout.Bin.table + slot * LockLayout.Bin.size).storeBytes(
        of: 0, toByteOffset: LockLayout.Bin.head, as: UInt32.self)
    }
    var live: [(replaced: UInt64, link: UInt32)] = []
    var free: UInt32 = 0
    for index in 0..<count {
      let entry = waiting(index)
      let ref = entry.load(fromByteOffset: LockLayout.Waiting.ref, as: UInt32.self)
      let replaced = entry.load(fromByteOffset: LockLayout.Waiting.replaced, as: UInt64.self)
      let link = UInt32(index + 1)
      if ref != 0, entry.load(fromByteOffset: LockLayout.Waiting.made, as: UInt64.self) == .max {
        // It was being freed: magazines are empty by now, so clearing its bit once more is all there is to do.
        freeCut(ref)
      } else if ref != 0, replaced <= tip || Mutant.lives(.repairBelievesAll) {
        live.append((replaced, link))
        continue
      }
      entry.storeBytes(of: 0, toByteOffset: LockLayout.Waiting.ref, as: UInt32.self)
      entry.storeBytes(of: free, toByteOffset: LockLayout.Waiting.next, as: UInt32.self)
      free = link
    }
    live.sort { ($0.replaced, $0.link) < ($1.replaced, $1.link) }
    var next: UInt32 = 0
    for entry in live.reversed() {
      waiting(Int(entry.link) - 1).storeBytes(of: next, toByteOffset: LockLayout.Waiting.next, as: UInt32.self)
      next = entry.link
    }
    setControl(LockLayout.Control.poolFree, UInt64(free))
    setControl(LockLayout.Control.freshHead, UInt64(next))
    setControl(LockLayout.Control.freshTail, UInt64(live.last?.link ?? 0))
    setControl(LockLayout.Control.freshCount, UInt64(live.count))
    setControl(LockLayout.Control.waitingCount, 0)
    setControl(LockLayout.Control.waitingBytes, 0)
  }

  private mutating func freeCut(_ ref: UInt32) {
    let extent = Int(ref >> 12)
    guard extent > 0, extent < extentCount else { return }
    let descriptor = descriptor(extent)
    if descriptor.load(as: UInt8.self) == ExtentState.runHead {
      freeRun(extent, descriptor)
    } else {
      clearBit(ref)
    }
  }
}

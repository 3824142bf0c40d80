import ReefSystem

/// Giving blocks back: into the magazine of their class, and from a full magazine into the bitmaps.
extension Space {
  /// The block may be handed out again at once. Its bit stays set while it lies in a magazine.
  @inline(__always)
  package mutating func free(_ ref: UInt32) {
    let descriptor = descriptor(Int(ref &>> 12))
    let index = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.sizeClass, as: UInt8.self))
    if descriptor.load(as: UInt8.self) == ExtentState.slab, index < classes.count {
      let state = classState(index)
      let filled = state.load(fromByteOffset: LockLayout.ClassState.filled, as: UInt32.self)
      if filled < UInt32(LockLayout.magazineCapacity) {
        state.storeBytes(
          of: ref, toByteOffset: LockLayout.ClassState.magazine &+ Int(filled) &* 4, as: UInt32.self)
        Space.barrier()
        state.storeBytes(of: filled &+ 1, toByteOffset: LockLayout.ClassState.filled, as: UInt32.self)
        return
      }
    }
    freeSlow(ref)
  }

  @inline(never)
  mutating func freeSlow(_ ref: UInt32) {
    let extent = Int(ref >> 12)
    guard extent > 0, extent < extentCount else { return }
    let descriptor = descriptor(extent)
    switch descriptor.load(as: UInt8.self) {
    case ExtentState.runHead: freeRun(extent, descriptor)
    case ExtentState.slab:
      let index = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.sizeClass, as: UInt8.self))
      guard index < classes.count else { return }
      let state = classState(index)
      let filled = Int(state.load(fromByteOffset: LockLayout.ClassState.filled, as: UInt32.self))
      if filled < LockLayout.magazineCapacity { return free(ref) }
      // The older half goes to the bitmaps; it leaves the magazine first by being moved, last entry counted last.
      let entries = (state + LockLayout.ClassState.magazine).assumingMemoryBound(to: UInt32.self)
      let half = filled / 2
      for at in 0..<half { clearBit(entries[at]) }
      // Killed here, repair clears the same bits again: nothing was allocated in between.
      for at in half..<filled { entries[at - half] = entries[at] }
      Space.barrier()
      state.storeBytes(of: UInt32(filled - half), toByteOffset: LockLayout.ClassState.filled, as: UInt32.self)
      free(ref)
    default: return
    }
  }

  /// Clears one block's bit. Idempotent. False where the ref names no block.
  @discardableResult
  mutating func clearBit(_ ref: UInt32) -> Bool {
    let extent = Int(ref >> 12)
    guard extent > 0, extent < extentCount else { return false }
    let descriptor = descriptor(extent)
    guard descriptor.load(as: UInt8.self) == ExtentState.slab else { return false }
    let index = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.sizeClass, as: UInt8.self))
    guard index < classes.count, let block = blockIndex(ref, index) else { return false }
    let words = bitmap(extent)
    let bit = UInt64(1) << UInt64(block & 63)
    if words[block >> 6] & bit == 0 { return true }
    guard isSound(extent, descriptor) else { return true }
    willChange(descriptor)
    let free = counted(extent, descriptor) + 1
    words[block >> 6] &= ~bit
    setFree(descriptor, free)
    let state = classState(index)
    if Int(state.load(fromByteOffset: LockLayout.ClassState.current, as: UInt32.self)) == extent { return true }
    if free == classes.geometry[index].blocks {
      pushFree(extent, descriptor)
    } else {
      pushPartial(extent, descriptor, index)
    }
    return true
  }

  /// Which block of its extent a ref is; nil where it does not name the start of one.
  func blockIndex(_ ref: UInt32, _ index: Int) -> Int? {
    let geometry = classes.geometry[index]
    let inside = Int(ref) << DataLayout.grainShift & (DataLayout.extentSize - 1)
    let offset = inside - geometry.first
    guard offset >= 0 else { return nil }
    let block = Int((UInt64(offset) &* geometry.magic) >> 32)
    return block < geometry.blocks && block * geometry.size == offset ? block : nil
  }

  /// Empties all magazines into the bitmaps, so that bits say exactly what is in use.
  package mutating func flushMagazines() {
    for index in 0..<classes.count {
      let state = classState(index)
      let filled = Int(state.load(fromByteOffset: LockLayout.ClassState.filled, as: UInt32.self))
      if filled == 0 { continue }
      let entries = (state + LockLayout.ClassState.magazine).assumingMemoryBound(to: UInt32.self)
      for at in 0..<min(filled, LockLayout.magazineCapacity) { clearBit(entries[at]) }
      Space.barrier()
      if Mutant.lives(.magazineStaysFull) { continue }
      state.storeBytes(of: 0, toByteOffset: LockLayout.ClassState.filled, as: UInt32.self)
    }
  }
}

/// Runs: values too long for a slab lie in whole extents, side by side.
extension Space {
  @inline(never)
  mutating func allocateRun(kind: UInt8, form: UInt8, length: Int) throws(StoreError) -> UnsafeMutableRawPointer {
    let count = (length + DataLayout.extentSize - 1) / DataLayout.extentSize
    guard length <= Int(UInt32.max) else {
      throw .invalidArgument("a value of \(length) bytes is over the limit of 4 GiB")
    }
    var first = try findRun(count)
    if first == nil { first = try extend(by: count) }
    guard let first else { throw .outOfSpace(path: file.path, needed: length) }
    // What an emptied slab or an older run left in the first descriptor must not mislead a repair.
    let head = descriptor(first)
    head.storeBytes(of: ExtentState.free, as: UInt8.self)
    head.storeBytes(of: 0, toByteOffset: DataLayout.Descriptor.runLength, as: UInt32.self)
    Space.barrier()
    touch(first)
    for extent in first..<(first + count) {
      let descriptor = descriptor(extent)
      descriptor.storeBytes(of: UInt32(count), toByteOffset: DataLayout.Descriptor.runLength, as: UInt32.self)
      if extent > first { descriptor.storeBytes(of: ExtentState.runTail, as: UInt8.self) }
    }
    let node = base + first << DataLayout.extentShift
    node.storeBytes(of: stamp, toByteOffset: DataLayout.Node.stamp, as: UInt64.self)
    let header = UInt64(kind) | UInt64(form) << 8 | UInt64(UInt32(length)) << 32
    node.storeBytes(of: header, as: UInt64.self)
    Space.barrier()
    head.storeBytes(of: ExtentState.runHead, as: UInt8.self)
    return node
  }

  /// Free extents side by side, looked for among the listed ones only; their pages are made sure of.
  private mutating func findRun(_ count: Int) throws(StoreError) -> Int? {
    guard Int(control(LockLayout.Control.freeExtents)) >= count else { return nil }
    var length = 0
    for extent in 1..<extentCount {
      if isFree(extent, descriptor(extent)) {
        length += 1
        if length == count {
          let first = extent - count + 1
          do throws(SystemError) {
            try file.allocate(
              offset: first << DataLayout.extentShift, length: count << DataLayout.extentShift)
          } catch { throw outOfSpace(error, count << DataLayout.extentShift) }
          return first
        }
      } else {
        length = 0
      }
    }
    return nil
  }

  mutating func freeRun(_ extent: Int, _ head: UnsafeMutableRawPointer) {
    let count = Int(head.load(fromByteOffset: DataLayout.Descriptor.runLength, as: UInt32.self))
    guard count > 0, count <= extentCount, extent + count <= extentCount else { return }
    // Its length may be damaged: left to a later mark pass.
    if extent < oldExtents { return setControl(LockLayout.Control.needsMark, 1) }
    // The head last: killed in between, the run is still one.
    for at in stride(from: extent + count - 1, through: extent, by: -1) {
      let descriptor = descriptor(at)
      descriptor.storeBytes(of: ExtentState.free, as: UInt8.self)
      Space.barrier()
    }
    for at in extent..<(extent + count) { pushFree(at, descriptor(at)) }
  }
}

import ReefSystem

/// Extents: descriptors, lists of partly free and free ones, growth.
///
/// The lists are a cache in shared memory: membership is stamped with a generation, so that one store (a new
/// generation) empties them all, and an incremental scan over the descriptors fills them again while allocations go on.
/// Nothing is read at open; a store of any size is usable at once.
extension Space {
  @inline(__always) func descriptor(_ extent: Int) -> UnsafeMutableRawPointer {
    if extent < DataLayout.inlineDescriptors {
      return base + (DataLayout.inlineDescriptorsOffset &+ extent &* DataLayout.Descriptor.size)
    }
    let beyond = extent &- DataLayout.inlineDescriptors
    let chunk = beyond / DataLayout.descriptorsPerChunk
    let place = Int(base.load(fromByteOffset: DataLayout.chunkMapOffset &+ chunk &* 4, as: UInt32.self))
    return base
      + (place &<< DataLayout.extentShift &+ (beyond % DataLayout.descriptorsPerChunk) &* DataLayout.Descriptor.size)
  }

  var generation: UInt32 { UInt32(truncatingIfNeeded: control(LockLayout.Control.listGeneration)) & 0x7fff_ffff }
  package var extentCount: Int { Int(control(LockLayout.Control.extentCount)) }

  @inline(__always) func bitmap(_ extent: Int) -> UnsafeMutablePointer<UInt64> {
    (base + extent &<< DataLayout.extentShift).assumingMemoryBound(to: UInt64.self)
  }

  // MARK: Counting

  /// Makes a slab's free count valid in this generation; counts its bits the first time.
  func counted(_ extent: Int, _ descriptor: UnsafeMutableRawPointer) -> Int {
    let mark = descriptor.load(fromByteOffset: DataLayout.Descriptor.partialGeneration, as: UInt32.self)
    if mark &>> 1 == generation {
      return Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.freeBlocks, as: UInt16.self))
    }
    let index = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.sizeClass, as: UInt8.self))
    guard index < classes.count else { return 0 }
    let words = bitmap(extent)
    var free = 0
    for word in 0..<((classes.geometry[index].blocks + 63) / 64) { free += (~words[word]).nonzeroBitCount }
    setFree(descriptor, free)
    descriptor.storeBytes(
      of: generation &<< 1, toByteOffset: DataLayout.Descriptor.partialGeneration, as: UInt32.self)
    return free
  }
  @inline(__always) func setFree(_ descriptor: UnsafeMutableRawPointer, _ count: Int) {
    descriptor.storeBytes(
      of: UInt16(truncatingIfNeeded: count), toByteOffset: DataLayout.Descriptor.freeBlocks, as: UInt16.self)
  }

  // MARK: Lists

  func pushPartial(_ extent: Int, _ descriptor: UnsafeMutableRawPointer, _ index: Int) {
    if extent < oldExtents { return }
    let mark = descriptor.load(fromByteOffset: DataLayout.Descriptor.partialGeneration, as: UInt32.self)
    if mark == generation &<< 1 | 1 { return }
    let state = classState(index)
    let head = state.load(fromByteOffset: LockLayout.ClassState.partialHead, as: UInt32.self)
    descriptor.storeBytes(of: head, toByteOffset: DataLayout.Descriptor.nextPartial, as: UInt32.self)
    descriptor.storeBytes(
      of: generation &<< 1 | 1, toByteOffset: DataLayout.Descriptor.partialGeneration, as: UInt32.self)
    state.storeBytes(of: UInt32(extent), toByteOffset: LockLayout.ClassState.partialHead, as: UInt32.self)
  }

  func popPartial(_ index: Int) -> Int? {
    let state = classState(index)
    while true {
      let head = Int(state.load(fromByteOffset: LockLayout.ClassState.partialHead, as: UInt32.self))
      guard head != 0, head < extentCount else { return nil }
      let descriptor = descriptor(head)
      let next = descriptor.load(fromByteOffset: DataLayout.Descriptor.nextPartial, as: UInt32.self)
      state.storeBytes(of: next, toByteOffset: LockLayout.ClassState.partialHead, as: UInt32.self)
      descriptor.storeBytes(
        of: generation &<< 1, toByteOffset: DataLayout.Descriptor.partialGeneration, as: UInt32.self)
      guard descriptor.load(as: UInt8.self) == ExtentState.slab else { continue }
      let now = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.sizeClass, as: UInt8.self))
      let free = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.freeBlocks, as: UInt16.self))
      if now == index, free > 0, isSound(head, descriptor) { return head }
      // It changed its class while it was listed here.
      if now != index, now < classes.count, free > 0 { pushPartial(head, descriptor, now) }
    }
  }

  func pushFree(_ extent: Int, _ descriptor: UnsafeMutableRawPointer) {
    if extent < oldExtents { return }
    if descriptor.load(fromByteOffset: DataLayout.Descriptor.freeGeneration, as: UInt32.self) == generation { return }
    let head = UInt32(truncatingIfNeeded: control(LockLayout.Control.freeHead))
    descriptor.storeBytes(of: head, toByteOffset: DataLayout.Descriptor.nextFree, as: UInt32.self)
    descriptor.storeBytes(of: generation, toByteOffset: DataLayout.Descriptor.freeGeneration, as: UInt32.self)
    setControl(LockLayout.Control.freeHead, UInt64(extent))
    setControl(LockLayout.Control.freeExtents, control(LockLayout.Control.freeExtents) &+ 1)
  }

  func popFree() -> Int? {
    while true {
      let head = Int(control(LockLayout.Control.freeHead))
      guard head != 0, head < extentCount else { return nil }
      let descriptor = descriptor(head)
      let next = descriptor.load(fromByteOffset: DataLayout.Descriptor.nextFree, as: UInt32.self)
      setControl(LockLayout.Control.freeHead, UInt64(next))
      setControl(LockLayout.Control.freeExtents, control(LockLayout.Control.freeExtents) &- 1)
      descriptor.storeBytes(of: 0, toByteOffset: DataLayout.Descriptor.freeGeneration, as: UInt32.self)
      if isFree(head, descriptor) { return head }
    }
  }

  /// Whether any class may take the extent now.
  func isFree(_ extent: Int, _ descriptor: UnsafeMutableRawPointer) -> Bool {
    if extent < oldExtents { return false }
    switch descriptor.load(as: UInt8.self) {
    case ExtentState.free, ExtentState.hole, ExtentState.unknown: return true
    case ExtentState.slab:
      let index = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.sizeClass, as: UInt8.self))
      guard index < classes.count, isSound(extent, descriptor) else { return false }
      let current = classState(index).load(fromByteOffset: LockLayout.ClassState.current, as: UInt32.self)
      guard Int(current) != extent, counted(extent, descriptor) == classes.geometry[index].blocks else { return false }
      // A count is only a cache: what decides that an extent may change its class are the bits themselves.
      let words = bitmap(extent)
      var used = 0
      for word in 0..<((classes.geometry[index].blocks + 63) / 64) { used += words[word].nonzeroBitCount }
      return used == (64 - classes.geometry[index].blocks % 64) % 64
    default: return false
    }
  }

  /// Lists again what lies free, a few hundred descriptors at a time. False once the whole file was seen.
  func scanSome() -> Bool {
    var at = Int(control(LockLayout.Control.scanNext))
    let end = min(extentCount, at + 256)
    if at >= end { return false }
    while at < end {
      list(at)
      at += 1
    }
    setControl(LockLayout.Control.scanNext, UInt64(at))
    return true
  }

  /// Whether the bits beyond the last block are set, as `makeSlab` leaves them for good. Where they are not, a power loss
  /// came between the punching of the extent and its descriptor: nothing durable lies in it, and it may have no storage.
  func isBitmapWhole(_ extent: Int, _ index: Int) -> Bool {
    let beyond = classes.geometry[index].blocks % 64
    if beyond == 0 { return true }
    return bitmap(extent)[classes.geometry[index].blocks / 64] | (1 << UInt64(beyond) - 1) == .max
  }

  /// Puts an extent into the lists it belongs to.
  func list(_ extent: Int) {
    if extent == 0 || extent < oldExtents { return }
    let descriptor = descriptor(extent)
    switch descriptor.load(as: UInt8.self) {
    case ExtentState.free, ExtentState.unknown: pushFree(extent, descriptor)
    case ExtentState.hole: setControl(LockLayout.Control.holes, control(LockLayout.Control.holes) &+ 1)
    case ExtentState.slab:
      let index = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.sizeClass, as: UInt8.self))
      guard index < classes.count, isSound(extent, descriptor) else { return }
      if !isBitmapWhole(extent, index) {
        descriptor.storeBytes(of: ExtentState.free, as: UInt8.self)
        return pushFree(extent, descriptor)
      }
      let free = counted(extent, descriptor)
      if isFree(extent, descriptor) {
        pushFree(extent, descriptor)
      } else if free > 0 {
        pushPartial(extent, descriptor, index)
      }
    default: break
    }
  }

  // MARK: Refilling a magazine

  @inline(never)
  mutating func refill(_ index: Int) throws(StoreError) {
    let state = classState(index)
    let geometry = classes.geometry[index]
    while true {
      let extent = Int(state.load(fromByteOffset: LockLayout.ClassState.current, as: UInt32.self))
      if extent != 0, extent < extentCount {
        let words = bitmap(extent)
        let descriptor = descriptor(extent)
        var at = Int(state.load(fromByteOffset: LockLayout.ClassState.word, as: UInt32.self))
        let end = (geometry.blocks + 63) / 64
        while at < end {
          var free = ~words[at]
          if free != 0 {
            _ = counted(extent, descriptor)
            willChange(descriptor)
            let first = extent &<< DataLayout.extentShift &+ geometry.first &+ at &* 64 &* geometry.size
            var filled = 0
            let taken = free
            // Highest first, so that blocks come out in ascending order.
            while free != 0 {
              let bit = 63 &- free.leadingZeroBitCount
              free ^= 1 &<< UInt64(bit)
              let ref = UInt32(truncatingIfNeeded: (first &+ bit &* geometry.size) &>> DataLayout.grainShift)
              state.storeBytes(of: ref, toByteOffset: LockLayout.ClassState.magazine &+ filled &* 4, as: UInt32.self)
              filled &+= 1
            }
            // In the magazine before the bits are set: killed in between, repair clears bits that are clear.
            Space.barrier()
            state.storeBytes(of: UInt32(filled), toByteOffset: LockLayout.ClassState.filled, as: UInt32.self)
            Space.barrier()
            words[at] |= taken
            let left = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.freeBlocks, as: UInt16.self))
            setFree(descriptor, left &- filled)
            state.storeBytes(of: UInt32(at + 1), toByteOffset: LockLayout.ClassState.word, as: UInt32.self)
            return
          }
          at += 1
        }
        // Blocks freed behind the cursor meanwhile: the extent goes back on the list.
        state.storeBytes(of: 0, toByteOffset: LockLayout.ClassState.current, as: UInt32.self)
        if counted(extent, descriptor) > 0 { pushPartial(extent, descriptor, index) }
      }
      let next = try nextExtent(for: index)
      state.storeBytes(of: 0, toByteOffset: LockLayout.ClassState.word, as: UInt32.self)
      state.storeBytes(of: UInt32(next), toByteOffset: LockLayout.ClassState.current, as: UInt32.self)
    }
  }

  private mutating func nextExtent(for index: Int) throws(StoreError) -> Int {
    repeat {
      if let extent = popPartial(index) { return extent }
      if Int(control(LockLayout.Control.freeExtents)) > reserve, let extent = try takeFree() {
        makeSlab(extent, index)
        return extent
      }
    } while scanSome()
    let extent = try lastResort()
    makeSlab(extent, index)
    return extent
  }

  /// Extents that only transactions may take that have done nothing but delete: a full disk can be cleaned up.
  var reserve: Int { mayUseReserve ? 0 : min(8, extentCount / 16) }

  /// An extent where no listed one is left: a hole filled again, the file grown, or the reserve.
  private mutating func lastResort() throws(StoreError) -> Int {
    do throws(StoreError) {
      if let extent = try takeHole() { return extent }
      return try grow()
    } catch {
      guard mayUseReserve, let extent = popFree() else { throw error }
      return extent
    }
  }

  private mutating func takeHole() throws(StoreError) -> Int? {
    guard control(LockLayout.Control.holes) > 0 else { return nil }
    let start = Int(control(LockLayout.Control.holeNext))
    for step in 0..<extentCount {
      let extent = (start + step) % extentCount
      let descriptor = descriptor(extent)
      if extent == 0 || extent < oldExtents || descriptor.load(as: UInt8.self) != ExtentState.hole { continue }
      try back(extent)
      descriptor.storeBytes(of: ExtentState.free, as: UInt8.self)
      setControl(LockLayout.Control.holes, control(LockLayout.Control.holes) &- 1)
      setControl(LockLayout.Control.holeNext, UInt64(extent + 1))
      return extent
    }
    setControl(LockLayout.Control.holes, 0)
    return nil
  }

  private func back(_ extent: Int) throws(StoreError) {
    do throws(SystemError) {
      try file.allocate(offset: extent << DataLayout.extentShift, length: DataLayout.extentSize)
    } catch {
      // Where the file system cannot allocate, what was never punched has its storage since it was made.
      if error.errno == 95 /* EOPNOTSUPP */, descriptor(extent).load(as: UInt8.self) != ExtentState.hole { return }
      throw outOfSpace(error, DataLayout.extentSize)
    }
  }

  /// Free extents that are kept, for the next writes.
  private var kept: Int { max(8, extentCount / 64) }
  /// Not at once: what is given back costs a page fault for each 4 KiB when it is wanted again.
  var wantsPunch: Bool { Int(control(LockLayout.Control.freeExtents)) > kept * 2 }

  /// Gives storage of free extents back but for some that the next writes will want: a few at a time, recorded before it is
  /// done.
  package mutating func punchSome() {
    let free = Int(control(LockLayout.Control.freeExtents))
    guard wantsPunch else { return }
    for _ in 0..<min(16, free - kept) {
      guard let extent = popFree() else { return }
      let descriptor = descriptor(extent)
      descriptor.storeBytes(of: ExtentState.hole, as: UInt8.self)
      setControl(LockLayout.Control.holes, control(LockLayout.Control.holes) &+ 1)
      Space.barrier()
      try? file.punch(offset: extent << DataLayout.extentShift, length: DataLayout.extentSize)
    }
  }

  /// A free extent whose pages are sure to exist; nil where there is none.
  mutating func takeFree() throws(StoreError) -> Int? {
    guard let extent = popFree() else { return nil }
    do throws(StoreError) {
      // Each time: a copied file may have holes, and a store into one could be SIGBUS.
      try back(extent)
    } catch {
      pushFree(extent, descriptor(extent))
      throw error
    }
    return extent
  }

  func makeSlab(_ extent: Int, _ index: Int) {
    let geometry = classes.geometry[index]
    let descriptor = descriptor(extent)
    let words = bitmap(extent)
    // The bitmap is written while the extent still counts as free.
    descriptor.storeBytes(of: ExtentState.free, as: UInt8.self)
    Space.barrier()
    let count = (geometry.blocks + 63) / 64
    for word in 0..<count { words[word] = 0 }
    if geometry.blocks % 64 != 0 { words[count - 1] = ~0 << UInt64(geometry.blocks % 64) }
    willChange(descriptor)
    descriptor.storeBytes(
      of: UInt8(index), toByteOffset: DataLayout.Descriptor.sizeClass, as: UInt8.self)
    setFree(descriptor, geometry.blocks)
    let mark = descriptor.load(fromByteOffset: DataLayout.Descriptor.partialGeneration, as: UInt32.self)
    if mark != generation &<< 1 | 1 {
      descriptor.storeBytes(
        of: generation &<< 1, toByteOffset: DataLayout.Descriptor.partialGeneration, as: UInt32.self)
    }
    Space.barrier()
    descriptor.storeBytes(of: ExtentState.slab, as: UInt8.self)
  }

  // MARK: Growth

  /// Adds extents to the file, at most a quarter of it at a time, and returns a free one.
  mutating func grow() throws(StoreError) -> Int {
    let wanted = Space.growth(of: extentCount)
    do throws(StoreError) {
      _ = try extend(by: wanted)
    } catch {
      if wanted == 1 { throw error }
      _ = try extend(by: 1)
    }
    while scanSome() {}
    guard let extent = popFree() else { throw damaged("the file grew, but nothing is free") }
    return extent
  }

  /// Appends `count` free extents that lie side by side, after the chunks of descriptors that they need. Returns the
  /// first. Pages are allocated first: a full disk is an error before anything is changed.
  mutating func extend(by count: Int) throws(StoreError) -> Int {
    let old = extentCount
    var chunks = 0
    while rangesWithoutChunk(upTo: old + chunks + count) > chunks { chunks += 1 }
    let target = old + chunks + count
    guard target <= DataLayout.maximumExtents, target << DataLayout.extentShift <= file.reserved else {
      throw .outOfSpace(path: file.path, needed: count << DataLayout.extentShift)
    }
    do throws(SystemError) {
      // Large pages keep to no memory policy, whichever process gave the store one.
      let hasPolicy = base.load(fromByteOffset: DataLayout.Header.numaMode, as: UInt32.self) != 0
      let (offset, length) = (old << DataLayout.extentShift, (target - old) << DataLayout.extentShift)
      if hasPolicy {
        try file.allocate(offset: offset, length: length)
      } else {
        try file.allocateFresh(offset: offset, length: length)
      }
    } catch {
      if !Mutant.lives(.extendUnallocated) { throw outOfSpace(error, (target - old) << DataLayout.extentShift) }
    }
    grew = true
    var next = old
    for range in 0..<DataLayout.maximumChunks where rangeStart(range) < target && chunkPlace(range) == 0 {
      (base + next << DataLayout.extentShift).zero(DataLayout.extentSize)
      base.storeBytes(of: UInt32(next), toByteOffset: DataLayout.chunkMapOffset + range * 4, as: UInt32.self)
      next += 1
    }
    for extent in old..<target {
      let descriptor = descriptor(extent)
      descriptor.zero(DataLayout.Descriptor.size)
      descriptor.storeBytes(of: extent < next ? ExtentState.meta : ExtentState.free, as: UInt8.self)
    }
    Space.barrier()
    setControl(LockLayout.Control.extentCount, UInt64(target))
    return next
  }

  /// First extent that range `range` of descriptors beyond extent 0 describes.
  func rangeStart(_ range: Int) -> Int { DataLayout.inlineDescriptors + range * DataLayout.descriptorsPerChunk }
  func chunkPlace(_ range: Int) -> Int {
    Int(base.load(fromByteOffset: DataLayout.chunkMapOffset + range * 4, as: UInt32.self))
  }
  private func rangesWithoutChunk(upTo target: Int) -> Int {
    var count = 0
    var range = 0
    while range < DataLayout.maximumChunks, rangeStart(range) < target {
      if chunkPlace(range) == 0 { count += 1 }
      range += 1
    }
    return count
  }

  func outOfSpace(_ error: SystemError, _ needed: Int) -> StoreError {
    switch error.errno {
    case 28 /* ENOSPC */, 122 /* EDQUOT */, 27 /* EFBIG */: return .outOfSpace(path: file.path, needed: needed)
    default: return .system(call: error.call, errno: error.errno, path: error.path ?? file.path)
    }
  }
}

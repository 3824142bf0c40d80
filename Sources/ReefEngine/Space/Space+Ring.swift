import ReefSystem

/// The redo ring's extents: taken out of the file's space as a whole, so that nothing is allocated there.
extension Space {
  /// Appends extents for a ring to the file and returns where it begins. The words that name it are stored before its
  /// extents are marked: a death in between is put right by `markRing`, before anybody allocates.
  mutating func reserveRing(length: Int, alignment: Int) throws(StoreError) -> Int {
    let unit = max(1, alignment >> DataLayout.extentShift)
    let count = max(1, length >> DataLayout.extentShift)
    func aligned(_ extent: Int) -> Int { (extent + unit - 1) / unit * unit }
    let old = extentCount
    var first = try extend(by: aligned(old) - old + count)
    // Extents of descriptors may have come in between.
    if aligned(first) + count > extentCount {
      first = extentCount
      _ = try extend(by: aligned(first) - first + count)
    }
    let start = aligned(first)
    setControl(LockLayout.Redo.newReady, 0)
    setControl(LockLayout.Redo.newStart, UInt64(start << DataLayout.extentShift))
    Space.barrier()
    setControl(LockLayout.Redo.newLength, UInt64(count << DataLayout.extentShift))
    Space.barrier()
    markRing(start..<(start + count))
    return start << DataLayout.extentShift
  }

  func markRing(_ extents: Range<Int>) {
    for extent in extents where extent > 0 && extent < extentCount {
      descriptor(extent).storeBytes(of: ExtentState.ring, as: UInt8.self)
    }
  }

  /// The extents of a ring that no slot on disk needs. What was taken for something else since then stays.
  func releaseRing(_ extents: Range<Int>) {
    for extent in extents where extent > 0 && extent < extentCount {
      let descriptor = descriptor(extent)
      guard descriptor.load(as: UInt8.self) == ExtentState.ring else { continue }
      descriptor.storeBytes(of: ExtentState.free, as: UInt8.self)
      Space.barrier()
      pushFree(extent, descriptor)
    }
  }

  /// Size class of the block that a node lies in; nil: it lies in a run.
  @inline(__always)
  static func sizeClass(_ base: UnsafeRawPointer, of ref: UInt32) -> UInt8? {
    let extent = Int(ref &>> 12)
    var place = DataLayout.inlineDescriptorsOffset &+ extent &* DataLayout.Descriptor.size
    if extent >= DataLayout.inlineDescriptors {
      let beyond = extent &- DataLayout.inlineDescriptors
      let chunk = beyond / DataLayout.descriptorsPerChunk
      let at = Int(base.load(fromByteOffset: DataLayout.chunkMapOffset &+ chunk &* 4, as: UInt32.self))
      place =
        at &<< DataLayout.extentShift &+ (beyond % DataLayout.descriptorsPerChunk) &* DataLayout.Descriptor.size
    }
    guard base.load(fromByteOffset: place, as: UInt8.self) == ExtentState.slab else { return nil }
    return base.load(fromByteOffset: place &+ DataLayout.Descriptor.sizeClass, as: UInt8.self)
  }

  // MARK: Replay

  /// Whether a block of that class can lie at `ref`.
  func isBlock(_ ref: UInt32, sizeClass index: Int, length: Int) -> Bool {
    let extent = Int(ref >> 12)
    guard extent > 0, extent < extentCount, index < classes.count else { return false }
    return blockIndex(ref, index) != nil && length <= classes.geometry[index].size
  }

  /// Says that these blocks are in use, in extents of these classes, whatever of that had reached the disk. An extent
  /// that is no slab of the class, or whose bitmap is not whole, holds nothing durable.
  mutating func restore(_ blocks: [(ref: UInt32, sizeClass: Int)]) throws(StoreError) {
    var classOf: [Int: Int] = [:]
    for block in blocks {
      if let other = classOf.updateValue(block.sizeClass, forKey: Int(block.ref >> 12)), other != block.sizeClass {
        throw damaged("the redo ring has blocks of two sizes in one extent")
      }
    }
    // Runs that were given up, and whose descriptors arrived late, must not claim what lies there now.
    var extent = 1
    while extent < extentCount {
      let descriptor = descriptor(extent)
      if descriptor.load(as: UInt8.self) == ExtentState.runHead {
        let count = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.runLength, as: UInt32.self))
        if (extent..<min(extentCount, extent + max(1, count))).contains(where: { classOf[$0] != nil }) {
          descriptor.storeBytes(of: ExtentState.free, as: UInt8.self)
        }
      }
      extent += 1
    }
    for (extent, index) in classOf {
      let descriptor = descriptor(extent)
      let isSlab =
        descriptor.load(as: UInt8.self) == ExtentState.slab
        && Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.sizeClass, as: UInt8.self)) == index
        && isBitmapWhole(extent, index)
      if !isSlab { makeSlab(extent, index) }
      // Its free blocks are counted anew.
      descriptor.storeBytes(of: 0, toByteOffset: DataLayout.Descriptor.partialGeneration, as: UInt32.self)
    }
    for block in blocks {
      guard let number = blockIndex(block.ref, block.sizeClass) else { continue }
      bitmap(Int(block.ref >> 12))[number >> 6] |= 1 << UInt64(number & 63)
    }
  }
}

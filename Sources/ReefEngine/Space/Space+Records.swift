import CXXHash
import ReefSystem

/// Whether the allocator's own records – descriptors and bitmaps – are what they were: damaged ones would hand out blocks
/// in which something lies.
///
/// A clean close leaves a checksum of each slab's bitmap in its descriptor, and one of all descriptors in the durable
/// slot. The second is compared when a session begins, which costs 32 bytes an extent; the first when an extent is
/// looked at for the first time. Where they cannot be (after a crash, for bits are early by design; or because they do
/// not hold) nothing is taken from the extents that were there until a mark pass has held the records against the tree
/// (`Control.oldExtents`): the file grows meanwhile.
extension Space {
  /// In a descriptor's `check`: the bitmap was changed since, so it was found sound, or was made.
  static let changed: UInt32 = 0
  /// It did not hold: nothing is allocated from the extent any more.
  static let broken: UInt32 = 1

  /// Extents of before, from which nothing may be taken yet; 0: their records are trusted.
  var oldExtents: Int { Int(control(LockLayout.Control.oldExtents)) }

  func check(_ extent: Int, _ descriptor: UnsafeRawPointer) -> UInt32 {
    let index = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.sizeClass, as: UInt8.self))
    guard index < classes.count else { return Space.broken }
    let bytes = (classes.geometry[index].blocks + 63) / 64 * 8
    let sum = XXH3_64bits_withSeed(bitmap(extent), bytes, UInt64(extent) << 8 | UInt64(index))
    return max(2, UInt32(truncatingIfNeeded: sum))
  }

  /// Whether a slab's bitmap may be believed. Where it may not, that is noted.
  @inline(__always)
  func isSound(_ extent: Int, _ descriptor: UnsafeMutableRawPointer) -> Bool {
    let known = descriptor.load(fromByteOffset: DataLayout.Descriptor.check, as: UInt32.self)
    return known == Space.changed || holds(extent, descriptor, known)
  }

  @inline(never)
  private func holds(_ extent: Int, _ descriptor: UnsafeMutableRawPointer, _ known: UInt32) -> Bool {
    if known == Space.broken { return false }
    if check(extent, descriptor) == known { return true }
    descriptor.storeBytes(of: Space.broken, toByteOffset: DataLayout.Descriptor.check, as: UInt32.self)
    return false
  }

  /// Before a bitmap that was found sound is changed.
  @inline(__always)
  func willChange(_ descriptor: UnsafeMutableRawPointer) {
    descriptor.storeBytes(of: Space.changed, toByteOffset: DataLayout.Descriptor.check, as: UInt32.self)
  }

  /// A clean close: bits are exact, and their checksums are filled in. Returns that of all descriptors.
  func sealRecords(extents: Int) -> UInt64 {
    for extent in 1..<max(1, extents) {
      let descriptor = descriptor(extent)
      guard descriptor.load(as: UInt8.self) == ExtentState.slab,
        descriptor.load(fromByteOffset: DataLayout.Descriptor.check, as: UInt32.self) == Space.changed
      else { continue }
      descriptor.storeBytes(
        of: check(extent, descriptor), toByteOffset: DataLayout.Descriptor.check, as: UInt32.self)
    }
    return Space.recordSum(UnsafeRawPointer(base), extents: extents)
  }

  /// Checksum of the chunk map and of the descriptors of the first extents; never 0. The map has been checked.
  static func recordSum(_ base: UnsafeRawPointer, extents: Int) -> UInt64 {
    let size = DataLayout.Descriptor.size
    let first = min(extents, DataLayout.inlineDescriptors)
    var sum = XXH3_64bits(base + DataLayout.inlineDescriptorsOffset, first * size)
    var left = extents - first
    var chunk = 0
    while left > 0 {
      let place = base.load(fromByteOffset: DataLayout.chunkMapOffset + chunk * 4, as: UInt32.self)
      let count = min(left, DataLayout.descriptorsPerChunk)
      sum = XXH3_64bits_withSeed(base + Int(place) << DataLayout.extentShift, count * size, sum ^ UInt64(place))
      left -= count
      chunk += 1
    }
    return max(1, sum & 0xffff_ffff)
  }

  /// Stores a word of each page of records again: the next sync writes them. Under the writer word.
  func touchRecords() {
    Checks.touch(base, DataLayout.extentSize)
    for chunk in 0..<DataLayout.maximumChunks
    where DataLayout.inlineDescriptors + chunk * DataLayout.descriptorsPerChunk < extentCount {
      let place = base.load(fromByteOffset: DataLayout.chunkMapOffset + chunk * 4, as: UInt32.self)
      Checks.touch(base + Int(place) << DataLayout.extentShift, DataLayout.extentSize)
    }
    for extent in 1..<max(1, extentCount) where descriptor(extent).load(as: UInt8.self) == ExtentState.slab {
      Checks.touch(base + extent << DataLayout.extentShift, 8)
    }
  }

  /// Whether the records say of a node of the newest version that its block, or run, is in use.
  func knows(_ ref: UInt32, length: Int) -> Bool {
    let extent = Int(ref >> 12)
    guard extent > 0, extent < extentCount else { return false }
    let descriptor = descriptor(extent)
    switch descriptor.load(as: UInt8.self) {
    case ExtentState.slab:
      let index = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.sizeClass, as: UInt8.self))
      guard index < classes.count, length <= classes.geometry[index].size, let block = blockIndex(ref, index) else {
        return false
      }
      return bitmap(extent)[block >> 6] >> UInt64(block & 63) & 1 != 0
    case ExtentState.runHead:
      let run = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.runLength, as: UInt32.self))
      guard ref & 0xfff == 0, run > 0, run <= extentCount - extent, length <= run << DataLayout.extentShift else {
        return false
      }
      return (extent + 1..<extent + run).allSatisfy { self.descriptor($0).load(as: UInt8.self) == ExtentState.runTail }
    default: return false
    }
  }

  /// Nothing is ever taken from these extents, nor given back to them: they hold what their records know nothing of.
  func quarantine(_ extents: Range<Int>) {
    for extent in extents where extent > 0 && extent < extentCount {
      descriptor(extent).storeBytes(of: ExtentState.meta, as: UInt8.self)
    }
  }

  /// The records were held against the newest version: what is free is free.
  mutating func trustRecords() {
    setControl(LockLayout.Control.oldExtents, 0)
    forgetLists()
  }
}

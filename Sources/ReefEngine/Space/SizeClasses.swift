/// The block sizes that slabs are cut into, and the geometry of a slab extent of each.
///
/// Sizes are 16 + 2^k in quarter steps, so that a full column of 2, 4, 8 or 16-byte values fits exactly, plus one for
/// dense inner nodes. A slab extent begins with its bitmap (bit set: block in use); blocks follow.
package struct SizeClasses: @unchecked Sendable {
  package struct Geometry {
    package var size: Int
    /// Offset of the first block in its extent.
    package var first: Int
    package var blocks: Int
    /// ceil(2^32 / size): multiplying by it and shifting divides exactly for offsets below 64 KiB.
    package var magic: UInt64
  }

  package let count: Int
  package let geometry: UnsafeMutablePointer<Geometry>
  /// Class by (length + 15) / 16.
  package let byGrains: UnsafeMutablePointer<UInt8>
  /// Longer nodes take a run of whole extents.
  package let largest: Int

  /// Immutable after this and never freed: one for the life of the process.
  package static let shared = SizeClasses()

  private init() {
    var sizes: [Int] = []
    var power = 16
    var step = 16
    while power + 16 <= (DataLayout.extentSize - 128) / 2 {
      sizes.append(power + 16)
      power += step
      if power.nonzeroBitCount == 1, power >= 64 { step = power / 4 }
    }
    sizes.append(DataLayout.Inner.denseEntries + DataLayout.Inner.fanOut * DataLayout.entrySize + 8)
    sizes.sort()
    count = sizes.count
    largest = sizes.last ?? 0
    geometry = .allocate(capacity: count)
    for (index, size) in sizes.enumerated() {
      var blocks = (DataLayout.extentSize - 64) / size
      var first = 0
      while true {
        first = ((blocks + 63) / 64 * 8 + 63) & ~63
        if first + blocks * size <= DataLayout.extentSize { break }
        blocks -= 1
      }
      let magic = ((1 << 32) + UInt64(size) - 1) / UInt64(size)
      (geometry + index).initialize(to: Geometry(size: size, first: first, blocks: blocks, magic: magic))
    }
    byGrains = .allocate(capacity: largest / 16 + 2)
    var at = 0
    for grains in 0...(largest / 16 + 1) {
      while at < count - 1, sizes[at] < grains * 16 { at += 1 }
      byGrains[grains] = UInt8(at)
    }
  }
}

/// Offsets and sizes of the data file. Drawn in `docs/format.md`; `FormatDrawingTests` compares the two.
package enum DataLayout {
  package static let magic: UInt64 = 0x4154_4144_4645_4552  // "REEFDATA", little-endian
  package static let formatVersion: UInt32 = 1

  /// A ref counts grains: 32 bits reach 64 GiB.
  package static let grainShift = 4
  package static let grain = 1 << grainShift
  package static let extentShift = 16
  package static let extentSize = 1 << extentShift
  package static let maximumExtents = 1 << 20
  package static let pageSize = 4096

  // Extent 0
  package static let headerOffset = 0
  package static let durableSlotOffset = (4096, 8192)
  package static let headSlotOffset = (12288, 12288 + 512)
  package static let chunkMapOffset = 16384
  package static let inlineDescriptorsOffset = 20480

  /// Header page
  package enum Header {
    package static let magic = 0
    package static let formatVersion = 8
    package static let grainShift = 12
    package static let extentShift = 13
    package static let pageShift = 14
    package static let littleEndian = 15
    package static let uuid = 16
    package static let created = 32
    package static let numaMode = 40
    package static let flags = 44
    package static let numaNodes = 48
    package static let checksum = 56
    package static let size = 64
  }

  /// Header flags
  package enum HeaderFlag {
    package static let inMemory: UInt32 = 1
    /// Child entries carry checksums of what they refer to.
    package static let checked: UInt32 = 2
  }

  /// A durable or head root slot
  package enum Slot {
    package static let version = 0
    package static let root = 8
    package static let extents = 16
    package static let session = 24
    package static let epoch = 32
    package static let boot = 40
    package static let ringStart = 56
    package static let ringLength = 64
    package static let ringPosition = 72
    package static let chain = 80
    package static let fingerprint = 88
    package static let flags = 96
    package static let time = 104
    package static let checksum = 120
    package static let size = 128
  }

  /// Slot flags
  package enum SlotFlag {
    /// Leaked blocks may exist: a mark pass is owed.
    package static let unswept: UInt64 = 1
  }

  /// Extent descriptor, 32 bytes; extents 0 ..< inlineDescriptors lie in extent 0, the others in chunk extents
  package enum Descriptor {
    package static let state = 0
    package static let sizeClass = 1
    package static let freeBlocks = 2
    package static let runLength = 4
    package static let partialGeneration = 8
    package static let nextPartial = 12
    package static let freeGeneration = 16
    package static let nextFree = 20
    package static let emptied = 24
    package static let size = 32
  }
  package static let inlineDescriptors = (extentSize - inlineDescriptorsOffset) / Descriptor.size
  package static let descriptorsPerChunk = extentSize / Descriptor.size

  /// Node header, 16 bytes before every payload
  package enum Node {
    package static let kind = 0
    package static let form = 1
    /// low 9 bits: count; high 7 bits: length of each value in a fixed-length column
    package static let shape = 2
    /// bytes used, header included
    package static let length = 4
    /// epoch << 48 | version in which it was made
    package static let stamp = 8
    package static let size = 16
  }
  package static let epochShift: UInt64 = 48
  package static let versionMask: UInt64 = (1 << 48) - 1

  /// A child entry: ref in the low half, checksum of the child in the high half.
  package static let entrySize = 8

  package enum Root {
    package static let version = 16
    package static let time = 24
    package static let peer = 32
    package static let tableCount = 36
    package static let schema = 40
    package static let history = 48
    package static let tag = 56
    package static let tables = 64
  }
  package enum Table {
    package static let count = 16
    package static let nextKey = 24
    package static let root = 32
    package static let depth = 40
    package static let columns = 44
    package static let keyIndexRoot = 48
    package static let keyIndexDepth = 56
    package static let indexCount = 60
    /// {root entry, depth} × indexCount, in the order of indexed properties
    package static let indexes = 64
  }
  package enum Inner {
    /// dense: base key, then entries; form holds the shift
    package static let denseBase = 16
    package static let denseEntries = 24
    /// keyed: 64 lower bounds, then 64 entries
    package static let keys = 16
    package static let keyedEntries = 16 + 64 * 8
    package static let fanOut = 64
  }
  package enum Leaf {
    package static let base = 16
    package static let keys = 24
    package static let columns = 32
    package static let capacity = 256
  }
  package enum Column {
    /// [null bitmap, 32 bytes, where flagged] [big bitmap, 32 bytes, where flagged] values
    package static let payload = 16
    package static let bitmapSize = 32
  }
  package enum Blob {
    package static let bytes = 16
    package static let data = 24
  }
}

/// What a node is. Written into stores: never renumber.
package enum NodeKind {
  package static let root: UInt8 = 1
  package static let table: UInt8 = 2
  package static let blob: UInt8 = 3
  package static let innerDense: UInt8 = 4
  package static let innerKeyed: UInt8 = 5
  package static let leaf: UInt8 = 6
  package static let column: UInt8 = 7
  package static let indexLeaf: UInt8 = 8
  package static let indexInner: UInt8 = 9
}

/// How a column node stores its values (low 4 bits of `form`), and what bitmaps precede them.
package enum ColumnForm {
  package static let bits: UInt8 = 0  // one bit a value, in 64-bit words
  package static let int8: UInt8 = 1  // two's complement, sign-extended
  package static let int16: UInt8 = 2
  package static let int32: UInt8 = 3
  package static let int64: UInt8 = 4  // also UInt64 (bit pattern), Double and Date (IEEE bits)
  package static let float: UInt8 = 5  // IEEE single bits
  package static let uuid: UInt8 = 6  // 16 bytes each, textual order
  package static let fixed: UInt8 = 7  // strings or data that all have the length in `shape`
  package static let short: UInt8 = 8  // end offsets UInt16 × count, then bytes
  package static let long: UInt8 = 9  // end offsets UInt32 × count, then bytes
  package static let mask: UInt8 = 0x0f
  /// A bitmap of nil values precedes (bit set: nil; the value bits are then zero, or empty).
  package static let hasNulls: UInt8 = 0x10
  /// A bitmap precedes of values too long to lie here: their bytes are a {entry of a blob node, length} pair, 16 bytes.
  package static let hasBlobs: UInt8 = 0x20
}

/// Offsets and sizes of the data file. Drawn in `docs/format.md`; `FormatDrawingTests` compares the two.
@usableFromInline package enum DataLayout {
  @inlinable package static var magic: UInt64 { 0x4154_4144_4645_4552 }  // "REEFDATA", little-endian
  @inlinable package static var formatVersion: UInt32 { 1 }

  /// A ref counts grains: 32 bits reach 64 GiB.
  @inlinable package static var grainShift: Int { 4 }
  @inlinable package static var grain: Int { 1 << grainShift }
  @inlinable package static var extentShift: Int { 16 }
  @inlinable package static var extentSize: Int { 1 << extentShift }
  @inlinable package static var maximumExtents: Int { 1 << 20 }
  @inlinable package static var pageSize: Int { 4096 }

  // Extent 0
  @inlinable package static var headerOffset: Int { 0 }
  @inlinable package static var durableSlotOffset: (Int, Int) { (4096, 8192) }
  @inlinable package static var headSlotOffset: (Int, Int) { (12288, 12288 + 512) }
  @inlinable package static var chunkMapOffset: Int { 16384 }
  @inlinable package static var inlineDescriptorsOffset: Int { 20480 }

  /// Header page
  @usableFromInline package enum Header {
    @inlinable package static var magic: Int { 0 }
    @inlinable package static var formatVersion: Int { 8 }
    @inlinable package static var grainShift: Int { 12 }
    @inlinable package static var extentShift: Int { 13 }
    @inlinable package static var pageShift: Int { 14 }
    @inlinable package static var littleEndian: Int { 15 }
    @inlinable package static var uuid: Int { 16 }
    @inlinable package static var created: Int { 32 }
    @inlinable package static var numaMode: Int { 40 }
    @inlinable package static var flags: Int { 44 }
    @inlinable package static var numaNodes: Int { 48 }
    @inlinable package static var checksum: Int { 56 }
    @inlinable package static var size: Int { 64 }
  }

  /// Header flags
  @usableFromInline package enum HeaderFlag {
    @inlinable package static var inMemory: UInt32 { 1 }
    /// Child entries carry checksums of what they refer to.
    @inlinable package static var checked: UInt32 { 2 }
    /// Its creation was cut off, or goes on: nothing was committed.
    @inlinable package static var unfinished: UInt32 { 4 }
  }

  /// A durable or head root slot
  @usableFromInline package enum Slot {
    @inlinable package static var version: Int { 0 }
    @inlinable package static var root: Int { 8 }
    @inlinable package static var extents: Int { 16 }
    @inlinable package static var session: Int { 24 }
    @inlinable package static var epoch: Int { 32 }
    @inlinable package static var boot: Int { 40 }
    @inlinable package static var ringStart: Int { 56 }
    @inlinable package static var ringLength: Int { 64 }
    @inlinable package static var ringPosition: Int { 72 }
    @inlinable package static var chain: Int { 80 }
    @inlinable package static var fingerprint: Int { 88 }
    @inlinable package static var flags: Int { 96 }
    @inlinable package static var time: Int { 104 }
    @inlinable package static var generation: Int { 112 }
    @inlinable package static var checksum: Int { 120 }
    @inlinable package static var size: Int { 128 }
  }

  /// Slot flags
  @usableFromInline package enum SlotFlag {
    /// With `clean`: above it the checksum of the allocator's records.
    @inlinable package static var sumShift: UInt64 { 32 }
    /// Leaked blocks may exist: a mark pass is owed.
    @inlinable package static var unswept: UInt64 { 1 }
    /// Closed in order: nothing waits, and bits say exactly what is in use.
    @inlinable package static var clean: UInt64 { 2 }
  }

  /// Extent descriptor, 32 bytes; extents 0 ..< inlineDescriptors lie in extent 0, the others in chunk extents
  @usableFromInline package enum Descriptor {
    @inlinable package static var state: Int { 0 }
    @inlinable package static var sizeClass: Int { 1 }
    @inlinable package static var freeBlocks: Int { 2 }
    @inlinable package static var runLength: Int { 4 }
    @inlinable package static var partialGeneration: Int { 8 }
    @inlinable package static var nextPartial: Int { 12 }
    @inlinable package static var freeGeneration: Int { 16 }
    @inlinable package static var nextFree: Int { 20 }
    @inlinable package static var check: Int { 24 }
    @inlinable package static var size: Int { 32 }
  }
  @inlinable package static var inlineDescriptors: Int { (extentSize - inlineDescriptorsOffset) / Descriptor.size }
  @inlinable package static var descriptorsPerChunk: Int { extentSize / Descriptor.size }
  /// Entries of the chunk map: extent of each further range of descriptors, 0 where there is none yet.
  @inlinable package static var maximumChunks: Int { 512 }

  /// Node header, 16 bytes before every payload
  @usableFromInline package enum Node {
    @inlinable package static var kind: Int { 0 }
    @inlinable package static var form: Int { 1 }
    /// low 9 bits: count; high 7 bits: length of each value in a fixed-length column
    @inlinable package static var shape: Int { 2 }
    /// bytes used, header included
    @inlinable package static var length: Int { 4 }
    /// epoch << 48 | version in which it was made
    @inlinable package static var stamp: Int { 8 }
    @inlinable package static var size: Int { 16 }
  }
  @inlinable package static var epochShift: UInt64 { 48 }
  @inlinable package static var versionMask: UInt64 { (1 << 48) - 1 }

  /// A child entry: ref in the low half, checksum of the child in the high half.
  @inlinable package static var entrySize: Int { 8 }

  @usableFromInline package enum Root {
    @inlinable package static var version: Int { 16 }
    @inlinable package static var time: Int { 24 }
    @inlinable package static var peer: Int { 32 }
    @inlinable package static var tableCount: Int { 36 }
    @inlinable package static var schema: Int { 40 }
    @inlinable package static var history: Int { 48 }
    @inlinable package static var tag: Int { 56 }
    @inlinable package static var tables: Int { 64 }
  }
  @usableFromInline package enum Table {
    @inlinable package static var count: Int { 16 }
    @inlinable package static var nextKey: Int { 24 }
    @inlinable package static var root: Int { 32 }
    @inlinable package static var depth: Int { 40 }
    @inlinable package static var columns: Int { 44 }
    @inlinable package static var keyIndexRoot: Int { 48 }
    @inlinable package static var keyIndexDepth: Int { 56 }
    @inlinable package static var indexCount: Int { 60 }
    /// {root entry, depth} × indexCount, in the order of indexed properties
    @inlinable package static var indexes: Int { 64 }
  }
  @usableFromInline package enum Inner {
    /// dense: base key, then entries; form holds the shift
    @inlinable package static var denseBase: Int { 16 }
    @inlinable package static var denseEntries: Int { 24 }
    /// keyed: 64 lower bounds, then 64 entries
    @inlinable package static var keys: Int { 16 }
    @inlinable package static var keyedEntries: Int { 16 + 64 * 8 }
    @inlinable package static var fanOut: Int { 64 }
  }
  @usableFromInline package enum Leaf {
    @inlinable package static var base: Int { 16 }
    @inlinable package static var keys: Int { 24 }
    @inlinable package static var columns: Int { 32 }
    @inlinable package static var capacity: Int { 256 }
  }
  @usableFromInline package enum Column {
    /// [null bitmap, 32 bytes, where flagged] [big bitmap, 32 bytes, where flagged] values
    @inlinable package static var payload: Int { 16 }
    @inlinable package static var bitmapSize: Int { 32 }
  }
  @usableFromInline package enum Blob {
    @inlinable package static var bytes: Int { 16 }
    @inlinable package static var data: Int { 24 }
  }
}

/// What a node is. Written into stores: never renumber.
@usableFromInline package enum NodeKind {
  @inlinable package static var root: UInt8 { 1 }
  @inlinable package static var table: UInt8 { 2 }
  @inlinable package static var blob: UInt8 { 3 }
  @inlinable package static var innerDense: UInt8 { 4 }
  @inlinable package static var innerKeyed: UInt8 { 5 }
  @inlinable package static var leaf: UInt8 { 6 }
  @inlinable package static var column: UInt8 { 7 }
  @inlinable package static var indexLeaf: UInt8 { 8 }
  @inlinable package static var indexInner: UInt8 { 9 }
}

/// How a column node stores its values (low 4 bits of `form`), and what bitmaps precede them.
@usableFromInline package enum ColumnForm {
  @inlinable package static var bits: UInt8 { 0 }  // one bit a value, in 64-bit words
  @inlinable package static var int8: UInt8 { 1 }  // two's complement, sign-extended
  @inlinable package static var int16: UInt8 { 2 }
  @inlinable package static var int32: UInt8 { 3 }
  @inlinable package static var int64: UInt8 { 4 }  // also UInt64 (bit pattern), Double and Date (IEEE bits)
  @inlinable package static var float: UInt8 { 5 }  // IEEE single bits
  @inlinable package static var uuid: UInt8 { 6 }  // 16 bytes each, textual order
  @inlinable package static var fixed: UInt8 { 7 }  // strings or data that all have the length in `shape`
  @inlinable package static var short: UInt8 { 8 }  // end offsets UInt16 × count, then bytes
  @inlinable package static var long: UInt8 { 9 }  // end offsets UInt32 × count, then bytes
  @inlinable package static var mask: UInt8 { 0x0f }
  /// A bitmap of nil values precedes (bit set: nil; the value bits are then zero, or empty).
  @inlinable package static var hasNulls: UInt8 { 0x10 }
  /// A bitmap precedes of values too long to lie here: their bytes are a {entry of a blob node, length} pair, 16 bytes.
  @inlinable package static var hasBlobs: UInt8 { 0x20 }
}

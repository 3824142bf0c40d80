extension DataLayout {
  /// The redo ring is written in blocks of this size.
  @inlinable package static var redoBlock: Int { 4096 }

  /// A record of the redo ring
  @usableFromInline package enum Record {
    @inlinable package static var checksum: Int { 0 }
    @inlinable package static var length: Int { 8 }
    @inlinable package static var session: Int { 16 }
    @inlinable package static var base: Int { 24 }
    @inlinable package static var version: Int { 32 }
    @inlinable package static var chain: Int { 40 }
    @inlinable package static var position: Int { 48 }
    @inlinable package static var root: Int { 56 }
    @inlinable package static var extents: Int { 64 }
    @inlinable package static var fingerprint: Int { 72 }
    @inlinable package static var flags: Int { 80 }
    @inlinable package static var time: Int { 88 }
    @inlinable package static var generation: Int { 96 }
    @inlinable package static var nodeCount: Int { 104 }
    @inlinable package static var nodes: Int { 112 }
  }

  /// A node in a record: its place, then its very bytes, padded to 8
  @usableFromInline package enum RecordNode {
    @inlinable package static var ref: Int { 0 }
    /// low 24 bits: length; high 8 bits: size class of its block
    @inlinable package static var shape: Int { 4 }
    @inlinable package static var bytes: Int { 8 }
  }
}

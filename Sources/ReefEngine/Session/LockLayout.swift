/// Offsets and sizes of the lock file's shared memory. Drawn in `docs/format.md`; `FormatDrawingTests` compares the two.
///
/// Everything here belongs to the session and can be rebuilt; nothing here is ever trusted across a boot.
package enum LockLayout {
  @inlinable package static var magic: UInt64 { 0x4b43_4f4c_4645_4552 }  // "REEFLOCK"
  /// Changes with any change of this file: processes with another layout refuse each other.
  @inlinable package static var layoutHash: UInt64 { 0x0001_0000_0000_0003 }

  package enum Header {
    @inlinable package static var magic: Int { 0 }
    @inlinable package static var layoutHash: Int { 8 }
    @inlinable package static var wordSize: Int { 16 }
    @inlinable package static var pageSize: Int { 20 }
    @inlinable package static var uuid: Int { 24 }
    @inlinable package static var device: Int { 40 }
    @inlinable package static var inode: Int { 48 }
    @inlinable package static var boot: Int { 56 }
    @inlinable package static var session: Int { 72 }
    @inlinable package static var epoch: Int { 80 }
    @inlinable package static var ready: Int { 88 }
  }

  /// Control words, each on a line of its own unless only the writer touches them.
  package enum Control {
    @inlinable package static var writerWord: Int { 4096 }
    @inlinable package static var nextTicket: Int { 4160 }
    @inlinable package static var passes: Int { 4168 }
    @inlinable package static var waitMap: Int { 4224 }  // 256 bits
    @inlinable package static var visible: Int { 4288 }  // version << 1 | sleep bit
    @inlinable package static var told: Int { 4352 }
    @inlinable package static var listeners: Int { 4416 }  // 256 bits
    @inlinable package static var slotsInUse: Int { 4480 }  // high-water mark of reader slots
    @inlinable package static var checkpointWord: Int { 4544 }
    @inlinable package static var appendWord: Int { 4608 }

    // touched by the owner of the writer word only
    @inlinable package static var tip: Int { 4672 }
    @inlinable package static var jver: Int { 4680 }
    @inlinable package static var pendingFull: Int { 4688 }
    @inlinable package static var confirmed: Int { 4696 }
    @inlinable package static var poisoned: Int { 4704 }
    @inlinable package static var syncing: Int { 4712 }
    @inlinable package static var appending: Int { 4720 }
    /// Version of the newest durable slot; 0: holds nothing (tmpfs)
    @inlinable package static var synced: Int { 4736 }
    @inlinable package static var attempt: Int { 4744 }
    @inlinable package static var tipRoot: Int { 4752 }
    @inlinable package static var tipExtents: Int { 4760 }
    @inlinable package static var fingerprint: Int { 4768 }
    @inlinable package static var flags: Int { 4776 }
    /// Number of the newest sync whose leader died in it, until a checkpoint has settled what that lost; 0: none.
    @inlinable package static var doubtful: Int { 4728 }
    /// Monotonic ns when the oldest unsynced commit was made; 0: none.
    @inlinable package static var oldestUnsynced: Int { 4784 }
    @inlinable package static var needsMark: Int { 4792 }
    /// Syncs begun in this session.
    @inlinable package static var syncs: Int { 4800 }
    @inlinable package static var attemptFingerprint: Int { 4808 }
    @inlinable package static var attemptRoot: Int { 4816 }
    @inlinable package static var attemptExtents: Int { 4824 }
    @inlinable package static var tipTime: Int { 4832 }
    @inlinable package static var attemptTime: Int { 4848 }
    /// 0: nodes are held against their checksums when they are entered; else nodes of this version and later ones need not.
    @inlinable package static var proven: Int { 4856 }
    /// Version that the session began with.
    @inlinable package static var begunAt: Int { 4648 }
    /// Owner of the mark pass, as in the writer word.
    @inlinable package static var markWord: Int { 4640 }
    /// 1 while a mark pass runs.
    @inlinable package static var marking: Int { 4840 }

    // allocator
    @inlinable package static var extentCount: Int { 4864 }
    @inlinable package static var oldExtents: Int { 4872 }
    @inlinable package static var listGeneration: Int { 4880 }
    @inlinable package static var scanNext: Int { 4888 }
    @inlinable package static var freeHead: Int { 4896 }
    @inlinable package static var freeExtents: Int { 4904 }
    /// Free extents whose storage was given back, and where to look for the next.
    @inlinable package static var holes: Int { 4912 }
    @inlinable package static var holeNext: Int { 4920 }
    // waiting blocks
    @inlinable package static var poolCount: Int { 4928 }
    @inlinable package static var poolCapacity: Int { 4936 }
    @inlinable package static var poolFree: Int { 4944 }
    @inlinable package static var freshHead: Int { 4952 }
    @inlinable package static var freshTail: Int { 4960 }
    @inlinable package static var freshCount: Int { 4968 }
    @inlinable package static var reclaiming: Int { 4976 }
    @inlinable package static var waitingCount: Int { 4984 }
    @inlinable package static var waitingBytes: Int { 4992 }
  }

  /// Statistics, counters only
  package enum Statistics {
    @inlinable package static var commits: Int { 5120 }
    @inlinable package static var aborts: Int { 5128 }
    @inlinable package static var takeovers: Int { 5136 }
    @inlinable package static var reclaimed: Int { 5144 }
    @inlinable package static var checkpoints: Int { 5152 }
    @inlinable package static var wakes: Int { 5160 }
    @inlinable package static var hints: Int { 5168 }
    @inlinable package static var leaked: Int { 5176 }
    @inlinable package static var revocations: Int { 5184 }
  }

  @inlinable package static var maximumPeers: Int { 256 }
  package enum Peer {
    @inlinable package static var table: Int { 8192 }
    @inlinable package static var size: Int { 128 }
    @inlinable package static var generation: Int { 0 }
    @inlinable package static var park: Int { 4 }
    @inlinable package static var ticket: Int { 8 }
    @inlinable package static var skip: Int { 16 }
    @inlinable package static var process: Int { 24 }  // process id in its own namespace: for people only
    @inlinable package static var joined: Int { 32 }  // ns since 1970
    @inlinable package static var name: Int { 40 }  // 48 bytes, NUL-padded
    @inlinable package static var nameSize: Int { 48 }
    @inlinable package static var writerSince: Int { 88 }
  }

  @inlinable package static var maximumSlots: Int { 1024 }
  package enum ReaderSlot {
    @inlinable package static var table: Int { 8192 + 256 * 128 }
    @inlinable package static var size: Int { 64 }
    @inlinable package static var owner: Int { 0 }  // 0 free, else generation << 16 | peer index + 1
    @inlinable package static var pin: Int { 8 }  // 0 none, else version << 1 | follows (holds every later version too)
    @inlinable package static var root: Int { 16 }
    @inlinable package static var extents: Int { 24 }
    @inlinable package static var revocation: Int { 32 }  // 0: refused, 1: admitted, 2: the pin was taken away
    @inlinable package static var idle: Int { 40 }  // 1: nobody reads by the pin any more
  }

  @inlinable package static var ringSize: Int { 2048 }
  package enum RingEntry {
    @inlinable package static var table: Int { ReaderSlot.table + 1024 * 64 }
    @inlinable package static var size: Int { 32 }
    @inlinable package static var version: Int { 0 }
    @inlinable package static var root: Int { 8 }
    @inlinable package static var extents: Int { 16 }
    @inlinable package static var time: Int { 24 }
  }

  /// One bit an extent: the transaction journal.
  @inlinable package static var touchedOffset: Int { RingEntry.table + ringSize * RingEntry.size }
  @inlinable package static var touchedSize: Int { DataLayout.maximumExtents / 8 }

  @inlinable package static var maximumClasses: Int { 64 }
  @inlinable package static var magazineCapacity: Int { 128 }
  /// Per size class: counts, then refs of blocks that are free though their bits are set.
  package enum ClassState {
    @inlinable package static var table: Int { touchedOffset + touchedSize }
    @inlinable package static var size: Int { 64 + magazineCapacity * 4 }
    @inlinable package static var filled: Int { 0 }
    @inlinable package static var current: Int { 4 }  // extent now allocated from
    @inlinable package static var word: Int { 8 }  // next bitmap word of it
    @inlinable package static var partialHead: Int { 12 }
    @inlinable package static var magazine: Int { 64 }
  }

  /// Waiting blocks that some pin holds, by that pin's slot: {pin, head, count}; 8 more for durable slots and the like.
  package enum Bin {
    @inlinable package static var table: Int { ClassState.table + maximumClasses * ClassState.size }
    @inlinable package static var count: Int { 1024 + 8 }
    @inlinable package static var size: Int { 16 }
    @inlinable package static var pin: Int { 0 }
    @inlinable package static var head: Int { 8 }
  }

  /// Waiting blocks, growing to the end of the file.
  package enum Waiting {
    @inlinable package static var pool: Int { (Bin.table + Bin.count * Bin.size + 4095) & ~4095 }
    @inlinable package static var size: Int { 24 }
    @inlinable package static var made: Int { 0 }
    @inlinable package static var replaced: Int { 8 }
    @inlinable package static var ref: Int { 16 }  // 0: entry not in use
    @inlinable package static var next: Int { 20 }  // index + 1
    @inlinable package static var growth: Int { 64 * 1024 }
  }
  @inlinable package static var initialSize: Int { Waiting.pool + Waiting.growth }
  /// Address space kept for the lock file; its waiting pool never grows beyond.
  @inlinable package static var reserved: Int { 1 << 28 }
  @inlinable package static var maximumWaiting: Int { (reserved - Waiting.pool) / Waiting.size }
}

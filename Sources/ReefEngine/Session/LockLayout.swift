/// Offsets and sizes of the lock file's shared memory. Drawn in `docs/format.md`; `FormatDrawingTests` compares the two.
///
/// Everything here belongs to the session and can be rebuilt; nothing here is ever trusted across a boot.
package enum LockLayout {
  package static let magic: UInt64 = 0x4b43_4f4c_4645_4552  // "REEFLOCK"
  /// Changes with any change of this file: processes with another layout refuse each other.
  package static let layoutHash: UInt64 = 0x0001_0000_0000_0001

  package enum Header {
    package static let magic = 0
    package static let layoutHash = 8
    package static let wordSize = 16
    package static let pageSize = 20
    package static let uuid = 24
    package static let device = 40
    package static let inode = 48
    package static let boot = 56
    package static let session = 72
    package static let epoch = 80
    package static let ready = 88
  }

  /// Control words, each on a line of its own unless only the writer touches them.
  package enum Control {
    package static let writerWord = 4096
    package static let nextTicket = 4160
    package static let passes = 4168
    package static let waitMap = 4224  // 256 bits
    package static let visible = 4288  // version << 1 | sleep bit
    package static let told = 4352
    package static let listeners = 4416  // 256 bits
    package static let slotsInUse = 4480  // high-water mark of reader slots
    package static let checkpointWord = 4544
    package static let appendWord = 4608

    // touched by the owner of the writer word only
    package static let tip = 4672
    package static let jver = 4680
    package static let pendingFull = 4688
    package static let confirmed = 4696
    package static let poisoned = 4704
    package static let syncing = 4712
    package static let appending = 4720
    package static let appended = 4728
    package static let may0 = 4736
    package static let may1 = 4744
    package static let tipRoot = 4752
    package static let tipExtents = 4760
    package static let fingerprint = 4768
    package static let flags = 4776
    package static let oldestUnsynced = 4784  // monotonic ns when the oldest unsynced commit was made; 0: none
    package static let needsMark = 4792
    package static let fullSyncFailed = 4800

    // allocator
    package static let extentCount = 4864
    package static let backedExtents = 4872
    package static let listGeneration = 4880
    package static let scanNext = 4888
    package static let freeHead = 4896
    package static let freeExtents = 4904
    package static let liveBytes = 4912
    // waiting blocks
    package static let poolCount = 4928
    package static let poolCapacity = 4936
    package static let poolFree = 4944
    package static let freshHead = 4952
    package static let freshTail = 4960
    package static let freshCount = 4968
    package static let reclaiming = 4976
    package static let waitingCount = 4984
  }

  /// Statistics, counters only
  package enum Statistics {
    package static let commits = 5120
    package static let aborts = 5128
    package static let takeovers = 5136
    package static let reclaimed = 5144
    package static let checkpoints = 5152
    package static let wakes = 5160
    package static let hints = 5168
    package static let leaked = 5176
  }

  package static let maximumPeers = 256
  package enum Peer {
    package static let table = 8192
    package static let size = 128
    package static let generation = 0
    package static let park = 4
    package static let ticket = 8
    package static let skip = 16
    package static let process = 24  // process id in its own namespace: for people only
    package static let joined = 32  // ns since 1970
    package static let name = 40  // 48 bytes, NUL-padded
    package static let nameSize = 48
    package static let writerSince = 88
  }

  package static let maximumSlots = 1024
  package enum ReaderSlot {
    package static let table = 8192 + 256 * 128
    package static let size = 64
    package static let owner = 0  // 0 free, else generation << 16 | peer index + 1
    package static let pin = 8  // 0 none, else version << 1 | follows (holds every later version too)
    package static let root = 16
    package static let extents = 24
    package static let since = 32  // ns since 1970, when the pin was taken, 0 where nobody asked
  }

  package static let ringSize = 2048
  package enum RingEntry {
    package static let table = ReaderSlot.table + 1024 * 64
    package static let size = 32
    package static let version = 0
    package static let root = 8
    package static let extents = 16
    package static let time = 24
  }

  /// One bit an extent: the transaction journal.
  package static let touchedOffset = RingEntry.table + ringSize * RingEntry.size
  package static let touchedSize = DataLayout.maximumExtents / 8

  package static let maximumClasses = 64
  package static let magazineCapacity = 128
  /// Per size class: counts, then refs of blocks that are free though their bits are set.
  package enum ClassState {
    package static let table = touchedOffset + touchedSize
    package static let size = 64 + magazineCapacity * 4
    package static let filled = 0
    package static let current = 4  // extent now allocated from
    package static let word = 8  // next bitmap word of it
    package static let partialHead = 12
    package static let magazine = 64
  }

  /// Waiting blocks that some pin holds, by that pin's slot: {pin, head, count}; 8 more for durable slots and the like.
  package enum Bin {
    package static let table = ClassState.table + maximumClasses * ClassState.size
    package static let count = 1024 + 8
    package static let size = 16
    package static let pin = 0
    package static let head = 8
  }

  /// Waiting blocks, growing to the end of the file.
  package enum Waiting {
    package static let pool = (Bin.table + Bin.count * Bin.size + 4095) & ~4095
    package static let size = 24
    package static let made = 0
    package static let replaced = 8
    package static let ref = 16  // 0: entry not in use
    package static let next = 20  // index + 1
    package static let growth = 64 * 1024
  }
  package static let initialSize = Waiting.pool + Waiting.growth
  /// Address space kept for the lock file; its waiting pool never grows beyond.
  package static let reserved = 1 << 28
  package static let maximumWaiting = (reserved - Waiting.pool) / Waiting.size
}

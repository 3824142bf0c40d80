import ReefSystem
import Synchronization

/// Syncs whose leader died in them. The kernel tells of pages that it could not write once: to the first sync through each
/// descriptor that was open at the time, and where nobody has been told yet, to the first later one. Where the dead were
/// told, a process that opened the file later hears nothing: its sync "succeeds", and the pages are clean and not on disk.
///
/// A descriptor that is older than the sync hears for itself. Everyone else stores again what the disk may lack
/// (`Checkpoint.storeAgain`): a sync after that proves what it says. So no kill condemns a store.
struct Doubts {
  let sync: UInt64
  let append: UInt64

  init(_ lock: LockMemory) {
    sync = lock.word(LockLayout.Control.doubtful)
    append = lock.word(LockLayout.Redo.doubtful)
  }

  /// They are settled; one that came up meanwhile stays.
  func end(_ lock: LockMemory) {
    if sync != 0 { _ = lock.compareExchange(LockLayout.Control.doubtful, sync, 0) }
    if append != 0 { _ = lock.compareExchange(LockLayout.Redo.doubtful, append, 0) }
  }
}

/// How many syncs and appends had begun when this process had its descriptor already: it is older than any later one.
struct SyncsAtOpening {
  let syncs: UInt64
  let appends: UInt64

  init(_ lock: LockMemory) {
    syncs = lock.loadAcquire(LockLayout.Control.syncs)
    appends = lock.loadAcquire(LockLayout.Redo.syncs)
  }
}

extension Session {
  /// Whether this process's descriptor would report what these syncs may have lost.
  func wouldHear(of doubts: Doubts) -> Bool {
    (doubts.sync == 0 || doubts.sync > syncsAtOpening.syncs)
      && (doubts.append == 0 || doubts.append > syncsAtOpening.appends)
  }
}

extension Checks {
  /// Stores every node again that was made after a version: the same bytes, so that their pages count as changed and the
  /// next sync writes them. False: one is not what its parent knows, and so not what was made.
  ///
  /// The version must be held, and this process may store into the file.
  static func storeAgain(_ root: UInt64, extents: UInt64, after version: UInt64, in data: MappedFile) -> Bool {
    let limit = extents << UInt64(DataLayout.extentShift)
    var walk = TreeWalk(limit: limit)
    return storeAgain(root, base: data.base, limit: limit, after: version, &walk, depth: 0)
  }

  private static func storeAgain(
    _ entry: UInt64, base: UnsafeMutableRawPointer, limit: UInt64, after version: UInt64, _ walk: inout TreeWalk,
    depth: Int
  ) -> Bool {
    let offset = (entry & 0xffff_ffff) << UInt64(DataLayout.grainShift)
    guard walk.enters(depth: depth), offset >= UInt64(DataLayout.extentSize), offset + 16 <= limit else { return false }
    let node = base + Int(offset)
    let length = UInt64(node.load(fromByteOffset: DataLayout.Node.length, as: UInt32.self))
    guard length >= 16, offset + length <= limit, sum(node) == entry >> 32 else { return false }
    let made = node.load(fromByteOffset: DataLayout.Node.stamp, as: UInt64.self) & DataLayout.versionMask
    if made <= version { return true }
    touch(node, Int(length))
    var isWhole = true
    let isSound = NodeChildren.forEach(node) { place in
      if isWhole {
        isWhole = storeAgain(
          place.loadUnaligned(as: UInt64.self), base: base, limit: limit, after: version, &walk, depth: depth + 1)
      }
    }
    return isSound && isWhole
  }

  /// Stores a word of each page again, atomically: whoever else stores there meanwhile loses nothing. By compare and
  /// exchange, for compilers turn other operations that change nothing into loads.
  static func touch(_ start: UnsafeMutableRawPointer, _ length: Int) {
    var at = UInt(bitPattern: start) & ~7
    let end = UInt(bitPattern: start) + UInt(length)
    while at < end {
      if let word = UnsafeMutablePointer<Atomic<UInt64>>(bitPattern: at) {
        var old = word.pointee.load(ordering: .relaxed)
        while true {
          let result = word.pointee.compareExchange(expected: old, desired: old, ordering: .relaxed)
          if result.exchanged { break }
          old = result.original
        }
      }
      at = (at | UInt(DataLayout.pageSize - 1)) + 1
    }
  }
}

import ReefSystem

/// The lock file's shared memory, mapped whole through a description of its own (the one with the kernel locks maps
/// nothing that children get). The mapping reaches beyond the end of the file; `grow` comes before touching.
package final class LockFile: @unchecked Sendable {
  package let memory: LockMemory
  private let descriptor: Int32
  private let path: String

  /// Opens the file that `locks` locks; nil: the name leads to another file by now.
  init?(place: StorePlace, locks: SessionLocks) throws(SystemError) {
    path = place.path + ".lock"
    descriptor = try File.open(place.lockName, in: place.directory, .readWrite, .nonBlocking)
    do {
      guard try File.status(descriptor).identity == locks.identity else {
        File.close(descriptor)
        return nil
      }
      memory = LockMemory(base: try Mapping.map(descriptor, length: LockLayout.reserved, writable: true, path: path))
      Mapping.keepFromDumps(memory.base, length: LockLayout.reserved)
    } catch {
      File.close(descriptor)
      throw error
    }
  }

  deinit {
    Mapping.unmap(memory.base, length: LockLayout.reserved)
    File.close(descriptor)
  }

  func size() throws(SystemError) -> Int { try File.status(descriptor).size }

  /// Backs the file up to `size`; under the writer word or alone. Throws before anything is changed.
  package func grow(to size: Int) throws(SystemError) {
    guard size <= LockLayout.reserved else { throw SystemError(call: "fallocate", errno: 27, path: path) }
    try File.allocate(descriptor, offset: 0, length: size, path: path)
  }

  /// Alone: backs the initial size, and makes everything zero, whatever was there.
  func reset() throws(SystemError) {
    let before = try size()
    try grow(to: LockLayout.initialSize)
    // Not ready first: whoever looks from now on waits.
    memory.storeRelease(LockLayout.Header.ready, 0)
    memory.base.clear(min(before, LockLayout.initialSize))
    let length = try size() - LockLayout.initialSize
    if length > 0 {
      // Never truncated: an earlier member of the session may still have it mapped.
      try? File.punch(descriptor, offset: LockLayout.initialSize, length: length, path: path)
    }
  }

  /// Alone: the words that tell this session from any other.
  func writeHeader(data: FileIdentity) {
    memory.set(LockLayout.Header.magic, LockLayout.magic)
    memory.set(LockLayout.Header.layoutHash, LockLayout.layoutHash)
    memory.set32(LockLayout.Header.wordSize, UInt32(MemoryLayout<Int>.size))
    memory.set32(LockLayout.Header.pageSize, UInt32(HostIdentity.pageSize))
    memory.set(LockLayout.Header.device, data.device)
    memory.set(LockLayout.Header.inode, data.inode)
    memory.set(LockLayout.Header.boot, HostIdentity.boot.high)
    memory.set(LockLayout.Header.boot + 8, HostIdentity.boot.low)
    memory.set(LockLayout.Header.session, HostIdentity.randomWord() | 1)
  }

  enum Verdict {
    case ready
    /// Being built, or its builder died: look again.
    case notReady
    case otherLayout(UInt64)
  }

  func verdict() throws(SystemError) -> Verdict {
    guard try size() >= LockLayout.initialSize else { return .notReady }
    guard memory.loadAcquire(LockLayout.Header.magic) == LockLayout.magic else { return .notReady }
    let hash = memory.word(LockLayout.Header.layoutHash)
    guard hash == LockLayout.layoutHash else { return .otherLayout(hash) }
    guard memory.loadAcquire(LockLayout.Header.ready) == 1,
      memory.word32(LockLayout.Header.wordSize) == UInt32(MemoryLayout<Int>.size),
      memory.word32(LockLayout.Header.pageSize) == UInt32(HostIdentity.pageSize),
      memory.word(LockLayout.Header.boot) == HostIdentity.boot.high,
      memory.word(LockLayout.Header.boot + 8) == HostIdentity.boot.low
    else { return .notReady }
    return .ready
  }

  /// The data file this session belongs to.
  var dataIdentity: FileIdentity {
    FileIdentity(device: memory.word(LockLayout.Header.device), inode: memory.word(LockLayout.Header.inode))
  }
}

import ReefSystem

/// The kernel locks of a store: bytes of the lock file, far beyond its end, locked through one description that this
/// process uses for nothing else. The kernel frees them when the process ends, however it ends.
///
/// | byte | held shared | held exclusively |
/// |---|---|---|
/// | S | member of the session | alone: building, or deleting |
/// | C_i | – | entering peer entry i |
/// | L_i | – | peer i lives |
package final class SessionLocks: @unchecked Sendable {
  private static let first: Int64 = 1 << 40
  private static let session = first
  private static func claim(_ peer: Int) -> Int64 { first + 4096 + Int64(peer) }
  private static func life(_ peer: Int) -> Int64 { first + 8192 + Int64(peer) }

  private let descriptor: Int32
  package let identity: FileIdentity
  /// One page mapped through the lock description, which children do not get: so that a stray `close` of the descriptor
  /// cannot end this process's liveness, and a child cannot prolong it.
  private let anchor: UnsafeMutableRawPointer
  private let born: UInt64

  /// Opens, or creates, the lock file of a store. The descriptor is closed in children of `fork`.
  package init(name: String, in directory: Int32, mode: UInt32) throws(SystemError) {
    var opened: Int32 = -1
    var anchored: UnsafeMutableRawPointer?
    do {
      try ForkGuard.excludingFork { () throws(SystemError) in
        opened = try File.open(name, in: directory, .readWrite, .create | .nonBlocking, mode: mode)
        try ForkGuard.closeInChildren(opened)
        // Only the mapping's existence counts: nothing ever looks into it.
        anchored = try Mapping.map(opened, length: HostIdentity.pageSize, writable: false, path: name)
        if let anchored { try Mapping.keepFromChildren(anchored, length: HostIdentity.pageSize) }
      }
      identity = try File.status(opened).identity
    } catch {
      SessionLocks.close(opened, anchored)
      throw error
    }
    guard let anchored else { throw SystemError(call: "mmap", errno: 12, path: name) }
    descriptor = opened
    anchor = anchored
    born = ForkGuard.generation
  }

  deinit {
    // In a child the descriptor is closed already, its number may be another file's, and the page was never there.
    if born == ForkGuard.generation { SessionLocks.close(descriptor, anchor) }
  }

  private static func close(_ descriptor: Int32, _ anchor: UnsafeMutableRawPointer?) {
    ForkGuard.excludingFork {
      if let anchor { Mapping.unmap(anchor, length: HostIdentity.pageSize) }
      guard descriptor >= 0 else { return }
      ForkGuard.forget(descriptor)
      File.close(descriptor)
    }
  }

  func status() throws(SystemError) -> FileStatus { try File.status(descriptor) }
  func setMode(_ mode: UInt32) { try? File.setMode(descriptor, mode) }
  func setOwner(_ owner: UInt32, _ group: UInt32) { try? File.setOwner(descriptor, owner, group) }

  // The session byte
  func takeSession(_ kind: RangeLock.Kind) throws(SystemError) -> Bool {
    try RangeLock.take(descriptor, byte: SessionLocks.session, kind)
  }
  func releaseSession() { RangeLock.release(descriptor, byte: SessionLocks.session) }

  // The bytes of peer entries
  func takeClaim(_ peer: Int) throws(SystemError) -> Bool {
    try RangeLock.take(descriptor, byte: SessionLocks.claim(peer), .exclusive)
  }
  func releaseClaim(_ peer: Int) { RangeLock.release(descriptor, byte: SessionLocks.claim(peer)) }
  func takeLife(_ peer: Int) throws(SystemError) -> Bool {
    try RangeLock.take(descriptor, byte: SessionLocks.life(peer), .exclusive)
  }
  func releaseLife(_ peer: Int) { RangeLock.release(descriptor, byte: SessionLocks.life(peer)) }
  /// Whether another process holds the entry's life byte; nil: the kernel did not say. Never ask about one's own.
  func lives(_ peer: Int) -> Bool? { RangeLock.isHeldByOther(descriptor, byte: SessionLocks.life(peer)) }
}

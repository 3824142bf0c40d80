import ReefSystem

/// The kernel locks of a store: bytes of the lock file, far beyond its end, locked through one description that this
/// process uses for nothing else. The kernel frees them when the process ends, however it ends.
///
/// | byte | held shared | held exclusively |
/// |---|---|---|
/// | S | member of the session | alone: building, or deleting |
/// | C_i | – | entering peer entry i |
/// | L_i | – | peer i lives |
package final class SessionLocks: Sendable {
  private static let first: Int64 = 1 << 40
  private static let session = first
  private static func claim(_ peer: Int) -> Int64 { first + 4096 + Int64(peer) }
  private static func life(_ peer: Int) -> Int64 { first + 8192 + Int64(peer) }

  private let description: LockDescription
  private var descriptor: Int32 { description.descriptor }
  package var identity: FileIdentity { description.identity }

  /// Opens, or creates, the lock file of a store.
  package init(name: String, in directory: Int32, mode: UInt32) throws(SystemError) {
    description = try LockDescription(name, in: directory, .readWrite, .create | .nonBlocking, mode: mode)
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

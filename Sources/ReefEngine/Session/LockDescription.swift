import ReefSystem

/// An open file description that this process uses for kernel locks and for nothing else. Children do not get it.
final class LockDescription: @unchecked Sendable {
  let descriptor: Int32
  let identity: FileIdentity
  /// One page mapped through the description, which children do not get: so that a stray `close` of the descriptor
  /// cannot end this process's locks, and a child cannot prolong them.
  private let anchor: UnsafeMutableRawPointer
  private let born: UInt64

  /// Opens the file; the descriptor is closed in children of `fork`.
  init(
    _ name: String, in directory: Int32, _ access: File.Access, _ options: File.OpenOptions, mode: UInt32 = 0o600
  ) throws(SystemError) {
    var opened: Int32 = -1
    var anchored: UnsafeMutableRawPointer?
    do {
      try ForkGuard.excludingFork { () throws(SystemError) in
        opened = try File.open(name, in: directory, access, options, mode: mode)
        try ForkGuard.closeInChildren(opened)
        // Only the mapping's existence counts: nothing ever looks into it.
        anchored = try Mapping.map(opened, length: HostIdentity.pageSize, writable: false, path: name)
        if let anchored { try Mapping.keepFromChildren(anchored, length: HostIdentity.pageSize) }
      }
      identity = try File.status(opened).identity
    } catch {
      LockDescription.close(opened, anchored)
      throw error
    }
    guard let anchored else { throw SystemError(call: "mmap", errno: 12, path: name) }
    descriptor = opened
    anchor = anchored
    born = ForkGuard.generation
  }

  deinit {
    // In a child the descriptor is closed already, its number may be another file's, and the page was never there.
    if born == ForkGuard.generation { LockDescription.close(descriptor, anchor) }
  }

  private static func close(_ descriptor: Int32, _ anchor: UnsafeMutableRawPointer?) {
    ForkGuard.excludingFork {
      if let anchor { Mapping.unmap(anchor, length: HostIdentity.pageSize) }
      guard descriptor >= 0 else { return }
      ForkGuard.forget(descriptor)
      File.close(descriptor)
    }
  }
}

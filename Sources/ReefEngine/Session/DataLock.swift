import ReefSystem

/// A kernel lock on the data file itself. The lock file is found by name, and names change: the store is renamed, or its
/// lock file removed, while processes have it open, and the next one would be alone in a session of its own beside
/// theirs, with the same bytes. Members of a session hold this byte shared; who builds, or closes last, exclusively.
///
/// Through a description of its own, for the same reasons as `SessionLocks`. Stores in memory need none: whoever is alone
/// makes a new data file.
final class DataLock: Sendable {
  private static let byte: Int64 = 1 << 40
  private let description: LockDescription
  /// A file that may not be written can be locked shared only.
  private let mayExclude: Bool

  /// Opens the file that `data` is; nil: the name leads to another file by now.
  init?(_ place: StorePlace, _ data: MappedFile, readOnly: Bool) throws(SystemError) {
    var mayExclude = true
    do throws(SystemError) {
      description = try LockDescription(place.name, in: place.directory, .readWrite, .nonBlocking)
    } catch {
      guard readOnly, error.isPermission else { throw error }
      description = try LockDescription(place.name, in: place.directory, .readOnly, .nonBlocking)
      mayExclude = false
    }
    self.mayExclude = mayExclude
    if description.identity != data.identity { return nil }
  }

  /// False: a session that this process knows nothing of has the file.
  func take(_ kind: RangeLock.Kind) throws(SystemError) -> Bool {
    if kind == .exclusive, !mayExclude {
      if RangeLock.isHeldByOther(description.descriptor, byte: DataLock.byte) == true { return false }
      return try RangeLock.take(description.descriptor, byte: DataLock.byte, .shared)
    }
    return try RangeLock.take(description.descriptor, byte: DataLock.byte, kind)
  }

  func release() { RangeLock.release(description.descriptor, byte: DataLock.byte) }
}

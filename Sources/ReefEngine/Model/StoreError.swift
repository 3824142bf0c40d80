/// Everything a store can answer instead of a result. Each case carries what a person needs to act on, and its
/// `description` says what to do.
public enum StoreError: Error, Sendable, Equatable {
  // Waiting
  /// Another process is writing, or opening the store, and was not done in time.
  case busy(holder: PeerInfo?)
  /// The wait ended without what was waited for.
  case timeout
  /// The task that waited was cancelled.
  case cancelled

  // Room
  /// The file system is full. Nothing was changed; deleting objects is still possible.
  case outOfSpace(path: String, needed: Int)
  /// The store would outgrow the address range reserved for it, or the largest size a store can have.
  case storeFull(path: String, limit: Int)
  /// Every reader slot is taken by a snapshot that somebody holds.
  case slotsFull(holders: [PeerInfo])
  /// A reader keeps more of the past alive than this process's retention limit allows, and its version cannot be taken
  /// away. Nothing was changed.
  case retentionLimit(path: String, holder: PeerInfo?, limit: String)
  /// The version was taken away, for a writer's retention limit: nothing more can be read from it.
  case snapshotRevoked(version: UInt64)
  /// As many processes as the store admits have it open.
  case peersFull(limit: Int)

  // Opening
  case notFound(path: String)
  /// The file is not a store.
  case notAStore(path: String, reason: String)
  /// The file was written in a format that this version of Reef does not read.
  case formatVersion(path: String, found: UInt32, supported: UInt32)
  /// Processes with another version of Reef have the store open.
  case lockLayout(path: String, found: UInt64, expected: UInt64)
  /// The data file was replaced by another one while processes had it open.
  case replaced(path: String)
  case permission(path: String, reason: String)
  case networkFileSystem(path: String, kind: String)
  /// The memory policy that was asked for cannot be had there.
  case policyUnsupported(path: String, reason: String)
  /// The declared types do not fit the stored ones.
  case schemaMismatch(reason: String)

  // Content
  /// Bytes of the file are not what was written.
  case damaged(path: String, what: String)
  /// A sync of this store failed: what is on disk is known up to an older version only.
  case poisoned(path: String)
  case duplicateKey(type: String, key: String)
  case noSuchObject(type: String, key: String)
  /// The version is no longer, or not yet, there.
  case noSuchVersion(UInt64)
  case invalidArgument(String)

  // Use
  /// The store was opened for reading only.
  case readOnly(path: String)
  /// The store was opened before `fork` and is used in the child.
  case usedAfterFork
  case closed
  /// A system call failed for a reason that has no case of its own.
  case system(call: String, errno: Int32, path: String?)
}

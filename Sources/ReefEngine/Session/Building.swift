import ReefSystem

/// What the one process that is alone with a store gets to prepare it for everyone: at the start of a session, before any
/// other is let in, and at its end.
package struct Building: Sendable {
  package let data: MappedFile
  package let lock: LockMemory
  package let lockFile: LockFile
  /// The data file is empty: a new store.
  package let isNew: Bool
  package let isInMemory: Bool
  package let path: String
  package let options: Session.Options
  package let bootIdentifier: (high: UInt64, low: UInt64)

  init(data: MappedFile, lockFile: LockFile, isNew: Bool, place: StorePlace, options: Session.Options) {
    self.data = data
    self.lockFile = lockFile
    lock = lockFile.memory
    self.isNew = isNew
    isInMemory = place.isInMemory
    path = place.path
    self.options = options
    bootIdentifier = HostIdentity.boot
  }

  /// Gives the file its memory policy, before any space is allocated.
  package func apply(_ policy: NumaPolicy) throws(StoreError) { try Session.apply(policy, to: data) }
}

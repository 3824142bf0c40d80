import Glibc
import ReefSystem

/// Opening a store: the first one in is alone, builds the shared memory and lets the others in; they look whether it is
/// theirs. Whatever is not as it should be is tried again, with a little jitter, until the deadline.
struct SessionOpening {
  let place: StorePlace
  let options: Session.Options

  /// What a session is made of.
  struct Parts {
    let locks: SessionLocks
    let lockFile: LockFile
    let data: MappedFile
    /// Nil in memory.
    let dataLock: DataLock?
    let status: FileStatus
  }

  func run(_ build: (Building) throws(StoreError) -> Void) throws(StoreError) -> Parts {
    try checkBeforeTouching()
    if case .opened(let parts) = try attempt(build) { return parts }
    return try retry(build)
  }

  /// Apart from the first attempt, which is all that most processes need.
  @inline(never)
  private func retry(_ build: (Building) throws(StoreError) -> Void) throws(StoreError) -> Parts {
    let deadline = Deadline.after(options.openTimeout)
    var problem: StoreError?
    var since = Deadline.never
    while true {
      switch try attempt(build) {
      case .opened(let parts): return parts
      case .again:
        problem = nil
      case .wrong(let error):
        // What a crashed predecessor left is gone at the next try, which will be alone; what stays is others' choice.
        if problem == nil { since = Deadline.after(.milliseconds(200)) }
        problem = error
        if since.isPast { throw error }
      }
      if deadline.isPast { throw problem ?? .busy(holder: nil) }
      Clock.sleep(microseconds: .random(in: 200...2000))
    }
  }

  private enum Attempt {
    case opened(Parts)
    case again
    case wrong(StoreError)
  }

  /// Nothing is created beside a file that is not a store, or where there is none and none is wanted.
  private func checkBeforeTouching() throws(StoreError) {
    guard !place.isInMemory else { return }
    let kind = try storing(place.path) { () throws(SystemError) in try FileSystemKind.of(place.directory) }
    if case .network(let name) = kind { throw .networkFileSystem(path: place.path, kind: name) }
    guard let status = try place.status(of: place.name) else {
      if options.create && !options.readOnly { return }
      throw .notFound(path: place.path)
    }
    try checkData(status)
    guard status.size > 0 else { return }
    let magic = try readWord(0)
    // A creation that was cut off may leave a page of zeros: it holds nothing that could be lost.
    if status.size <= DataLayout.pageSize, try isZero(status.size) { return }
    guard magic == DataLayout.magic else {
      throw .notAStore(path: place.path, reason: "it does not begin with the mark of a store")
    }
  }

  /// Whether nothing but zeros is in the file.
  private func isZero(_ size: Int) throws(StoreError) -> Bool {
    try storing(place.path) { () throws(SystemError) in
      let descriptor = try File.open(place.name, in: place.directory, .readOnly, .nonBlocking)
      defer { File.close(descriptor) }
      let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, size), alignment: 8)
      defer { bytes.deallocate() }
      let count = try File.read(descriptor, into: bytes, at: 0)
      return bytes.prefix(count).allSatisfy { $0 == 0 }
    }
  }

  private func readWord(_ offset: Int) throws(StoreError) -> UInt64? {
    try storing(place.path) { () throws(SystemError) in
      let descriptor = try File.open(place.name, in: place.directory, .readOnly, .nonBlocking)
      defer { File.close(descriptor) }
      var word: UInt64 = 0
      let count = try withUnsafeMutableBytes(of: &word) { bytes throws(SystemError) in
        try File.read(descriptor, into: bytes, at: offset)
      }
      return count == 8 ? word : nil
    }
  }

  private func checkData(_ status: FileStatus) throws(StoreError) {
    guard status.isRegular else { throw .notAStore(path: place.path, reason: "it is not a regular file") }
    guard status.links <= 1 else {
      throw .notAStore(
        path: place.path, reason: "the file has a second name (hard link), which would get its own lock file")
    }
  }

  private func checkSidecar(_ status: FileStatus) throws(StoreError) {
    let path = place.path + ".lock"
    guard status.isRegular else { throw .permission(path: path, reason: "it is not a regular file") }
    guard status.links <= 1 else { throw .permission(path: path, reason: "it has a second name (hard link)") }
    let owners = [HostIdentity.user, 0, try place.status(of: place.name)?.owner ?? HostIdentity.user]
    guard owners.contains(status.owner) else {
      throw .permission(path: path, reason: "it belongs to another user than the store")
    }
  }

  private func attempt(_ build: (Building) throws(StoreError) -> Void) throws(StoreError) -> Attempt {
    let locks = try storing(place.path) { () throws(SystemError) in
      try SessionLocks(name: place.lockName, in: place.directory, mode: 0o600)
    }
    let status = try storing(place.path) { () throws(SystemError) in try locks.status() }
    guard status.links > 0 else { return .again }
    try checkSidecar(status)
    if try take(locks, .exclusive) {
      guard try isStillThere(locks) else { return .again }
      return try buildAlone(locks, build)
    }
    guard try take(locks, .shared), try isStillThere(locks) else { return .again }
    return try joinOthers(locks)
  }

  private func take(_ locks: SessionLocks, _ kind: RangeLock.Kind) throws(StoreError) -> Bool {
    try storing(place.path) { () throws(SystemError) in try locks.takeSession(kind) }
  }

  private func take(_ lock: DataLock, _ kind: RangeLock.Kind) throws(StoreError) -> Bool {
    try storing(place.path) { () throws(SystemError) in try lock.take(kind) }
  }

  /// Nil in memory.
  private func lockData(_ data: MappedFile) throws(StoreError) -> DataLock? {
    if place.isInMemory { return nil }
    let lock = try storing(place.path) { () throws(SystemError) in
      try DataLock(place, data, readOnly: options.readOnly)
    }
    guard let lock else { throw .replaced(path: place.path) }
    return lock
  }

  /// Whether the name still leads to the locked file: the last of an in-memory session may have removed it in between.
  private func isStillThere(_ locks: SessionLocks) throws(StoreError) -> Bool {
    try place.status(of: place.lockName)?.identity == locks.identity
  }

  // Alone

  private func buildAlone(
    _ locks: SessionLocks, _ build: (Building) throws(StoreError) -> Void
  ) throws(StoreError) -> Attempt {
    let existed = try place.status(of: place.name) != nil
    do throws(StoreError) {
      let needed = LockLayout.initialSize
      let lockFile = try storing(place.path, needed: needed) { () throws(SystemError) in
        guard let file = try LockFile(place: place, locks: locks) else { return LockFile?.none }
        try file.reset()
        return file
      }
      guard let lockFile else { return .again }
      FaultPoint.step("open.reset")
      let (data, status) = try openOwnData()
      let dataLock = try lockData(data)
      // Members of another session, under another name of lock file or store; or a process that is just dying.
      if let dataLock, try !take(dataLock, .exclusive) {
        locks.releaseSession()
        return .wrong(.replaced(path: place.path))
      }
      locks.setMode(status.mode)
      if HostIdentity.user == 0 { locks.setOwner(status.owner, status.group) }
      lockFile.writeHeader(data: data.identity)
      FaultPoint.step("open.header")
      try build(Building(data: data, lockFile: lockFile, isNew: status.size == 0, place: place, options: options))
      FaultPoint.step("open.built")
      lockFile.memory.storeRelease(LockLayout.Header.ready, 1)
      FaultPoint.step("open.ready")
      if let dataLock, try !take(dataLock, .shared) { return .again }
      // The conversion is one step of the kernel's: nobody comes in between.
      guard try take(locks, .shared) else { return .again }
      return .opened(Parts(locks: locks, lockFile: lockFile, data: data, dataLock: dataLock, status: status))
    } catch {
      // Still alone. What this call created goes away again; a store that was there stays.
      if place.isInMemory || !existed { place.removeAll() }
      locks.releaseSession()
      throw error
    }
  }

  /// In memory: always a new file, for whatever is there was left by processes that are gone.
  private func openOwnData() throws(StoreError) -> (MappedFile, FileStatus) {
    if place.isInMemory {
      try storing(place.path) { () throws(SystemError) in try File.unlink(place.name, in: place.directory) }
      // This process is alone: nobody has a store of this name.
      if !options.create || options.readOnly { throw .notFound(path: place.path) }
    }
    let found = try place.status(of: place.name)
    if let found { try checkData(found) }
    let mode = options.mode ?? (place.isInMemory ? 0o600 : 0o666 & ~HostIdentity.creationMask)
    return try mapData(found == nil ? .create | .exclusive : .none, mode: found == nil ? mode : nil)
  }

  private func mapData(_ how: File.OpenOptions, mode: UInt32?) throws(StoreError) -> (MappedFile, FileStatus) {
    try storing(place.path) { () throws(SystemError) in
      let descriptor = try openData(how | .nonBlocking, mode: mode ?? 0o600)
      if let mode { try? File.setMode(descriptor, mode) }
      let data = try MappedFile(adopting: descriptor, path: place.path, reserve: options.reserve)
      return (data, try File.status(data.descriptor))
    }
  }

  /// For writing where that is allowed, also by a reader: it may have to repair.
  private func openData(_ how: File.OpenOptions, mode: UInt32) throws(SystemError) -> Int32 {
    do throws(SystemError) {
      return try File.open(place.name, in: place.directory, .readWrite, how, mode: mode)
    } catch {
      guard options.readOnly, error.isPermission else { throw error }
      return try File.open(place.name, in: place.directory, .readOnly, how)
    }
  }

  // With others

  private func joinOthers(_ locks: SessionLocks) throws(StoreError) -> Attempt {
    let opened = try storing(place.path) { () throws(SystemError) -> (LockFile, LockFile.Verdict)? in
      guard let file = try LockFile(place: place, locks: locks) else { return nil }
      return (file, try file.verdict())
    }
    guard let (lockFile, verdict) = opened else { return .again }
    switch verdict {
    case .notReady: return .again
    case .otherLayout(let found):
      return .wrong(.lockLayout(path: place.path, found: found, expected: LockLayout.layoutHash))
    case .ready: break
    }
    guard let found = try place.status(of: place.name) else { return .wrong(.replaced(path: place.path)) }
    try checkData(found)
    let (data, status) = try mapData(.none, mode: nil)
    guard data.identity == lockFile.dataIdentity, try sameStore(lockFile) else {
      return .wrong(.replaced(path: place.path))
    }
    let dataLock = try lockData(data)
    if let dataLock, try !take(dataLock, .shared) { return .wrong(.replaced(path: place.path)) }
    return .opened(Parts(locks: locks, lockFile: lockFile, data: data, dataLock: dataLock, status: status))
  }

  private func sameStore(_ lockFile: LockFile) throws(StoreError) -> Bool {
    let (high, low) = (LockLayout.Header.uuid, LockLayout.Header.uuid + 8)
    // A session whose builder did not say which store it is of is told by device and inode alone.
    guard lockFile.memory.word(high) != 0 || lockFile.memory.word(low) != 0 else { return true }
    let found = (try readWord(DataLayout.Header.uuid), try readWord(DataLayout.Header.uuid + 8))
    return found == (lockFile.memory.word(high), lockFile.memory.word(low))
  }
}

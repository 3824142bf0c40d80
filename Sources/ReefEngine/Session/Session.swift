import ReefSystem
import Synchronization

/// One store, open in this process: its data file and its lock file mapped, and an entry among its peers.
///
/// Opened twice, it is the same object with one more user. After `fork` the child's copy is of no use: every entry throws
/// `usedAfterFork`, and nothing it does reaches the shared memory.
package final class Session: @unchecked Sendable {
  package enum Location: Sendable, Hashable {
    case file(String)
    /// Shared by all processes of the user under this name; its files go when the last one leaves.
    case memory(String)
  }

  package struct Options: Sendable {
    package var location: Location
    /// Whether a store that is not there is made.
    package var create = true
    /// This process never writes objects. The lock file is written all the same.
    package var readOnly = false
    /// Whether nodes of an existing store are held against their checksums when they are first entered.
    package var verifiesNodes = true
    /// How long others may be opening or repairing it.
    package var openTimeout = Duration.seconds(30)
    /// What others see this process under; empty: the program's name.
    package var peerName = ""
    package var numa = NumaPolicy.none
    /// Address space for the data file, which bounds its size; less where the system grants less.
    package var reserve = MappedFile.defaultReservation
    /// Permissions of new files; nil: 0600 in memory, else what the process's mask leaves of 0666.
    package var mode: UInt32?

    package init(location: Location) { self.location = location }
  }

  @usableFromInline package let data: MappedFile
  @usableFromInline package let lock: LockMemory
  package let lockFile: LockFile
  package let path: String
  package let isInMemory: Bool
  package let options: Options
  /// This process among the peers.
  package let identity: PeerIdentity
  package var peer: Int { identity.index }

  @usableFromInline package let writer: WriterWord
  @usableFromInline package let notice: NoticeWord
  @usableFromInline package let slots: ReaderSlots
  @usableFromInline package let note: NoteFIFO
  package let checkpointWord: OwnedWord
  package let appendWord: OwnedWord
  package let peerTable: PeerTable

  /// Of stores whose nodes have to be held against their checksums; nil where there is nothing to prove.
  package let verification: Verification?
  /// All ones, or 0 while they are: what limits of views are masked with.
  @usableFromInline let trust: UnsafeMutablePointer<Atomic<UInt64>>

  let place: StorePlace
  let locks: SessionLocks
  let dataLock: DataLock?
  let listener: NoticeListener
  /// 1 while usable, 2 while it is being closed; 0 once closed, and in every child of `fork`, which the kernel sees to.
  @usableFromInline let usable: UnsafeMutablePointer<Atomic<UInt64>>
  let born: UInt64
  /// Read once the data file was open.
  let syncsAtOpening: SyncsAtOpening

  private init(place: StorePlace, options: Options, parts: SessionOpening.Parts) throws(StoreError) {
    let lock = parts.lockFile.memory
    let table = PeerTable(lock: lock, locks: parts.locks)
    verification = options.verifiesNodes ? try Verification(parts.data, lock) : nil
    trust = verification?.trust ?? Space.trusted
    let me = try table.join(name: options.peerName)
    let page = try storing(place.path) { () throws(SystemError) in
      try Mapping.wipedOnFork(length: HostIdentity.pageSize)
    }
    usable = page.assumingMemoryBound(to: Atomic<UInt64>.self)
    usable.pointee.store(1, ordering: .releasing)
    born = ForkGuard.generation
    syncsAtOpening = SyncsAtOpening(lock)
    data = parts.data
    self.lock = lock
    lockFile = parts.lockFile
    path = place.path
    isInMemory = place.isInMemory
    self.options = options
    identity = me
    writer = WriterWord(lock: lock, peers: table, me: me)
    notice = NoticeWord(lock: lock, me: me)
    slots = ReaderSlots(lock: lock, peers: table, me: me)
    let fifo = NoteFIFO.open(name: place.noteName, in: place.directory, like: parts.status)
    note = NoteFIFO(descriptor: fifo, lock: lock, peers: table, me: me)
    checkpointWord = OwnedWord(lock: lock, offset: LockLayout.Control.checkpointWord, peers: table, me: me)
    appendWord = OwnedWord(lock: lock, offset: LockLayout.Control.appendWord, peers: table, me: me)
    peerTable = table
    self.place = place
    locks = parts.locks
    dataLock = parts.dataLock
    listener = NoticeListener(notice: notice, keeping: parts.lockFile)
  }

  deinit { Mapping.unmap(UnsafeMutableRawPointer(usable), length: HostIdentity.pageSize) }

  /// Opens a store, or gives the session this process has of it already.
  ///
  /// `build` runs where this process is the first: alone, before any other is let in. It fills the control words and the
  /// ring from the data file, and writes the data file where it is new.
  package static func open(
    _ options: Options, build: (Building) throws(StoreError) -> Void
  ) throws(StoreError) -> Session {
    let place = try StorePlace(options.location)
    try SessionRegistry.enter(place.path, options.openTimeout)
    defer { SessionRegistry.exit(place.path) }
    if let status = try place.status(of: place.name), let session = SessionRegistry.use(status.identity) {
      return session
    }
    let opening = SessionOpening(place: place, options: options)
    let parts = try opening.run(build)
    let session: Session
    do throws(StoreError) {
      session = try Session(place: place, options: options, parts: parts)
    } catch {
      // As after a session: a store in memory that nobody else has goes away.
      parts.dataLock?.release()
      parts.locks.releaseSession()
      SessionEnd(place: place, locks: parts.locks, lockFile: parts.lockFile, dataLock: parts.dataLock).removeIfLast()
      throw error
    }
    let winner = SessionRegistry.add(session)
    if winner !== session { session.end(alone: nil) }
    return winner
  }

  /// Throws unless the session can be used: call it at every entry.
  @inlinable @inline(__always)
  package func checkUsable() throws(StoreError) {
    if usable.pointee.load(ordering: .relaxed) != 1 { throw unusable() }
  }

  /// Whether what was taken may still be given back: check it at every release, so that a child's `deinit` does not clear
  /// its parent's slots.
  @inlinable @inline(__always)
  package var isUsable: Bool { usable.pointee.load(ordering: .relaxed) != 0 }

  @usableFromInline
  func unusable() -> StoreError { born != ForkGuard.generation ? .usedAfterFork : .closed }

  /// Gives a file its memory policy, or says why that cannot be.
  package static func apply(_ policy: NumaPolicy, to data: MappedFile) throws(StoreError) {
    guard policy != .none else { return }
    guard data.carriesMemoryPolicy else {
      throw .policyUnsupported(path: data.path, reason: "its file system ignores memory policies")
    }
    do {
      try data.apply(policy)
    } catch {
      throw .policyUnsupported(path: data.path, reason: "\(policy): \(error)")
    }
  }
}

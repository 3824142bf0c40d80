import CXXHash
import Glibc
import ReefSystem
import Synchronization

/// Whether the nodes of a durable store are what their parents say: each is held against its checksum when it is entered
/// for the first time in a session that began on an existing store, not only where a crash makes it necessary.
///
/// The read path pays nothing for it. A view of a store that is not proven yet has a limit of 0, so that the check of
/// bounds, which is there anyway, fails and leads here: the node's checksum is computed, and a bit says so from then on.
/// Once there have been enough of those, a thread walks the whole version; after that `Control.proven` says so to all
/// processes, and new views get their true limit. Nodes made in this session need no proof: their bytes never were on a
/// disk, or went there from memory that is still the truth.
@usableFromInline package final class Verification: @unchecked Sendable {
  private let base: UnsafeRawPointer
  private let lock: LockMemory
  private let path: String
  private let epoch: UInt64
  /// One bit a grain of the file as it was: the node that begins there was proven.
  private let bits: UnsafeMutablePointer<Atomic<UInt64>>
  private let covered: UInt64
  /// All ones once views may have their limit; 0 until then. Read at each pin.
  @usableFromInline let trust: UnsafeMutablePointer<Atomic<UInt64>>
  /// Bytes held against checksums so far.
  private let work = Atomic<UInt64>(0)
  private let hasAsked = Atomic<Bool>(false)
  private let found = Mutex<StoreError?>(nil)
  /// Long values that were damaged: the one kind that a property reads as empty without a note of its own.
  package let unreadValues = Atomic<UInt64>(0)
  /// Called once, by whatever thread, when proving all of the version has become worth its while.
  private let wanted = Mutex<(@Sendable () -> Void)?>(nil)

  /// Bytes proven one by one before a thread proves the rest; opening a store for a few reads costs no walk.
  private static let patience: UInt64 = 1 << 20

  /// Nil where there is nothing to prove: a new store, or one that keeps no checksums.
  init?(_ data: MappedFile, _ lock: LockMemory) throws(StoreError) {
    if lock.word(LockLayout.Control.proven) == 1 { return nil }
    let size = try storing(data.path) { () throws(SystemError) in try data.size() }
    base = UnsafeRawPointer(data.base)
    self.lock = lock
    path = data.path
    epoch = lock.word(LockLayout.Header.epoch)
    covered = UInt64(size)
    // Of a large file this is address space, and memory only where nodes are looked at.
    guard let bits = calloc(size / DataLayout.grain / 64 + 1, 8) else {
      throw .system(call: "calloc", errno: ENOMEM, path: data.path)
    }
    self.bits = bits.assumingMemoryBound(to: Atomic<UInt64>.self)
    trust = .allocate(capacity: 1)
    trust.initialize(to: Atomic<UInt64>(lock.loadAcquire(LockLayout.Control.proven) == 0 ? 0 : .max))
    VerificationTable.add(self, base)
  }

  deinit {
    VerificationTable.remove(base)
    free(bits)
    trust.deallocate()
  }

  // MARK: One node

  /// The node behind an entry, proven; nil where it is not what its parent says, or lies nowhere.
  func node(_ entry: UInt64) -> NodeView? {
    if trust.pointee.load(ordering: .relaxed) == 0, lock.loadAcquire(LockLayout.Control.proven) != 0 {
      trust.pointee.store(.max, ordering: .relaxed)
    }
    let limit = lock.word(LockLayout.Control.extentCount) << UInt64(DataLayout.extentShift)
    let ref = entry & 0xffff_ffff
    let offset = ref << UInt64(DataLayout.grainShift)
    guard offset >= UInt64(DataLayout.extentSize), offset + UInt64(DataLayout.Node.size) <= limit else { return nil }
    let pointer = base + Int(offset)
    let head = pointer.load(as: UInt64.self)
    let length = head >> 32
    guard length >= UInt64(DataLayout.Node.size), offset + length <= limit else { return nil }
    let node = NodeView(pointer: pointer, head: head)
    let isCovered = offset < covered
    let word = bits + Int(ref >> 6)
    let bit = UInt64(1) << (ref & 63)
    if isCovered, word.pointee.load(ordering: .acquiring) & bit != 0 { return node }
    // Of the transaction under way, or named by its ref alone: its checksum is not filled in yet.
    if entry >> 32 == 0, isOfThisSession(node.stamp) { return node }
    if work.load(ordering: .relaxed) > Self.patience { ask() }
    work.wrappingAdd(length, ordering: .relaxed)
    guard XXH3_64bits(pointer, Int(length)) & 0xffff_ffff == entry >> 32 else {
      if entry >> 32 != 0 { note() }
      return nil
    }
    if isCovered { word.pointee.bitwiseOr(bit, ordering: .acquiringAndReleasing) }
    return node
  }

  private func isOfThisSession(_ stamp: UInt64) -> Bool {
    let version = stamp & DataLayout.versionMask
    return stamp >> DataLayout.epochShift == epoch && version > lock.word(LockLayout.Control.begunAt)
      && version <= lock.loadAcquire(LockLayout.Control.tip) + 1
  }

  // MARK: All of them

  /// `body` is called once, when it has become worth while to prove the whole version in the background.
  func whenWorthWhile(_ body: @escaping @Sendable () -> Void) { wanted.withLock { $0 = body } }

  private func ask() {
    if hasAsked.load(ordering: .relaxed) || hasAsked.exchange(true, ordering: .relaxed) { return }
    wanted.withLock { $0 }?()
  }

  var isWanted: Bool { hasAsked.load(ordering: .relaxed) && !isProven }
  package var isProven: Bool { lock.loadAcquire(LockLayout.Control.proven) != 0 }

  /// Proves every node of a pinned version; then no later one needs proof. False: stopped, or damage was met.
  func prove(_ root: UInt64, version: UInt64, isStopped: () -> Bool) -> Bool {
    var stack = [root]
    var left = covered / UInt64(DataLayout.grain) + (1 << 20)
    while let entry = stack.popLast() {
      if isProven { return true }
      guard left > 0, !(left & 0xff == 0 && isStopped()), let node = node(entry) else { return false }
      left -= 1
      let isSound = NodeChildren.forEach(node.pointer) { stack.append($0.loadUnaligned(as: UInt64.self)) }
      guard isSound else { return false }
    }
    _ = lock.compareExchange(LockLayout.Control.proven, 0, version)
    trust.pointee.store(.max, ordering: .relaxed)
    return true
  }

  // MARK: Damage

  private func note() {
    found.withLock { if $0 == nil { $0 = .damaged(path: path, what: Self.problem) } }
  }
  static let problem = "a node is not what its parent's checksum says"

  /// The first damage that was met.
  package var damage: StoreError? { found.withLock { $0 } }
}

/// The stores of this process that are not proven, by where they are mapped: views are plain values and know no more.
enum VerificationTable {
  private static let capacity = 256
  nonisolated(unsafe) private static let places: UnsafeMutableRawPointer = {
    let size = capacity * 16
    let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 64)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
    return memory
  }()
  private static func word(_ index: Int) -> UnsafeMutablePointer<Atomic<UInt>> {
    (places + index * 8).assumingMemoryBound(to: Atomic<UInt>.self)
  }

  static func add(_ verification: Verification, _ base: UnsafeRawPointer) {
    for index in 0..<capacity {
      let (taken, _) = word(index * 2).pointee.compareExchange(
        expected: 0, desired: 1, ordering: .sequentiallyConsistent)
      guard taken else { continue }
      let object = UInt(bitPattern: Unmanaged.passUnretained(verification).toOpaque())
      word(index * 2 + 1).pointee.store(object, ordering: .releasing)
      word(index * 2).pointee.store(UInt(bitPattern: base), ordering: .releasing)
      return
    }
  }

  static func remove(_ base: UnsafeRawPointer) {
    for index in 0..<capacity where word(index * 2).pointee.load(ordering: .relaxed) == UInt(bitPattern: base) {
      word(index * 2).pointee.store(0, ordering: .releasing)
    }
  }

  /// Valid as long as views of that store are.
  @inline(__always)
  static func find(_ base: UnsafeRawPointer) -> Unmanaged<Verification>? {
    for index in 0..<capacity {
      let found = word(index * 2).pointee.load(ordering: .acquiring)
      guard found == UInt(bitPattern: base) else { continue }
      return UnsafeRawPointer(bitPattern: word(index * 2 + 1).pointee.load(ordering: .acquiring))
        .map(Unmanaged.fromOpaque)
    }
    return nil
  }
}

extension ReadView {
  /// Enters a node that the check of bounds did not let pass: where the store is not proven yet, it is proven here.
  @inline(never) @usableFromInline @_effects(releasenone)
  package func provenNode(_ entry: UInt64) -> NodeView? {
    guard limit == 0 else { return nil }
    if isRevocable { return revocableNode(entry) }
    guard let verification = VerificationTable.find(base) else { return nil }
    return verification._withUnsafeGuaranteedRef { $0.node(entry) }
  }

  /// A long value is not what it should be: whoever reads properties sees an empty one.
  func noteUnreadValue() {
    guard limit == 0, let verification = VerificationTable.find(base) else { return }
    verification._withUnsafeGuaranteedRef { _ = $0.unreadValues.wrappingAdd(1, ordering: .relaxed) }
  }

  /// The first damage that was met in a store that is not proven.
  package var metDamage: StoreError? {
    guard limit == 0 else { return nil }
    if let revoked { return revoked }
    guard let verification = VerificationTable.find(base) else { return nil }
    return verification._withUnsafeGuaranteedRef { $0.damage }
  }

  /// Why there is no node.
  @inline(never) @usableFromInline
  package func unproven(_ what: StaticString) -> StoreError {
    if let error = revocationError(what) { return error }
    guard limit == 0, let verification = VerificationTable.find(base),
      let damage = verification._withUnsafeGuaranteedRef({ $0.damage })
    else { return damaged(what) }
    return damage
  }
}

import CXXHash
import ReefSystem
import Synchronization

/// What a reader whose version may be taken away reads: copies of the nodes, each of them made while the version was surely
/// pinned. So it never sees bytes of another version, and an ordinary reader pays nothing.
///
/// Its view has a limit of 0, so that the check of bounds, which is there anyway, leads here; and where other views have
/// the file, it has `head`, which says whose it is. A leaf brings its columns and long values along: a row that was found
/// stays whole. What leads to other rows asks each time whether the version is still there.
final class RevocablePages: @unchecked Sendable {
  /// What no file can know.
  static let cookie = HostIdentity.randomWord() | 1

  let head: UnsafeMutableRawPointer
  private let session: Session
  private let slot: Int
  private let version: UInt64
  private let base: UnsafeRawPointer
  private let limit: UInt64
  private let isChecked: Bool
  private let wasRevoked = Atomic<Bool>(false)
  private let copies = Mutex<[UInt32: Copy]>([:])

  private struct Copy: @unchecked Sendable { let start: UnsafeMutableRawPointer }

  /// For a version that is pinned in `slot`, whose owner has admitted revocation before it pinned it.
  init(_ session: Session, slot: Int, version: UInt64, extents: UInt64, isChecked: Bool) {
    self.session = session
    self.slot = slot
    self.version = version
    self.isChecked = isChecked
    base = UnsafeRawPointer(session.data.base)
    limit = extents << UInt64(DataLayout.extentShift)
    head = .allocate(byteCount: 64, alignment: 64)
    head.storeBytes(of: Self.cookie, as: UInt64.self)
    head.storeBytes(
      of: UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()), toByteOffset: 8, as: UInt.self)
  }

  deinit {
    copies.withLock { for copy in $0.values { copy.start.deallocate() } }
    head.storeBytes(of: 0, as: UInt64.self)
    head.deallocate()
  }

  func view(_ root: UInt64) -> ReadView {
    ReadView(base: UnsafeRawPointer(head), limit: 0, root: root, version: version)
  }

  /// Whether the version is still pinned. Everything that was loaded from the file before this is of that version.
  var isHeld: Bool {
    atomicMemoryFence(ordering: .acquiring)
    if session.slots.pinWord(slot) == version << 1 { return true }
    wasRevoked.store(true, ordering: .relaxed)
    return false
  }

  /// The copy of a node; nil where the version was taken away, or where the node is not what its parent says.
  func node(_ entry: UInt64) -> NodeView? {
    copies.withLock { copies in
      if let known = copies[UInt32(truncatingIfNeeded: entry)] {
        let node = NodeView(pointer: UnsafeRawPointer(known.start), head: known.start.load(as: UInt64.self))
        return node.kind == NodeKind.column || node.kind == NodeKind.blob || isHeld ? node : nil
      }
      return copy(entry, &copies)
    }
  }

  private func copy(_ entry: UInt64, _ copies: inout [UInt32: Copy]) -> NodeView? {
    // Named by its ref alone, as by a remembered root: with checksums it is looked for from the version's root.
    if isChecked, entry >> 32 == 0 { return nil }
    let ref = UInt32(truncatingIfNeeded: entry)
    let offset = UInt64(ref) << UInt64(DataLayout.grainShift)
    guard isHeld, offset >= UInt64(DataLayout.extentSize), offset + UInt64(DataLayout.Node.size) <= limit else {
      return nil
    }
    FaultPoint.step("revocation.copying")
    let head = (base + Int(offset)).load(as: UInt64.self)
    let length = head >> 32
    guard length >= UInt64(DataLayout.Node.size), offset + length <= limit else { return nil }
    let start = UnsafeMutableRawPointer.allocate(byteCount: Int(length + 63) & ~63, alignment: 64)
    start.copyMemory(from: base + Int(offset), byteCount: Int(length))
    let node = NodeView(pointer: UnsafeRawPointer(start), head: head)
    guard isHeld || Mutant.lives(.copyUnconfirmed), start.load(as: UInt64.self) == head,
      !isChecked || XXH3_64bits(start, Int(length)) & 0xffff_ffff == entry >> 32
    else {
      start.deallocate()
      return nil
    }
    if node.kind == NodeKind.leaf || node.kind == NodeKind.column {
      var isWhole = true
      let isSound = NodeChildren.forEach(node.pointer) { place in
        let child = place.loadUnaligned(as: UInt64.self)
        if isWhole, copies[UInt32(truncatingIfNeeded: child)] == nil { isWhole = copy(child, &copies) != nil }
      }
      guard isSound, isWhole else {
        start.deallocate()
        return nil
      }
    }
    copies[ref] = Copy(start: start)
    return node
  }

  /// Why there is no node.
  func error(_ what: StaticString) -> StoreError {
    if let revoked { return revoked }
    return .damaged(path: session.path, what: what.description)
  }

  /// Set once a read has found its version gone.
  var revoked: StoreError? { wasRevoked.load(ordering: .relaxed) ? .snapshotRevoked(version: version) : nil }

}

extension ReadView {
  @inline(__always)
  private var revocable: Unmanaged<RevocablePages>? {
    guard limit == 0, base.load(as: UInt64.self) == RevocablePages.cookie else { return nil }
    return UnsafeRawPointer(bitPattern: base.load(fromByteOffset: 8, as: UInt.self)).map(Unmanaged.fromOpaque)
  }

  var isRevocable: Bool { revocable != nil }

  func revocableNode(_ entry: UInt64) -> NodeView? { revocable?._withUnsafeGuaranteedRef { $0.node(entry) } }

  func revocationError(_ what: StaticString) -> StoreError? {
    revocable?._withUnsafeGuaranteedRef { $0.error(what) }
  }

  package var revoked: StoreError? { revocable?._withUnsafeGuaranteedRef { $0.revoked } ?? nil }

  /// Throws `snapshotRevoked` where the version was taken away. What was compared with another version before this holds:
  /// all the while an equal ref meant an equal node.
  package func checkHeld() throws(StoreError) {
    guard limit == 0, let revocable else { return }
    if !revocable._withUnsafeGuaranteedRef({ $0.isHeld }) { throw .snapshotRevoked(version: version) }
  }
}

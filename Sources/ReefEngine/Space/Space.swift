import ReefSystem
import Synchronization

/// The writer's allocator: hands out blocks, and takes back what a transaction replaces.
///
/// Every method needs the writer word. All of its state that outlives a transaction lies in the lock file (magazines,
/// lists, waiting blocks) or in the data file (bitmaps, descriptors), so that the next writer, in whatever process,
/// goes on where the last one stopped. Bits are conservative: set early is a leak at worst, and what a dead writer
/// left is found by stamps (`Space+Repair`).
///
/// A `~Copyable` struct over raw pointers, passed `inout`: no exclusivity checks on the hot path.
package struct Space: ~Copyable {
  package let base: UnsafeMutableRawPointer
  package let lock: UnsafeMutableRawPointer
  package let file: MappedFile
  package let growLock: @Sendable (Int) -> Bool
  /// All ones, or 0 while nodes have to be proven: see `Verification`.
  let trust: UnsafeMutablePointer<Atomic<UInt64>>
  /// For stores that keep no checksums, and new ones.
  nonisolated(unsafe) static let trusted: UnsafeMutablePointer<Atomic<UInt64>> = {
    let word = UnsafeMutablePointer<Atomic<UInt64>>.allocate(capacity: 1)
    word.initialize(to: Atomic<UInt64>(.max))
    return word
  }()
  let classes: SizeClasses
  /// epoch << 48 | version of the transaction under way.
  package var stamp: UInt64 = 0
  /// The version under way: tip + 1.
  package var version: UInt64 = 0
  /// Words of the touched bitmap that this transaction set, to be cleared when it ends.
  let dirtyWords: UnsafeMutablePointer<UInt32>
  var dirtyCount = 0
  static let dirtyCapacity = 4096
  /// Whether the store outlives a power loss, so that growth has to be synced before a slot names it.
  package var grew = false
  /// Only deletes so far: may use the last extents, so that a full disk can be cleaned up.
  package var mayUseReserve = false

  package init(
    file: MappedFile, lock: UnsafeMutableRawPointer, trust: UnsafeMutablePointer<Atomic<UInt64>>? = nil,
    growLock: @escaping @Sendable (Int) -> Bool
  ) {
    self.trust = trust ?? Space.trusted
    self.file = file
    base = file.base
    self.lock = lock
    self.growLock = growLock
    classes = SizeClasses.shared
    dirtyWords = .allocate(capacity: Space.dirtyCapacity)
  }

  deinit { dirtyWords.deallocate() }

  // MARK: Control words: plain loads and stores, since only the owner of the writer word touches them

  @inline(__always) package func control(_ offset: Int) -> UInt64 { lock.load(fromByteOffset: offset, as: UInt64.self) }
  @inline(__always) package func setControl(_ offset: Int, _ value: UInt64) {
    lock.storeBytes(of: value, toByteOffset: offset, as: UInt64.self)
  }
  /// Keeps the compiler from moving stores across: a killed process leaves what it stored in program order.
  @inline(__always) package static func barrier() { atomicMemoryFence(ordering: .acquiringAndReleasing) }

  // MARK: Nodes

  @inline(__always) package func ref(of node: UnsafeRawPointer) -> UInt32 {
    UInt32(truncatingIfNeeded: (node - UnsafeRawPointer(base)) &>> DataLayout.grainShift)
  }
  @inline(__always) package func pointer(_ ref: UInt32) -> UnsafeMutableRawPointer {
    base + Int(ref) &<< DataLayout.grainShift
  }
  /// The bytes of the file that nodes may lie in.
  @inline(__always) package var fileLimit: UInt64 {
    control(LockLayout.Control.extentCount) &<< UInt64(DataLayout.extentShift)
  }
  /// The same, or 0 while nodes have to be proven: what lies beyond goes by `ReadView.provenNode`.
  @inline(__always) package var limit: UInt64 { fileLimit & trust.pointee.load(ordering: .relaxed) }

  @inline(never)
  func provenNode(_ entry: UInt64) -> UnsafeMutableRawPointer? {
    // Not `limit`, which another thread may have set meanwhile, by proving the rest: asked twice, it would be nowhere.
    let view = ReadView(base: UnsafeRawPointer(base), limit: 0, root: 0, version: 0)
    return view.provenNode(entry).map { UnsafeMutableRawPointer(mutating: $0.pointer) }
  }

  /// Enters a node: its header and its length lie within the file, and it is of that kind.
  @inline(__always)
  package func enter(_ entry: UInt64, kind: UInt8) throws(StoreError) -> UnsafeMutableRawPointer {
    if let node = node(entry, kind: kind) { return node }
    if limit == 0 {
      throw ReadView(base: UnsafeRawPointer(base), limit: 0, root: 0, version: 0).unproven("a node is not sound")
    }
    throw damaged("entry \(entry) is no node of kind \(kind)")
  }

  /// The same, nil where it is not.
  @inline(__always)
  func node(_ entry: UInt64, kind: UInt8) -> UnsafeMutableRawPointer? {
    let offset = (entry & 0xffff_ffff) &<< UInt64(DataLayout.grainShift)
    let limit = limit
    guard offset >= UInt64(DataLayout.extentSize), offset &+ 16 <= limit else {
      guard limit == 0, let node = provenNode(entry), node.load(as: UInt8.self) == kind else { return nil }
      return node
    }
    let node = base + Int(truncatingIfNeeded: offset)
    let header = node.load(as: UInt64.self)
    let length = header &>> 32
    return UInt8(truncatingIfNeeded: header) == kind && length >= 16 && offset &+ length <= limit ? node : nil
  }
  @inline(never) func damaged(_ what: String) -> StoreError { .damaged(path: file.path, what: what) }

  @inline(__always) package func isOwned(_ node: UnsafeRawPointer) -> Bool {
    node.load(fromByteOffset: DataLayout.Node.stamp, as: UInt64.self) == stamp
  }

  /// Bytes of the block (or run) that a node lies in.
  package func capacity(of node: UnsafeRawPointer) -> Int {
    let descriptor = descriptor(Int(ref(of: node) &>> 12))
    if descriptor.load(as: UInt8.self) == ExtentState.slab {
      let index = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.sizeClass, as: UInt8.self))
      return index < classes.count ? classes.geometry[index].size : 0
    }
    return Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.runLength, as: UInt32.self))
      * DataLayout.extentSize
  }

  /// A new node: header written, payload as it was left.
  @inline(__always)
  package mutating func allocate(
    kind: UInt8, form: UInt8, shape: UInt16, length: Int
  ) throws(StoreError) -> UnsafeMutableRawPointer {
    if length > classes.largest { return try allocateRun(kind: kind, form: form, length: length) }
    let index = Int(classes.byGrains[(length &+ 15) &>> 4])
    let state = classState(index)
    var filled = state.load(fromByteOffset: LockLayout.ClassState.filled, as: UInt32.self)
    if filled == 0 {
      try refill(index)
      filled = state.load(fromByteOffset: LockLayout.ClassState.filled, as: UInt32.self)
    }
    let at = Int(filled &- 1)
    let ref = state.load(fromByteOffset: LockLayout.ClassState.magazine &+ at &* 4, as: UInt32.self)
    touch(Int(ref &>> 12))
    let node = pointer(ref)
    // Touched, stamped, and only then taken out: killed in between, repair finds it in the magazine.
    node.storeBytes(of: stamp, toByteOffset: DataLayout.Node.stamp, as: UInt64.self)
    Space.barrier()
    state.storeBytes(of: filled &- 1, toByteOffset: LockLayout.ClassState.filled, as: UInt32.self)
    let header =
      UInt64(kind) | UInt64(form) &<< 8 | UInt64(shape) &<< 16 | UInt64(UInt32(truncatingIfNeeded: length)) &<< 32
    node.storeBytes(of: header, as: UInt64.self)
    return node
  }

  /// The node itself where this transaction made it, else a copy, after retiring the old one.
  @inline(__always)
  package mutating func own(_ node: UnsafeMutableRawPointer) throws(StoreError) -> UnsafeMutableRawPointer {
    if isOwned(node) || Mutant.lives(.ownInPlace) { return node }
    let header = node.load(as: UInt64.self)
    let length = Int(header &>> 32)
    let copy = try allocate(
      kind: UInt8(truncatingIfNeeded: header), form: UInt8(truncatingIfNeeded: header &>> 8),
      shape: UInt16(truncatingIfNeeded: header &>> 16), length: length)
    (copy + 16).copyMemory(from: node + 16, byteCount: max(0, length &- 16))
    retire(node)
    return copy
  }

  /// Replaced: usable again at once where this transaction made it, else once nobody can see it.
  @inline(__always)
  package mutating func retire(_ node: UnsafeRawPointer) {
    let made = node.load(fromByteOffset: DataLayout.Node.stamp, as: UInt64.self)
    if made == stamp || Mutant.lives(.retireAtOnce) {
      free(ref(of: node))
    } else {
      wait(ref(of: node), made: made & DataLayout.versionMask)
    }
  }

  /// Notes that this transaction takes blocks of an extent: with the stamps, the whole undo journal.
  @inline(__always)
  mutating func touch(_ extent: Int) {
    let word = lock + (LockLayout.touchedOffset &+ extent &>> 6 &* 8)
    let bit = UInt64(1) &<< UInt64(extent & 63)
    let old = word.load(as: UInt64.self)
    if old & bit != 0 { return }
    if old == 0, dirtyCount < Space.dirtyCapacity {
      dirtyWords[dirtyCount] = UInt32(truncatingIfNeeded: extent &>> 6)
      dirtyCount &+= 1
    }
    word.storeBytes(of: old | bit, as: UInt64.self)
    Space.barrier()
  }

  /// Forgets the journal, after a commit or a repair.
  @inline(__always)
  package mutating func clearTouched() {
    let words = (lock + LockLayout.touchedOffset).assumingMemoryBound(to: UInt64.self)
    if dirtyCount < Space.dirtyCapacity {
      for index in 0..<dirtyCount { words[Int(dirtyWords[index])] = 0 }
    } else {
      clearAllTouched()
    }
    dirtyCount = 0
  }

  package mutating func clearAllTouched() {
    let words = (lock + LockLayout.touchedOffset).assumingMemoryBound(to: UInt64.self)
    let count = (Int(control(LockLayout.Control.extentCount)) + 63) / 64
    for index in 0..<count where words[index] != 0 { words[index] = 0 }
    dirtyCount = 0
  }

  @inline(__always) func classState(_ index: Int) -> UnsafeMutableRawPointer {
    lock + (LockLayout.ClassState.table &+ index &* LockLayout.ClassState.size)
  }
}

/// What an extent is. Written into stores: never renumber.
enum ExtentState {
  static let unknown: UInt8 = 0
  static let free: UInt8 = 1
  /// Free, and its pages were given back: allocate them before touching it.
  static let hole: UInt8 = 2
  static let slab: UInt8 = 3
  static let runHead: UInt8 = 4
  static let runTail: UInt8 = 5
  /// The header extent and the extents of descriptors.
  static let meta: UInt8 = 6
  /// Of the redo ring: written with `pwrite` only.
  static let ring: UInt8 = 7
}

extension Space {
  /// Extents to grow by: a quarter at most, and from a few MiB on up to a multiple of what a large page holds.
  static func growth(of count: Int) -> Int {
    let wanted = max(1, min(128, count / 4))
    let unit = MappedFile.largePage >> DataLayout.extentShift
    let end = (count + wanted) / unit * unit
    return wanted >= unit && end > count ? end - count : wanted
  }
}

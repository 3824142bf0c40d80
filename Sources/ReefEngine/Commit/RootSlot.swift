import ReefSystem

/// What names a version in the data file: the durable slots, written by syncs only, and the head slots, which every
/// commit writes and which survive killed processes but no power loss. No selector: checksum and version choose.
package struct RootSlot: Equatable, Sendable {
  package var version: UInt64 = 0
  /// Entry of the root node.
  package var root: UInt64 = 0
  /// Logical size in extents.
  package var extents: UInt64 = 0
  package var session: UInt64 = 0
  package var epoch: UInt64 = 0
  package var boot: (UInt64, UInt64) = (0, 0)
  /// Place of the redo ring, and where it stands: unused until the ring exists.
  package var ringStart: UInt64 = 0
  package var ringLength: UInt64 = 0
  package var ringPosition: UInt64 = 0
  package var chain: UInt64 = 0
  package var fingerprint: UInt64 = 0
  package var flags: UInt64 = 0
  package var time: UInt64 = 0
  /// Generation of the allocator's lists: a session begins with a later one than any it may find in descriptors.
  package var generation: UInt64 = 0

  package init() {}

  package static func == (left: RootSlot, right: RootSlot) -> Bool {
    left.version == right.version && left.root == right.root && left.extents == right.extents
      && left.session == right.session && left.epoch == right.epoch && left.boot == right.boot
      && left.fingerprint == right.fingerprint && left.flags == right.flags
  }

  /// Reads a slot; nil where its checksum does not hold.
  package init?(at slot: UnsafeRawPointer) {
    typealias Field = DataLayout.Slot
    func word(_ offset: Int) -> UInt64 { slot.load(fromByteOffset: offset, as: UInt64.self) }
    guard word(Field.checksum) == SlotChecksum.of(slot) || Mutant.lives(.slotUnchecked), word(Field.version) != 0 else {
      return nil
    }
    version = word(Field.version)
    root = word(Field.root)
    extents = word(Field.extents)
    session = word(Field.session)
    epoch = word(Field.epoch)
    boot = (word(Field.boot), word(Field.boot + 8))
    ringStart = word(Field.ringStart)
    ringLength = word(Field.ringLength)
    ringPosition = word(Field.ringPosition)
    chain = word(Field.chain)
    fingerprint = word(Field.fingerprint)
    flags = word(Field.flags)
    time = word(Field.time)
    generation = word(Field.generation)
  }

  /// Writes the slot, its checksum last.
  @inline(__always)
  package func write(to slot: UnsafeMutableRawPointer) {
    typealias Field = DataLayout.Slot
    @inline(__always) func put(_ offset: Int, _ value: UInt64) {
      slot.storeBytes(of: value, toByteOffset: offset, as: UInt64.self)
    }
    put(Field.version, version)
    put(Field.root, root)
    put(Field.extents, extents)
    put(Field.session, session)
    put(Field.epoch, epoch)
    put(Field.boot, boot.0)
    put(Field.boot + 8, boot.1)
    put(Field.ringStart, ringStart)
    put(Field.ringLength, ringLength)
    put(Field.ringPosition, ringPosition)
    put(Field.chain, chain)
    put(Field.fingerprint, fingerprint)
    put(Field.flags, flags)
    put(Field.time, time)
    put(Field.generation, generation)
    Space.barrier()
    put(Field.checksum, SlotChecksum.of(slot))
    Space.barrier()
  }

  /// The newest version that a session's head slots name: what had been committed when its writer died.
  static func newestHead(_ base: UnsafeRawPointer, session: UInt64) -> RootSlot? {
    [DataLayout.headSlotOffset.0, DataLayout.headSlotOffset.1].compactMap { RootSlot(at: base + $0) }
      .filter { $0.session == session }.max { $0.version < $1.version }
  }

  package var isClean: Bool { flags & DataLayout.SlotFlag.clean != 0 }
  package var isUnswept: Bool { flags & DataLayout.SlotFlag.unswept != 0 }
}

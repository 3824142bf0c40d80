import ReefSystem

/// What the first process of a session does, alone: it makes the store, or finds the version to go on from, and fills
/// the control words that everyone else relies on. All is read before anything is stored, and whatever is cut off here
/// is simply done again by the next opener.
enum Recovery {
  static func build(_ building: Building, _ configuration: EngineConfiguration) throws(StoreError) {
    // A creation that was cut off is done again: it acknowledged nothing.
    var isNew = building.isNew
    if !isNew { isNew = try isUnfinished(building.data) }
    if isNew {
      try create(building, configuration)
    } else {
      try recover(building, configuration)
    }
  }

  // MARK: A new store

  /// The header is written first, saying that the store is not finished yet, and last, without that.
  private static func isUnfinished(_ data: MappedFile) throws(StoreError) -> Bool {
    let size = try storing(data.path) { () throws(SystemError) in try data.size() }
    if size <= DataLayout.pageSize, data.base.load(as: UInt64.self) == 0 { return true }
    guard size >= DataLayout.Header.size, StoreHeader.isUnfinished(data.base) else { return false }
    // A store that something was committed to is finished, whatever a damaged header says: it is never made anew.
    let slots = [DataLayout.durableSlotOffset.0, DataLayout.durableSlotOffset.1]
    return slots.allSatisfy { size < $0 + DataLayout.Slot.size || (RootSlot(at: data.base + $0)?.version ?? 0) <= 1 }
  }

  private static func create(_ building: Building, _ configuration: EngineConfiguration) throws(StoreError) {
    let data = building.data
    var header = StoreHeader(
      uuid: (HostIdentity.randomWord(), HostIdentity.randomWord()),
      flags: (building.isInMemory ? DataLayout.HeaderFlag.inMemory : 0)
        | (data.isTmpfs ? 0 : DataLayout.HeaderFlag.checked) | DataLayout.HeaderFlag.unfinished,
      numa: configuration.numa, created: Clock.realtime)
    try building.apply(header.numa)
    // The first thing in the file says whose it is; before that it is empty.
    try header.writeFirst(to: data)
    FaultPoint.step("create.marked")
    try storing(data.path, needed: 2 * DataLayout.extentSize) { () throws(SystemError) in
      try data.makeWritable()
      try data.allocate(offset: 0, length: DataLayout.extentSize)
    }
    (data.base + DataLayout.pageSize).zero(DataLayout.extentSize - DataLayout.pageSize)
    FaultPoint.step("create.allocated")

    var slot = RootSlot()
    slot.version = 1
    slot.session = freshSession()
    slot.epoch = 1
    slot.boot = building.boot
    slot.generation = firstGeneration(after: 0)
    slot.time = Clock.realtime
    reset(building.lock, slot: slot, extents: 1, isTmpfs: data.isTmpfs)
    // Extent 0 describes itself.
    data.base.storeBytes(of: ExtentState.meta, toByteOffset: DataLayout.inlineDescriptorsOffset, as: UInt8.self)
    var space = Space(file: data, lock: building.lock.base) { _ in false }
    space.stamp = 1 << DataLayout.epochShift | 1
    space.version = 1
    let root = try space.allocate(
      kind: NodeKind.root, form: 0, shape: 0, length: DataLayout.Root.tables)
    (root + DataLayout.Node.size).zero(DataLayout.Root.tables - DataLayout.Node.size)
    root.storeBytes(of: 1, toByteOffset: DataLayout.Root.version, as: UInt64.self)
    root.storeBytes(of: slot.time, toByteOffset: DataLayout.Root.time, as: UInt64.self)
    space.flushMagazines()
    space.clearAllTouched()
    slot.root = UInt64(space.ref(of: root))
    if header.isChecked { slot.root = Checks.entry(slot.root, node: root) }
    slot.extents = UInt64(space.extentCount)
    FaultPoint.step("create.built")
    try writeDurable(data, slot, keeping: nil)
    FaultPoint.step("create.synced")
    header.flags &= ~DataLayout.HeaderFlag.unfinished
    header.write(to: data.base)
    try sync(data)
    FaultPoint.step("create.done")
    begin(building, header: header, slot: slot)
    // What was just made needs no proof.
    building.lock.set(LockLayout.Control.proven, 1)
  }

  // MARK: An existing store

  private static func recover(_ building: Building, _ configuration: EngineConfiguration) throws(StoreError) {
    let data = building.data
    let size = try storing(data.path) { () throws(SystemError) in try data.size() }
    var header = try StoreHeader(reading: data.base, size: size, path: data.path)
    let durable = [DataLayout.durableSlotOffset.0, DataLayout.durableSlotOffset.1].map { RootSlot(at: data.base + $0) }
    let head = [DataLayout.headSlotOffset.0, DataLayout.headSlotOffset.1].map { RootSlot(at: data.base + $0) }
    // A clean close may leave the same version in both slots, clean in one of them: that one was written last.
    guard
      let newest = durable.compactMap({ $0 }).max(by: {
        ($0.version, $0.isClean ? 1 : 0) < ($1.version, $1.isClean ? 1 : 0)
      })
    else {
      throw .damaged(path: data.path, what: "neither durable slot holds")
    }
    guard fits(newest, size) else {
      throw .damaged(path: data.path, what: "the file is shorter than version \(newest.version) says")
    }
    // The slot has a checksum, the header has none: a flipped bit there must not switch all others off.
    let hasLostFlag = newest.root >> 32 != 0 && !header.isChecked
    if hasLostFlag {
      if building.options.readOnly {
        throw .damaged(
          path: data.path, what: "the header does not say that nodes have checksums; opened for writing it will")
      }
      header.flags |= DataLayout.HeaderFlag.checked
    }
    let replay = try Replay(after: newest, in: data)
    var picked = replay.reached
    var isReplayed = !replay.isEmpty
    // Killed processes lose nothing: the same boot's newest commit, where the nodes it names are really there.
    let survivors = head.compactMap { $0 }.filter {
      $0.boot == building.boot && $0.session == newest.session && $0.epoch == newest.epoch
        && $0.version > newest.version && $0.version >= replay.reached.version
    }
    for candidate in survivors.sorted(by: { $0.version > $1.version }) {
      guard fits(candidate, size) else { continue }
      if !header.isChecked || Mutant.lives(.recoveryBelievesHead)
        || Checks.holds(candidate, after: newest.version, in: data)
      {
        // Without replay: newer versions have used the blocks of the records' again.
        picked = candidate
        isReplayed = false
        break
      }
    }
    // The ring may have been made after the version that is gone back to was.
    picked.extents = max(picked.extents, newest.extents)
    guard fits(picked, size) else {
      throw .damaged(path: data.path, what: "the file is shorter than version \(picked.version) says")
    }
    // Stamps keep 48 bits of it, and every later version counts on from here.
    guard picked.version <= DataLayout.versionMask / 2 else {
      throw .damaged(path: data.path, what: "no store has had as many versions as it says")
    }
    try checkChunks(data, extents: picked.extents)
    let isClean = newest.isClean && picked.version == newest.version
    FaultPoint.step("recover.picked")

    // Everything is read: from here on, stores.
    let changesPolicy = configuration.numa != .none && configuration.numa != header.numa
    if changesPolicy {
      header.numa = configuration.numa
    }
    try building.apply(header.numa)
    var slot = picked
    slot.session = freshSession()
    slot.boot = building.boot
    slot.epoch = isClean ? picked.epoch : min(picked.epoch, 1 << 16) + 1
    guard slot.epoch < 1 << 16 else {
      throw .damaged(path: data.path, what: "its sessions ended in disorder more often than can be counted: copy it")
    }
    // The allocator's records are believed where they are as the clean close left them.
    let recordsHold =
      !header.isChecked || Mutant.lives(.recordsUnchecked)
      || isClean
        && Space.recordSum(UnsafeRawPointer(data.base), extents: Int(picked.extents))
          == newest.flags >> DataLayout.SlotFlag.sumShift
    if isClean, !recordsHold, !building.options.readOnly, picked.extents > UInt64(DataLayout.inlineDescriptors) {
      throw .damaged(path: data.path, what: "the records of free space: it can be opened for reading only")
    }
    let oldExtents = recordsHold ? 0 : picked.extents
    slot.flags = isClean && recordsHold ? 0 : DataLayout.SlotFlag.unswept
    // The ring goes on, from its start: records of other sessions say so themselves.
    (slot.ringStart, slot.ringLength) = isClean ? (0, 0) : (newest.ringStart, newest.ringLength)
    (slot.ringPosition, slot.chain) = (0, slot.session)
    slot.generation = firstGeneration(
      after: max(picked.generation, head.compactMap { $0?.generation }.max() ?? 0, newest.generation))
    if building.options.readOnly {
      // What was acknowledged lies in the redo ring only: whoever may store goes first.
      if isReplayed { throw .readOnly(path: data.path) }
      // This process may not write: the store is looked at as it is, and the first who writes begins the session for it.
      reset(building.lock, slot: slot, extents: picked.extents, isTmpfs: data.isTmpfs)
      building.lock.set(LockLayout.Control.oldExtents, oldExtents)
      publish(building, header: header, slot: slot)
      building.lock.set(LockLayout.Control.flags, slot.flags | unclaimed)
      building.lock.set(LockLayout.Control.reclaiming, 1)
      return
    }
    try storing(data.path) { () throws(SystemError) in try data.makeWritable() }
    if changesPolicy || hasLostFlag { header.write(to: data.base) }
    reset(building.lock, slot: slot, extents: picked.extents, isTmpfs: data.isTmpfs)
    building.lock.set(LockLayout.Control.oldExtents, oldExtents)
    if slot.ringLength != 0 {
      var space = Space(file: data, lock: building.lock.base) { _ in false }
      if isReplayed { try replay.store(in: data, &space) }
      if let ring = ring(of: slot) {
        if Mutant.lives(.replayForgetsRing) { space.releaseRing(ring) } else { space.markRing(ring) }
      }
    }
    // Whoever was told of lost pages may be dead: what only the cache is known to have is stored again.
    if header.isChecked, !isReplayed, picked.version > newest.version,
      !Checks.storeAgain(picked.root, extents: picked.extents, after: newest.version, in: data)
    {
      throw .damaged(path: data.path, what: "a node of the newest version changed while it was read")
    }
    try writeDurable(data, slot, keeping: newest.version)
    FaultPoint.step("recover.synced")
    clearChunks(data, extents: picked.extents)
    begin(building, header: header, slot: slot)
    FaultPoint.step("recover.done")
  }

  private static func fits(_ slot: RootSlot, _ size: Int) -> Bool {
    slot.extents >= 1 && slot.extents <= UInt64(DataLayout.maximumExtents)
      && Int(slot.extents) << DataLayout.extentShift <= size
  }

  /// Chunks of descriptors that the version needs lie within it.
  private static func checkChunks(_ data: MappedFile, extents: UInt64) throws(StoreError) {
    var range = 0
    while range < DataLayout.maximumChunks,
      DataLayout.inlineDescriptors + range * DataLayout.descriptorsPerChunk < Int(extents)
    {
      let place = data.base.load(fromByteOffset: DataLayout.chunkMapOffset + range * 4, as: UInt32.self)
      guard place > 0, UInt64(place) < extents else {
        throw .damaged(path: data.path, what: "the map of descriptor chunks")
      }
      range += 1
    }
  }
  private static func clearChunks(_ data: MappedFile, extents: UInt64) {
    for range in 0..<DataLayout.maximumChunks
    where DataLayout.inlineDescriptors + range * DataLayout.descriptorsPerChunk >= Int(extents) {
      data.base.storeBytes(of: 0, toByteOffset: DataLayout.chunkMapOffset + range * 4, as: UInt32.self)
    }
  }

  // MARK: Parts

  private static func freshSession() -> UInt64 { max(1, HostIdentity.randomWord()) }

  /// Later than any generation that repairs of earlier sessions may have left in descriptors.
  private static func firstGeneration(after last: UInt64) -> UInt64 {
    let clock = (Clock.realtime / 250_000_000) & 0x7fff_ffff
    return max(1, max(last &+ 1, clock) & 0x7fff_ffff)
  }

  private static func sync(_ data: MappedFile) throws(StoreError) {
    if data.isTmpfs { return }
    try storing(data.path) { () throws(SystemError) in try data.sync() }
  }

  /// Both durable slots name the version, one after the other, each on disk before the next step. The slot that holds
  /// the version to go back to is overwritten last.
  private static func writeDurable(
    _ data: MappedFile, _ slot: RootSlot, keeping version: UInt64?
  ) throws(StoreError) {
    let offsets = [DataLayout.durableSlotOffset.0, DataLayout.durableSlotOffset.1]
    var first = offsets.first { RootSlot(at: data.base + $0)?.version != version || version == nil } ?? offsets[1]
    if Mutant.lives(.recoveryGoodSlotFirst) { first = first == offsets[0] ? offsets[1] : offsets[0] }
    // The cache may verify what the disk lacks: the content first, then the other slot, only then the good one.
    if !Mutant.lives(.recoveryContentUnsynced) { try sync(data) }
    slot.write(to: data.base + first)
    FaultPoint.step("durable.first")
    try sync(data)
    slot.write(to: data.base + (first == offsets[0] ? offsets[1] : offsets[0]))
    FaultPoint.step("durable.second")
    try sync(data)
  }

  /// The allocator's state in the lock file, which is all zero when a session begins.
  private static func reset(_ lock: LockMemory, slot: RootSlot, extents: UInt64, isTmpfs: Bool) {
    typealias Control = LockLayout.Control
    lock.set(Control.extentCount, extents)
    lock.set(Control.listGeneration, slot.generation)
    lock.set(
      Control.poolCapacity,
      UInt64((LockLayout.initialSize - LockLayout.Waiting.pool) / LockLayout.Waiting.size))
  }

  private static func begin(_ building: Building, header: StoreHeader, slot: RootSlot) {
    writeHead(building.data, slot)
    publish(building, header: header, slot: slot)
  }

  private static func writeHead(_ data: MappedFile, _ slot: RootSlot) {
    slot.write(to: data.base + DataLayout.headSlotOffset.0)
    // The other head slot belongs to a session that is over.
    data.base.storeBytes(
      of: 0, toByteOffset: DataLayout.headSlotOffset.1 + DataLayout.Slot.checksum, as: UInt64.self)
  }

  /// In the control word of flags: the session was begun by a process that may not write, and no slot names it yet.
  private static let unclaimed: UInt64 = 1 << 63

  /// The first writer of such a session writes its slots, under the writer word, before anything is allocated. Cut off,
  /// the next one does it again: `reclaiming` stays set until the repair that this is a part of is done.
  static func claim(_ data: MappedFile, _ lock: LockMemory) throws(StoreError) {
    typealias Control = LockLayout.Control
    let flags = lock.word(Control.flags)
    guard flags & unclaimed != 0 else { return }
    var slot = RootSlot()
    slot.version = lock.word(Control.tip)
    slot.root = lock.word(Control.tipRoot)
    slot.extents = lock.word(Control.tipExtents)
    slot.session = lock.word(LockLayout.Header.session)
    slot.epoch = lock.word(LockLayout.Header.epoch)
    slot.boot = (HostIdentity.boot.high, HostIdentity.boot.low)
    slot.fingerprint = lock.word(Control.fingerprint)
    slot.flags = flags & ~unclaimed
    slot.time = lock.word(Control.tipTime)
    slot.generation = lock.word(Control.listGeneration)
    (slot.ringStart, slot.ringLength) = (lock.word(LockLayout.Redo.start), lock.word(LockLayout.Redo.length))
    slot.chain = slot.session
    let durable = [DataLayout.durableSlotOffset.0, DataLayout.durableSlotOffset.1].map { RootSlot(at: data.base + $0) }
    try writeDurable(data, slot, keeping: durable.compactMap { $0?.version }.max())
    clearChunks(data, extents: slot.extents)
    writeHead(data, slot)
    FaultPoint.step("recover.claimed")
    lock.set(Control.flags, slot.flags)
  }

  private static func publish(_ building: Building, header: StoreHeader, slot: RootSlot) {
    typealias Control = LockLayout.Control
    let lock = building.lock
    lock.set(LockLayout.Header.uuid, header.uuid.0)
    lock.set(LockLayout.Header.uuid + 8, header.uuid.1)
    lock.set(LockLayout.Header.session, slot.session)
    lock.set(LockLayout.Header.epoch, slot.epoch)
    lock.set(Control.tip, slot.version)
    lock.set(Control.tipRoot, slot.root)
    lock.set(Control.tipExtents, slot.extents)
    lock.set(Control.tipTime, slot.time)
    lock.set(Control.fingerprint, slot.fingerprint)
    lock.set(Control.flags, slot.flags)
    lock.set(Control.confirmed, slot.version)
    // On tmpfs no version outlives the boot anyway: nothing is held for one.
    lock.set(Control.synced, building.data.isTmpfs ? 0 : slot.version)
    lock.set(Control.needsMark, slot.isUnswept ? 1 : 0)
    RedoRing(lock: lock).begin(slot)
    RingWriter.write(lock, slot.version, root: slot.root, extents: slot.extents, time: slot.time)
    lock.set(Control.proven, header.isChecked && !Mutant.lives(.nodesUnchecked) ? 0 : 1)
    lock.set(Control.begunAt, slot.version)
    lock.set(Control.told, slot.version)
    lock.storeRelease(Control.visible, slot.version << 1)
  }
}

extension Building {
  var boot: (UInt64, UInt64) { (bootIdentifier.high, bootIdentifier.low) }
}

/// The version ring: root, size and time of the latest versions.
enum RingWriter {
  @inline(__always)
  static func write(_ lock: LockMemory, _ version: UInt64, root: UInt64, extents: UInt64, time: UInt64) {
    let entry =
      LockLayout.RingEntry.table &+ Int(version & UInt64(LockLayout.ringSize &- 1)) &* LockLayout.RingEntry.size
    // Readers that follow old versions check the version before and after: it is cleared while the rest changes.
    lock.set(entry &+ LockLayout.RingEntry.version, 0)
    Space.barrier()
    lock.set(entry &+ LockLayout.RingEntry.root, root)
    lock.set(entry &+ LockLayout.RingEntry.extents, extents)
    lock.set(entry &+ LockLayout.RingEntry.time, time)
    lock.storeRelease(entry &+ LockLayout.RingEntry.version, version)
  }
}

import ReefSystem

/// The last one of all leaves a durable store: everything that waits is freed, the bits become exact, the newest version
/// is made durable and marked clean, and free space at the end of the file is given back.
enum Closing {
  /// Best effort: whatever fails here leaves a store that the next opener recovers.
  static func close(_ building: Building) {
    guard !building.options.readOnly else { return }
    try? finish(building)
  }

  private static func finish(_ building: Building) throws(StoreError) {
    typealias Control = LockLayout.Control
    let lock = building.lock
    let data = building.data
    // The data file may have been moved away meanwhile, and the lock file be another session's.
    guard building.lockFile.dataIdentity == data.identity else { return }
    // A dead writer's remains, a failed sync or an owed mark pass are the next session's business.
    guard lock.word(Control.writerWord) == 0, lock.word(Control.jver) == 0, lock.word(Control.reclaiming) == 0,
      lock.word(Control.poisoned) == 0, lock.word(Control.syncing) == 0, lock.word(LockLayout.Redo.syncing) == 0,
      lock.word(Control.doubtful) == 0, lock.word(LockLayout.Redo.doubtful) == 0,
      lock.word(Control.tip) != 0
    else { return }
    let header = try StoreHeader(reading: data.base, size: try size(data), path: data.path)
    try storing(data.path) { () throws(SystemError) in try data.makeWritable() }
    let tip = lock.word(Control.tip)
    var slot = RootSlot()
    slot.version = tip
    slot.root = lock.word(Control.tipRoot)
    slot.extents = lock.word(Control.extentCount)
    slot.session = lock.word(LockLayout.Header.session)
    slot.epoch = lock.word(LockLayout.Header.epoch)
    slot.boot = building.boot
    slot.fingerprint = lock.word(Control.fingerprint)
    slot.time = lock.word(Control.tipTime)
    slot.generation = lock.word(Control.listGeneration)
    slot.flags = DataLayout.SlotFlag.unswept
    let wasOwed = lock.word(Control.needsMark) | lock.word(Control.marking) != 0
    // The newest version first: after this nothing older is needed, and all that waits may go.
    if lock.word(Control.synced) != tip || data.isTmpfs { try name(slot, data, lock, other: lock.word(Control.synced)) }
    FaultPoint.step("close.named")
    lock.set(Control.synced, 0)
    lock.set(Control.attempt, 0)
    lock.set(Control.appending, 0)
    lock.set(Control.visible, tip << 1)
    for index in 0..<LockLayout.maximumSlots {
      lock.set(LockLayout.ReaderSlot.table + index * LockLayout.ReaderSlot.size + LockLayout.ReaderSlot.pin, 0)
    }
    var space = Space(file: data, lock: lock.base) { _ in false }
    space.version = tip + 1
    space.stamp = slot.epoch << DataLayout.epochShift | (tip + 1)
    var reclaimer = Reclaimer()
    space.reclaim(&reclaimer)
    space.flushMagazines()
    // The next session makes a ring when it needs one: a closed store is as large as what it holds.
    for ring in RedoRing.ranges(lock) { space.releaseRing(ring) }
    let before = slot.extents
    if !wasOwed { slot.extents = UInt64(space.usedExtents) }
    let holes = wasOwed ? [] : space.makeHoles(below: Int(slot.extents))
    FaultPoint.step("close.freed")
    slot.flags = wasOwed ? DataLayout.SlotFlag.unswept : DataLayout.SlotFlag.clean
    if !wasOwed, header.isChecked {
      slot.flags |= space.sealRecords(extents: Int(slot.extents)) << UInt64(DataLayout.SlotFlag.sumShift)
    }
    try name(slot, data, lock, other: 0)
    for extent in holes {
      try? data.punch(offset: extent << DataLayout.extentShift, length: DataLayout.extentSize)
    }
    if slot.extents == before {
      // The other slot says the same, so that damage to one of them costs nothing. It need not be on disk.
      for offset in [DataLayout.durableSlotOffset.0, DataLayout.durableSlotOffset.1]
      where RootSlot(at: data.base + offset) != slot { slot.write(to: data.base + offset) }
    }
    if slot.extents < before {
      // Both slots name the smaller size before the rest is cut off.
      try name(slot, data, lock, other: tip)
      lock.set(Control.extentCount, slot.extents)
      try storing(data.path) { () throws(SystemError) in
        try data.truncate(to: Int(slot.extents) << DataLayout.extentShift)
      }
    }
    FaultPoint.step("close.done")
  }

  /// Syncs the file, then names the version in the slot that does not hold `other`, or holds an older one.
  private static func name(_ slot: RootSlot, _ data: MappedFile, _ lock: LockMemory, other: UInt64) throws(StoreError) {
    let offsets = [DataLayout.durableSlotOffset.0, DataLayout.durableSlotOffset.1]
    let first = RootSlot(at: data.base + offsets[0])
    let second = RootSlot(at: data.base + offsets[1])
    let target: Int
    if other == slot.version {
      // The one that is not yet exactly this.
      target = first == slot ? offsets[1] : offsets[0]
    } else if let first, let second {
      target =
        first.version <= second.version && !(first.version == second.version && first.isClean) ? offsets[0] : offsets[1]
    } else {
      target = first == nil ? offsets[0] : offsets[1]
    }
    if !Mutant.lives(.closeUnsynced) { try sync(data) }
    slot.write(to: data.base + target)
    try sync(data)
  }

  private static func sync(_ data: MappedFile) throws(StoreError) {
    if data.isTmpfs { return }
    try storing(data.path) { () throws(SystemError) in try data.sync() }
  }
  private static func size(_ data: MappedFile) throws(StoreError) -> Int {
    try storing(data.path) { () throws(SystemError) in try data.size() }
  }
}

extension Space {
  /// Marks free extents as holes, but for a few that stay warm. They are punched once that is on disk.
  mutating func makeHoles(below end: Int) -> [Int] {
    var holes: [Int] = []
    var kept = 0
    for extent in 1..<max(1, end) {
      let descriptor = descriptor(extent)
      if !isFree(extent, descriptor) || descriptor.load(as: UInt8.self) == ExtentState.hole { continue }
      kept += 1
      if kept <= max(16, end / 16) { continue }
      descriptor.storeBytes(of: ExtentState.hole, as: UInt8.self)
      holes.append(extent)
    }
    return holes
  }

  /// Extents up to the last one in use.
  var usedExtents: Int {
    var end = extentCount
    while end > 1, isFree(end - 1, descriptor(end - 1)) { end -= 1 }
    return end
  }
}

import ReefSystem
import Synchronization

/// Giving back what nobody can see any more.
///
/// A block made at m and replaced at r is seen by the versions m … r−1. It is free iff r ≤ visible and no pin lies in
/// m ..< r, where pins are the reader slots, the durable versions a slot on disk may name, and every version from a
/// following reader's on. A pass costs what it frees and files, never the size of what waits.
package struct Reclaimer: ~Copyable {
  /// Pins as this pass sees them, by slot; after the reader slots come the versions that disk slots may name.
  let pins: UnsafeMutablePointer<UInt64>
  var count = 0
  /// Slots to look through for who holds a block: of neighbours that hold one version the first stands for all.
  let holders: UnsafeMutablePointer<Int32>
  var holderCount = 0
  /// Newest pin of all.
  var newest: UInt64 = 0
  /// Versions from here on are all held by following readers.
  var floor: UInt64 = .max
  /// Pins other than the newest version that another process holds: reason to ask whether it lives.
  var held = 0
  /// Oldest pin of all, and how many passes it has been that.
  var oldest: UInt64 = .max
  /// Old pins that nobody reads by any more, and passes since such were taken away.
  var lingering = 0
  private var passes = 64
  private var lastWaiting: UInt64 = 0
  private var lastOldest: UInt64 = .max
  private var stayed = 0

  package init() {
    pins = .allocate(capacity: LockLayout.Bin.count)
    pins.initialize(repeating: 0, count: LockLayout.Bin.count)
    holders = .allocate(capacity: LockLayout.Bin.count)
    holders.initialize(repeating: 0, count: LockLayout.Bin.count)
  }
  deinit {
    pins.deallocate()
    holders.deallocate()
  }

  /// Whether idle pins are worth a barrier on all processors: once in so many passes, sooner where much waits.
  mutating func isWorthABarrier(waiting: UInt64) -> Bool {
    passes &+= 1
    guard lingering > 0, passes >= 64 || passes >= 4 && waiting >= lastWaiting &+ 1024 else { return false }
    passes = 0
    lastWaiting = waiting
    return true
  }

  /// Whether the oldest pin has stayed for a pass, or again as many as eight.
  mutating func isWorthAsking() -> Bool {
    if oldest == lastOldest {
      stayed &+= 1
    } else {
      lastOldest = oldest
      stayed = 0
      return false
    }
    return stayed & 7 == 1
  }
}

extension Space {
  /// Reads all pins. The sequentially consistent fence pairs with the one in the readers' publish protocol: without it
  /// a reader could re-check an old version while its pin still waits in its store buffer.
  func scan(_ reclaimer: inout Reclaimer) {
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    let visible = visibleVersion
    var newest: UInt64 = 0
    var oldest = UInt64.max
    var floor = UInt64.max
    var held = 0
    var lingering = 0
    var holders = 0
    var previous: UInt64 = 0
    var count = min(Int(control(LockLayout.Control.slotsInUse)), LockLayout.maximumSlots)
    if Mutant.lives(.reclaimIgnoresReaders) { count = 0 }
    for slot in 0..<count {
      let place = LockLayout.ReaderSlot.table &+ slot &* LockLayout.ReaderSlot.size &+ LockLayout.ReaderSlot.pin
      let raw = lock.load(fromByteOffset: place, as: UInt64.self)
      let version = raw &>> 1
      reclaimer.pins[slot] = version
      if version == 0 { continue }
      if version != previous {
        reclaimer.holders[holders] = Int32(truncatingIfNeeded: slot)
        holders &+= 1
        previous = version
      }
      if version > newest { newest = version }
      if version < oldest { oldest = version }
      if version < visible {
        held &+= 1
        let idle = place &+ (LockLayout.ReaderSlot.idle &- LockLayout.ReaderSlot.pin)
        if lock.load(fromByteOffset: idle, as: UInt64.self) != 0 { lingering &+= 1 }
      }
      // A follower so far behind that the ring has forgotten its versions gets a gap anyway: it holds one version only.
      if raw & 1 != 0, visible &- version < UInt64(LockLayout.ringSize), version < floor { floor = version }
    }
    atomicMemoryFence(ordering: .acquiring)
    // The number of slots only grows in a session: beyond it the pins were never set.
    let disk = reclaimer.pins + LockLayout.maximumSlots
    disk[0] = Mutant.lives(.reclaimIgnoresSynced) ? 0 : control(LockLayout.Control.synced)
    disk[1] = Mutant.lives(.reclaimIgnoresAttempt) ? 0 : control(LockLayout.Control.attempt)
    disk[2] = control(LockLayout.Control.appending)
    newest = max(newest, disk[0], disk[1], disk[2])
    reclaimer.count = count
    reclaimer.holderCount = holders
    reclaimer.newest = newest
    reclaimer.oldest = oldest
    reclaimer.floor = Mutant.lives(.reclaimIgnoresFollowers) ? .max : floor
    reclaimer.held = held
    reclaimer.lingering = lingering
  }

  @inline(__always) var visibleVersion: UInt64 { control(LockLayout.Control.visible) &>> 1 }

  /// One pass: bins whose pin is gone, then fresh entries. Returns how many blocks came free.
  @inline(never)
  @discardableResult
  package mutating func reclaim(_ reclaimer: inout Reclaimer) -> Int {
    scan(&reclaimer)
    setControl(LockLayout.Control.reclaiming, 1)
    Space.barrier()
    var freed = 0
    for slot in 0..<reclaimer.count { freed &+= refile(slot, reclaimer) }
    for slot in LockLayout.maximumSlots..<(LockLayout.maximumSlots + 3) { freed &+= refile(slot, reclaimer) }

    let limit = Mutant.lives(.reclaimInvisible) ? version : min(visibleVersion, reclaimer.floor)
    while true {
      let link = UInt32(truncatingIfNeeded: control(LockLayout.Control.freshHead))
      if link == 0 { break }
      let entry = waiting(Int(link &- 1))
      if entry.load(fromByteOffset: LockLayout.Waiting.replaced, as: UInt64.self) > limit { break }
      let next = entry.load(fromByteOffset: LockLayout.Waiting.next, as: UInt32.self)
      setControl(LockLayout.Control.freshHead, UInt64(next))
      if next == 0 { setControl(LockLayout.Control.freshTail, 0) }
      setControl(LockLayout.Control.freshCount, control(LockLayout.Control.freshCount) &- 1)
      if place(link, entry, reclaimer) { freed &+= 1 }
    }
    Space.barrier()
    setControl(LockLayout.Control.reclaiming, 0)
    setControl(LockLayout.Statistics.reclaimed, control(LockLayout.Statistics.reclaimed) &+ UInt64(freed))
    return freed
  }

  /// Frees an entry's block, or files it under the newest pin that sees it. True: freed.
  @inline(__always)
  private mutating func place(_ link: UInt32, _ entry: UnsafeMutableRawPointer, _ reclaimer: borrowing Reclaimer)
    -> Bool
  {
    let made = entry.load(fromByteOffset: LockLayout.Waiting.made, as: UInt64.self)
    if reclaimer.newest >= made {
      let replaced = entry.load(fromByteOffset: LockLayout.Waiting.replaced, as: UInt64.self)
      if let slot = holder(made, replaced, reclaimer) {
        file(link, entry, slot, reclaimer.pins[slot])
        return false
      }
    }
    let ref = entry.load(fromByteOffset: LockLayout.Waiting.ref, as: UInt32.self)
    // Marked before it is freed: killed in between, repair frees it (again), before anybody could allocate it.
    entry.storeBytes(of: .max, toByteOffset: LockLayout.Waiting.made, as: UInt64.self)
    Space.barrier()
    free(ref)
    Space.barrier()
    giveBack(link, entry)
    return true
  }

  @inline(never)
  private func holder(_ made: UInt64, _ replaced: UInt64, _ reclaimer: borrowing Reclaimer) -> Int? {
    var best: UInt64 = 0
    var at = -1
    for index in 0..<reclaimer.holderCount {
      let slot = Int(reclaimer.holders[index])
      let pin = reclaimer.pins[slot]
      if pin < replaced &- (Mutant.lives(.reclaimOffByOne) ? 1 : 0), pin > best {
        best = pin
        at = slot
      }
    }
    for slot in LockLayout.maximumSlots..<(LockLayout.maximumSlots + 3) {
      let pin = reclaimer.pins[slot]
      if pin < replaced, pin > best {
        best = pin
        at = slot
      }
    }
    return best >= made && at >= 0 && best > 0 ? at : nil
  }

  private func bin(_ slot: Int) -> UnsafeMutableRawPointer {
    lock + (LockLayout.Bin.table &+ slot &* LockLayout.Bin.size)
  }

  private func file(_ link: UInt32, _ entry: UnsafeMutableRawPointer, _ slot: Int, _ pin: UInt64) {
    let bin = bin(slot)
    entry.storeBytes(
      of: bin.load(fromByteOffset: LockLayout.Bin.head, as: UInt32.self), toByteOffset: LockLayout.Waiting.next,
      as: UInt32.self)
    bin.storeBytes(of: pin, toByteOffset: LockLayout.Bin.pin, as: UInt64.self)
    bin.storeBytes(of: link, toByteOffset: LockLayout.Bin.head, as: UInt32.self)
    setControl(LockLayout.Control.waitingCount, control(LockLayout.Control.waitingCount) &+ 1)
    setControl(LockLayout.Control.waitingBytes, control(LockLayout.Control.waitingBytes) &+ bytes(entry))
  }

  /// Bytes that a waiting block takes.
  private func bytes(_ entry: UnsafeMutableRawPointer) -> UInt64 {
    let ref = entry.load(fromByteOffset: LockLayout.Waiting.ref, as: UInt32.self)
    let descriptor = descriptor(Int(ref >> 12))
    if descriptor.load(as: UInt8.self) == ExtentState.slab {
      let index = Int(descriptor.load(fromByteOffset: DataLayout.Descriptor.sizeClass, as: UInt8.self))
      return index < classes.count ? UInt64(classes.geometry[index].size) : 0
    }
    let run = descriptor.load(fromByteOffset: DataLayout.Descriptor.runLength, as: UInt32.self)
    return UInt64(run) << UInt64(DataLayout.extentShift)
  }

  /// Looks again at what a slot's pin held, once that pin is gone.
  private mutating func refile(_ slot: Int, _ reclaimer: borrowing Reclaimer) -> Int {
    let bin = bin(slot)
    var link = bin.load(fromByteOffset: LockLayout.Bin.head, as: UInt32.self)
    if link == 0 || bin.load(fromByteOffset: LockLayout.Bin.pin, as: UInt64.self) == reclaimer.pins[slot] { return 0 }
    bin.storeBytes(of: 0, toByteOffset: LockLayout.Bin.head, as: UInt32.self)
    var freed = 0
    while link != 0 {
      let entry = waiting(Int(link &- 1))
      let next = entry.load(fromByteOffset: LockLayout.Waiting.next, as: UInt32.self)
      setControl(LockLayout.Control.waitingCount, control(LockLayout.Control.waitingCount) &- 1)
      let bytes = bytes(entry)
      setControl(
        LockLayout.Control.waitingBytes,
        control(LockLayout.Control.waitingBytes) &- min(bytes, control(LockLayout.Control.waitingBytes)))
      if place(link, entry, reclaimer) { freed &+= 1 }
      link = next
    }
    return freed
  }
}

import ReefSystem
import Synchronization

// Pins that linger. The fence in pinning costs more than all else in a short read. So a reader that is done leaves its pin
// where it is and says only that it is idle; the next read, of the same version, says that it is not and needs no fence.
// Who wants the space asks the kernel for a barrier on all processors and then takes the pins of those that are idle still:
// `docs/protocols.md`, Reader slots.
extension ReaderSlots {
  /// Unpins that a process pays in full before it registers for barriers: one that reads now and then never does.
  static let strictUnpins: UInt64 = 1_000

  package var mayLinger: Bool { lingers.pointee.load(ordering: .acquiring) != 0 }

  /// Lets the version go: the pin lingers where this process can be asked for it, unless it holds later versions too.
  @inlinable @inline(__always)
  package func unpin(_ slot: Int) {
    let place = address(slot)
    if lingers.pointee.load(ordering: .relaxed) != 0, lock.word(place &+ 8) & 1 == 0 {
      lock.storeRelease(place &+ 40, 1)
    } else {
      lock.storeRelease(place &+ 8, 0)
      countStrict()
    }
  }

  @inlinable @inline(__always)
  func countStrict() {
    let count = strict.pointee.load(ordering: .relaxed) &+ 1
    strict.pointee.store(count, ordering: .relaxed)
    if count == ReaderSlots.strictUnpins { register() }
  }

  /// On a thread of its own: the kernel may take some ten milliseconds where a process has several already.
  @usableFromInline @inline(never)
  package func register() {
    if AsymmetricFence.registersAtOnce {
      if AsymmetricFence.register() { lingers.pointee.store(1, ordering: .releasing) }
      return
    }
    let thread = try? SystemThread(name: "reef-register") { [self] in
      if AsymmetricFence.register() { lingers.pointee.store(1, ordering: .releasing) }
    }
    thread?.detach()
  }

  /// Takes away idle pins of older versions. Under the writer word. False: there was none, or no barrier.
  ///
  /// A reader says that it is not idle, and then looks whether the newest version is still the one that it has pinned. After
  /// the barrier either the first is seen here, or the reader finds the version of now, and pins that one.
  package func takeLingering() -> Bool {
    let newest = visible.pointee.load(ordering: .sequentiallyConsistent) >> 1
    guard anyLingers(before: newest), AsymmetricFence.heavy() else { return false }
    FaultPoint.step("slot.barrier")
    let count = min(Int(truncatingIfNeeded: inUse.pointee.load(ordering: .sequentiallyConsistent)), 1024)
    var taken = false
    for slot in 0..<count {
      let place = address(slot)
      let pin = lock.loadAcquire(place + LockLayout.ReaderSlot.pin)
      guard isOld(pin, newest),
        lock.loadAcquire(place + LockLayout.ReaderSlot.idle) != 0 || Mutant.lives(.lingeringTakesBusy)
      else { continue }
      // Its owner may be pinning a newer version just now: then that one stays.
      if lock.compareExchange(place + LockLayout.ReaderSlot.pin, pin, 0) { taken = true }
    }
    return taken
  }

  private func anyLingers(before newest: UInt64) -> Bool {
    let count = min(Int(truncatingIfNeeded: inUse.pointee.load(ordering: .sequentiallyConsistent)), 1024)
    for slot in 0..<count {
      let place = address(slot)
      if isOld(lock.word(place + LockLayout.ReaderSlot.pin), newest),
        lock.word(place + LockLayout.ReaderSlot.idle) != 0
      {
        return true
      }
    }
    return false
  }

  private func isOld(_ pin: UInt64, _ newest: UInt64) -> Bool { pin != 0 && pin & 1 == 0 && pin >> 1 < newest }
}

/// What a scoped read goes by: addresses alone, so that it passes no references. Valid for as long as the session is mapped.
@usableFromInline package struct ScopeWords: @unchecked Sendable {
  @usableFromInline let usable: UnsafeMutablePointer<Atomic<UInt64>>
  @usableFromInline let visible: UnsafeMutablePointer<Atomic<UInt64>>
  @usableFromInline let poisoned: UnsafeMutablePointer<Atomic<UInt64>>
  @usableFromInline let lingers: UnsafeMutablePointer<Atomic<UInt64>>
  @usableFromInline let slots: UnsafeMutableRawPointer
  @usableFromInline let spare: UnsafeMutablePointer<UInt64>
  @usableFromInline let token: UInt64

  /// `keeps`: whether slots go from one read to the next past the engine.
  package init(_ session: Session, keeps: Bool = true) {
    usable = session.usable
    visible = session.slots.visible
    poisoned = session.lock.atomic(LockLayout.Control.poisoned)
    lingers = session.slots.lingers
    slots = session.lock.base + LockLayout.ReaderSlot.table
    spare = UnsafeMutableRawPointer(session.slots.spare).assumingMemoryBound(to: UInt64.self)
    token = keeps ? session.slots.token : 0
  }

  @inlinable @inline(__always)
  func word(_ slot: Int, _ offset: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
    (slots + (slot &* 64 &+ offset)).assumingMemoryBound(to: Atomic<UInt64>.self)
  }

  /// The slot that this thread keeps; −1: none, or the session is of no use.
  @inlinable @inline(__always)
  package func take() -> Int { usable.pointee.load(ordering: .relaxed) == 1 ? SlotCache.take(token) : -1 }

  /// Whether a claimed slot has `version` pinned since it was used last, and that is the newest: then it is in use again.
  @inlinable @inline(__always)
  package func resume(_ slot: Int, _ version: UInt64) -> Bool {
    word(slot, 40).pointee.store(0, ordering: .relaxed)
    AsymmetricFence.light()
    return visible.pointee.load(ordering: .acquiring) >> 1 == version
      && word(slot, 8).pointee.load(ordering: .acquiring) == version << 1 && version != 0
      && poisoned.pointee.load(ordering: .relaxed) == 0
  }

  /// Ends a read: the pin lingers, and the thread keeps the slot. False: that takes the long way.
  @inlinable @inline(__always)
  package func linger(_ slot: Int) -> Bool {
    if usable.pointee.load(ordering: .relaxed) == 0 || lingers.pointee.load(ordering: .relaxed) == 0 || token == 0 {
      return false
    }
    word(slot, 40).pointee.store(1, ordering: .releasing)
    return SlotCache.keep(token, spare, slot)
  }
}

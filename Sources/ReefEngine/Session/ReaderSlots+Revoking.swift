import ReefSystem

// Versions that may be taken away. A reader that admits it says so in its slot before it pins, copies each node out of the
// file, and looks at its pin again before it uses the copy: `docs/protocols.md`, Revocation.
extension ReaderSlots {
  package enum Revocation {
    /// The pin is as good as any.
    package static var refused: UInt64 { 0 }
    package static var admitted: UInt64 { 1 }
    /// Set before the pin is taken. Until its owner clears it, it may still load from what it saw: nothing is punched.
    package static var done: UInt64 { 2 }
  }

  private func word(_ slot: Int) -> Int { address(slot) + LockLayout.ReaderSlot.revocation }

  /// Before a version is pinned in a slot of this process.
  func admitRevocation(_ slot: Int) { lock.storeRelease(word(slot), Revocation.admitted) }

  /// Once nothing is read by the slot's pin any more.
  func clearRevocation(_ slot: Int) { lock.storeRelease(word(slot), Revocation.refused) }

  /// Takes the pin away that a slot has. Under the writer word. False: its owner does not admit it, or has moved on.
  package func revoke(_ slot: Int, pin: UInt64) -> Bool {
    // `done` already: a writer died between the two.
    guard
      lock.compareExchange(word(slot), Revocation.admitted, Revocation.done)
        || lock.loadAcquire(word(slot)) == Revocation.done
    else { return false }
    FaultPoint.step("slot.revoking")
    if lock.compareExchange(address(slot) + LockLayout.ReaderSlot.pin, pin, 0) {
      FaultPoint.step("slot.revoked")
      return true
    }
    _ = lock.compareExchange(word(slot), Revocation.done, Revocation.admitted)
    return false
  }

  /// Whether somebody whose version was taken away may still be looking at it.
  package var anyoneIsRevoked: Bool {
    let count = min(Int(truncatingIfNeeded: lock.word(LockLayout.Control.slotsInUse)), LockLayout.maximumSlots)
    for slot in 0..<count where lock.loadAcquire(word(slot)) == Revocation.done { return true }
    return false
  }
}

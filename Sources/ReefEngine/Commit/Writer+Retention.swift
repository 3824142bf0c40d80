import ReefSystem

/// Limits on what readers keep alive: looked at when a transaction begins, under the writer word.
///
/// The invariant: nothing that a reader may use is ever overwritten. A version is taken away by a compare-and-swap on its
/// pin; what it alone saw is used again only after that.
extension Writer {
  /// A reader that holds more than it may.
  private struct Offender {
    let slot: Int
    let pin: UInt64
    let limit: String
  }

  /// Throws `retentionLimit` where somebody holds more than the limits allow and cannot be made to let go.
  @inline(never)
  func enforce(_ retention: Retention) throws(StoreError) {
    guard mayExceed(retention) else { return }
    // Whoever is dead, or only lingers, lets go first.
    session.freeDeadSlots()
    _ = session.slots.takeLingering()
    if retention.bytes != nil { state.pointee.space.reclaim(&state.pointee.reclaimer) }
    var rounds = LockLayout.maximumSlots
    while let offender = offender(retention), rounds > 0 {
      rounds -= 1
      guard retention.policy == .revoke, session.slots.revoke(offender.slot, pin: offender.pin) else {
        // Its owner may have let go of it meanwhile.
        if session.slots.pinWord(offender.slot) != offender.pin { continue }
        throw .retentionLimit(path: session.path, holder: holder(offender.slot), limit: offender.limit)
      }
      lock.set(LockLayout.Statistics.revocations, lock.word(LockLayout.Statistics.revocations) &+ 1)
      state.pointee.space.reclaim(&state.pointee.reclaimer)
    }
    state.pointee.lookedAt = lock.word(LockLayout.Control.visible) >> 1
    state.pointee.lookedAtTime = retention.age == nil ? 0 : Clock.recently
  }

  /// Cheap: what was pinned when this last looked, or later, cannot be too old yet.
  private func mayExceed(_ retention: Retention) -> Bool {
    if let bytes = retention.bytes, lock.word(LockLayout.Control.waitingBytes) > bytes { return true }
    let newest = lock.word(LockLayout.Control.visible) >> 1
    let oldest = min(state.pointee.reclaimer.oldest, state.pointee.lookedAt)
    if let versions = retention.versions, newest &- oldest > versions { return true }
    if let age = retention.age, oldest < newest, Clock.recently &- state.pointee.lookedAtTime > age / 8 { return true }
    return false
  }

  private func offender(_ retention: Retention) -> Offender? {
    let newest = lock.word(LockLayout.Control.visible) >> 1
    var oldest: (slot: Int, pin: UInt64)?
    var last: UInt64 = .max
    session.slots.forEachPin { slot, version, following in
      guard version < newest, version < last else { return }
      last = version
      oldest = (slot, version << 1 | (following ? 1 : 0))
    }
    state.pointee.reclaimer.oldest = min(last, newest)
    guard let oldest else { return nil }
    let version = oldest.pin >> 1
    if let versions = retention.versions, newest - version > versions {
      return Offender(slot: oldest.slot, pin: oldest.pin, limit: "\(versions) versions")
    }
    if let age = retention.age, let since = PeerListing(slots: session.slots).nanoseconds(since: version),
      Clock.realtime > since, Clock.realtime - since > age
    {
      return Offender(
        slot: oldest.slot, pin: oldest.pin, limit: "\(Double(age / 1_000_000) / 1000) seconds")
    }
    if let bytes = retention.bytes, lock.word(LockLayout.Control.waitingBytes) > bytes {
      return Offender(slot: oldest.slot, pin: oldest.pin, limit: "\(bytes) bytes")
    }
    return nil
  }

  private func holder(_ slot: Int) -> PeerInfo? {
    let listing = PeerListing(slots: session.slots)
    let index = ReaderSlots.ownerOf(session.slots.owner(slot)).index
    return listing.all().first { $0.index == index }
  }
}

import ReefEngine
import Synchronization

/// The owners that `Store.read` lends out, one for each reader slot that was used so: whoever has claimed the slot has the
/// owner. So a scope allocates nothing, and one that finds the version of the last one in the same slot stores next to
/// nothing: the pin lingers from one to the next.
final class ReadScopes: @unchecked Sendable {
  fileprivate let owners: UnsafeMutablePointer<PinnedOwner?>
  fileprivate let words: ScopeWords

  init(_ types: StoredTypes) {
    words = types.words
    owners = .allocate(capacity: LockLayout.maximumSlots)
    owners.initialize(repeating: nil, count: LockLayout.maximumSlots)
  }

  deinit {
    owners.deinitialize(count: LockLayout.maximumSlots)
    owners.deallocate()
  }

  /// The owner of a slot, which must be there.
  @inline(__always)
  fileprivate func lent(_ slot: Int) -> Unmanaged<PinnedOwner>? {
    UnsafeMutableRawPointer(owners + slot).load(as: UnsafeRawPointer?.self).map { .fromOpaque($0) }
  }
}

extension Store {
  @usableFromInline func openScope() throws(StoreError) -> Unmanaged<SnapshotOwner> {
    let slot = scopes.words.take()
    if slot >= 0, let scope = scopes.lent(slot) {
      let resumed = scope._withUnsafeGuaranteedRef { owner -> Bool in
        // No limit: the version is read with checksums, until it is proven, and then by another view.
        guard owner.view.limit != 0, scopes.words.resume(slot, owner.view.version) else { return false }
        owner.slot = slot
        return true
      }
      if resumed { return Unmanaged<SnapshotOwner>.fromOpaque(scope.toOpaque()) }
    }
    return try openScope(slot)
  }

  /// The long way: nothing claimed yet where `kept` is −1, another version pinned, or nothing.
  @inline(never)
  private func openScope(_ kept: Int) throws(StoreError) -> Unmanaged<SnapshotOwner> {
    let slot = kept >= 0 ? kept : try engine.claimSlot()
    if scopes.lent(slot) == nil { scopes.owners[slot] = .idle(of: types) }
    let place = UnsafeMutableRawPointer(scopes.owners + slot)
    let scope = Unmanaged<PinnedOwner>.fromOpaque(place.load(as: UnsafeRawPointer.self))
    let failure = scope._withUnsafeGuaranteedRef { owner -> StoreError? in
      do throws(StoreError) {
        try engine.pinNewest(slot, &owner.view)
        owner.forget()
        owner.slot = slot
        return nil
      } catch {
        return error
      }
    }
    if let failure { throw failure }
    return Unmanaged<SnapshotOwner>.fromOpaque(scope.toOpaque())
  }

  /// What `body` made of a version that was taken away meanwhile is not handed out.
  @inline(never) @usableFromInline func checkScope(_ scope: Unmanaged<SnapshotOwner>) throws(StoreError) {
    if let revoked = scope._withUnsafeGuaranteedRef({ $0.view.revoked }) { throw revoked }
  }

  @usableFromInline func closeScope(_ scope: Unmanaged<SnapshotOwner>) {
    let owner = Unmanaged<PinnedOwner>.fromOpaque(scope.toOpaque())
    let slot = owner._withUnsafeGuaranteedRef { $0.slot }
    guard isKnownUniquelyReferenced(&scopes.owners[slot]) else {
      // Something read in the scope was kept, and keeps the pin: it goes with that.
      scopes.owners[slot] = nil
      return
    }
    // Pairs with the release of whoever let go of it last.
    atomicMemoryFence(ordering: .acquiring)
    owner._withUnsafeGuaranteedRef { owner in
      owner.slot = -1
      owner.forgetDamage()
    }
    if !scopes.words.linger(slot) { engine.closeSlot(slot) }
  }
}

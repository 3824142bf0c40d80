import CReefSystem

/// One reader slot that a thread keeps for a store, so that opening a snapshot costs no atomic exchange. A thread that
/// ends gives it back; one that cannot costs its process a slot, nobody else anything.
@usableFromInline package enum SlotCache {
  /// A slot this thread keeps for `token`, or −1.
  @inlinable @inline(__always)
  package static func take(_ token: UInt64) -> Int { Int(reef_slot_take(token)) }

  /// Keeps `slot` for this thread. False: it keeps one already.
  @inlinable @inline(__always)
  package static func keep(_ token: UInt64, _ map: UnsafeMutablePointer<UInt64>, _ slot: Int) -> Bool {
    reef_slot_keep(token, map, Int64(slot))
  }

  /// A token no other open store of this process uses, live until `retire`; 0 when there are too many stores.
  package static func makeToken() -> UInt64 {
    ForkGuard.excludingFork {
      for _ in 0..<256 {
        nextToken += 1
        if reef_slot_token_live(nextToken, true) { return nextToken }
      }
      return 0
    }
  }

  /// After this no ending thread touches the token's map.
  package static func retire(_ token: UInt64) {
    ForkGuard.excludingFork { _ = reef_slot_token_live(token, false) }
  }

  /// Guarded by the fork lock.
  nonisolated(unsafe) private static var nextToken: UInt64 = 0
}

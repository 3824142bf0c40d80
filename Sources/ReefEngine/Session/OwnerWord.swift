/// How a word names its owner: index in the low 16 bits, generation in the next 31, what it means above.
package enum OwnerWord {
  package enum Kind: UInt64 {
    case own = 1
    case offer = 2
  }

  package static func encode(_ kind: Kind, _ peer: PeerIdentity) -> UInt64 {
    kind.rawValue << 48 | UInt64(peer.generation) << 16 | UInt64(peer.index)
  }

  /// Nil for a free word.
  package static func owner(_ word: UInt64) -> PeerIdentity? {
    guard word != 0 else { return nil }
    return PeerIdentity(index: Int(word & 0xffff), generation: UInt32(word >> 16 & 0x7fff_ffff))
  }

  package static func isOffer(_ word: UInt64) -> Bool { word >> 48 == Kind.offer.rawValue }
}

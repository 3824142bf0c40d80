import ReefSystem

/// Who is here and which versions they hold: for people, and for errors that name the holder.
struct PeerListing {
  private let slots: ReaderSlots
  private var lock: LockMemory { slots.lock }
  private var peers: PeerTable { slots.peers }

  init(slots: ReaderSlots) { self.slots = slots }

  /// Everyone that has the store open.
  func all() -> [PeerInfo] {
    let held = heldVersions()
    let writer = OwnerWord.owner(lock.word(LockLayout.Control.writerWord))
    var list: [PeerInfo] = []
    for index in 0..<LockLayout.maximumPeers where peers.isTaken(index, me: slots.me) {
      list.append(info(index, held[index] ?? [], writer))
    }
    return list
  }

  /// Everyone that owns a reader slot.
  func holders() -> [PeerInfo] {
    let owners = Set((0..<LockLayout.maximumSlots).map { slots.owner($0) }.filter { $0 != 0 })
    let indexes = Set(owners.map { ReaderSlots.ownerOf($0).index })
    return all().filter { indexes.contains($0.index) }
  }

  private func info(_ index: Int, _ held: [PeerInfo.HeldVersion], _ writer: PeerIdentity?) -> PeerInfo {
    let writing = writer?.index == index && !OwnerWord.isOffer(lock.word(LockLayout.Control.writerWord))
    return PeerInfo(
      index: index, name: peers.name(index), process: peers.process(index), joined: peers.joined(index),
      isSelf: index == slots.me.index, isWriting: writing, held: held.sorted { $0.version < $1.version })
  }

  private func heldVersions() -> [Int: [PeerInfo.HeldVersion]] {
    var held: [Int: [PeerInfo.HeldVersion]] = [:]
    for slot in 0..<LockLayout.maximumSlots {
      let owner = slots.owner(slot)
      let pin = slots.pinWord(slot)
      guard owner != 0, pin != 0, !slots.isIdle(slot) else { continue }
      let version = PeerInfo.HeldVersion(version: pin >> 1, holdsLater: pin & 1 != 0, since: since(pin >> 1))
      held[ReaderSlots.ownerOf(owner).index, default: []].append(version)
    }
    return held
  }

  /// When the version after `version` was made: since then holding it costs space. The ring remembers the last 2,048; of an
  /// older one it is known that it is held at least since the oldest of those.
  private func since(_ version: UInt64) -> Double? { nanoseconds(since: version).map { Double($0) / 1e9 } }

  /// The same in nanoseconds since 1970.
  func nanoseconds(since version: UInt64) -> UInt64? {
    let newest = lock.loadAcquire(LockLayout.Control.visible) >> 1
    guard version < newest else { return nil }
    let oldest = newest >= UInt64(LockLayout.ringSize) ? newest - UInt64(LockLayout.ringSize) + 2 : 1
    let entry =
      LockLayout.RingEntry.table
      + Int(max(version + 1, oldest) % UInt64(LockLayout.ringSize)) * LockLayout.RingEntry.size
    let time = lock.word(entry + LockLayout.RingEntry.time)
    return time == 0 ? nil : time
  }
}

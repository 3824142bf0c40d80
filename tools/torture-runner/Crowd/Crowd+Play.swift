import CStepper
import Foundation
import ReefEngine
import ReefSystem

extension Crowd {
  static let rows: Int64 = 8

  func open(_ name: String = "one of many") throws -> Engine {
    var options = Session.Options(
      location: scenario == .memory ? .memory("torture-\(getppid())") : .file(path))
    options.peerName = name
    options.openTimeout = .seconds(120)
    options.reserve = 1 << 28
    return try Engine.open(EngineConfiguration(session: options, durability: .memory), Schema([Tenant.type]))
  }

  private func commit(_ engine: Engine) throws -> Int64 {
    let transaction = try engine.write(.after(.seconds(120)))
    do {
      let value = try Tenant.advance(transaction)
      _ = try transaction.commit()
      return value
    } catch {
      transaction.rollback()
      throw error
    }
  }

  private func read(_ engine: Engine) throws -> Int64 {
    let pin = try engine.pin()
    return try Tenant.value(pin.view)
  }

  private static func isFull(_ error: StoreError) -> Bool {
    error == .peersFull(limit: LockLayout.maximumPeers) && "\(error)".contains("\(LockLayout.maximumPeers)")
  }

  /// Opened; where all places are taken, later.
  private func openPatiently(_ wasRefused: inout Bool) throws -> Engine {
    while true {
      do {
        return try open()
      } catch let error as StoreError where Crowd.isFull(error) {
        wasRefused = true
        usleep(UInt32.random(in: 1000...20_000))
      }
    }
  }

  mutating func play() throws {
    switch scenario {
    case .passing, .guests, .memory: try playPassing()
    case .peers: try playPeers()
    case .slots: try playSlots()
    case .ring: try playRing()
    }
    if scenario != .memory { try examine() }
  }

  /// Afterwards one comes that is alone: nothing of the others is there but their commits.
  private mutating func examine() throws {
    let (crowd, expected) = (self, Int64(board[.acknowledged]))
    let process = try start {
      let engine = try crowd.open("examiner")
      defer { engine.close() }
      let peers = try engine.session.peers()
      guard peers.count == 1, peers[0].isSelf else { throw TortureError("still there: \(peers)") }
      let value = try crowd.read(engine)
      guard value == expected else { throw TortureError("\(value) commits of \(expected)") }
      _ = try crowd.commit(engine)
      let own = UInt64(engine.session.identity.index + 1)
      for slot in 0..<LockLayout.maximumSlots {
        let owner = engine.session.lock.word(LockLayout.ReaderSlot.table + slot * LockLayout.ReaderSlot.size)
        guard owner == 0 || owner & 0xffff == own else { throw TortureError("slot \(slot) is somebody's") }
      }
      let transaction = try engine.write(.after(.seconds(20)))
      defer { transaction.rollback() }
      let report = try transaction.spaceReport()
      if report.liveWithoutBit + report.waitingTwice + report.liveAndFree + report.damaged != 0 {
        throw TortureError("\(report)")
      }
    }
    end(process)
  }

  /// All come at once, write, and go; three times.
  private mutating func playPassing() throws {
    let (crowd, board) = (self, board)
    if scenario == .guests {
      let host = try start {
        let engine = try crowd.open("host")
        board.arrive(2)
        engine.close()
      }
      _ = host
      try gather(1)
    }
    for _ in 0..<size {
      try start {
        var wasRefused = false
        board.arrive(1)
        for _ in 0..<3 {
          let engine = try crowd.openPatiently(&wasRefused)
          _ = try crowd.commit(engine)
          board.add(.acknowledged)
          _ = try crowd.read(engine)
          engine.close()
        }
        board.add(.done)
        if wasRefused { stepper_exit(Crowd.refused) }
      }
    }
    try gather(size)
    board.advance(to: 1)
    if scenario == .guests {
      while board[.done] < UInt64(size), board.problem.isEmpty { usleep(1000) }
      board.advance(to: 2)
    }
    end()
    if scenario == .memory {
      let left = try FileManager.default.contentsOfDirectory(atPath: "/dev/shm").filter {
        $0.contains("-torture-\(getpid()).reef")
      }
      demand(left.isEmpty, "left behind: \(left)")
    }
  }

  /// All stay: as many get a place as there are, and each of the others is told why not.
  private mutating func playPeers() throws {
    let (crowd, board) = (self, board)
    let size = max(size, LockLayout.maximumPeers + 24)
    var members: [Int32] = []
    for _ in 0..<size {
      members.append(
        try start {
          board.arrive(1)
          do {
            let engine = try crowd.open()
            board.add(.done)
            board.arrive(2)
            engine.close()
          } catch let error as StoreError where Crowd.isFull(error) {
            board.add(.refused)
            board.arrive(2)
            stepper_exit(Crowd.refused)
          }
        })
    }
    try gather(size)
    board.advance(to: 1)
    try gather(size)
    let (opened, refused) = (Int(board[.done]), Int(board[.refused]))
    demand(opened == LockLayout.maximumPeers, "\(opened) got a place, \(refused) were refused")
    // Nobody can come, and nobody who is there minds.
    let late = try start {
      do { _ = try crowd.open() } catch let error as StoreError where Crowd.isFull(error) {
        stepper_exit(Crowd.refused)
      }
      throw TortureError("opened, beyond the limit")
    }
    end(late)
    // A death makes room at once.
    while let victim = members.popLast() {
      kill(victim)
      board[.done] = 0
      let heir = try start {
        do {
          let engine = try crowd.open("heir")
          _ = try crowd.commit(engine)
          board.add(.acknowledged)
          board[.done] = 1
          engine.close()
        } catch let error as StoreError where Crowd.isFull(error) { stepper_exit(Crowd.refused) }
      }
      end(heir)
      // The one that died may have been one of those that had no place.
      if board[.done] == 1 { break }
    }
    demand(board[.done] == 1, "no death made room")
    board.advance(to: 2)
    end()
  }

  /// Slots of this process until there are no more: whoever wants to read is told who has them.
  private func exhaust(_ engine: Engine) throws -> [Int] {
    var slots: [Int] = []
    while slots.count < LockLayout.maximumSlots / 4 {
      do { slots.append(try engine.claimSlot()) } catch {
        guard case .slotsFull(let who) = error else { throw error }
        let names = Set(who.map(\.name))
        guard (0..<4).allSatisfy({ names.contains("holder \($0)") }) else { throw error }
        break
      }
    }
    return slots
  }

  /// Four hold all slots but the ones that each of the others has: these write and read on, and get no more.
  private mutating func playSlots() throws {
    let (crowd, board) = (self, board)
    let many = min(size, 200)
    for _ in 0..<many {
      try start {
        let engine = try crowd.open()
        // From here on it has a slot.
        _ = try crowd.read(engine)
        board.arrive(2)
        let slots = try crowd.exhaust(engine)
        guard 1..<5 ~= slots.count else { throw TortureError("\(slots.count) slots, who had one") }
        for slot in slots { engine.closeSlot(slot) }
        let value = try crowd.commit(engine)
        board.add(.acknowledged)
        guard try crowd.read(engine) >= value else { throw TortureError("an older version") }
        board.arrive(3)
        // One of the four is dead.
        let more = try (0..<2).map { _ in try engine.claimSlot() }
        for slot in more { engine.closeSlot(slot) }
        engine.close()
        stepper_exit(Crowd.refused)
      }
    }
    try gather(many)
    var holders: [Int32] = []
    for holder in 0..<4 {
      holders.append(
        try start {
          let engine = try crowd.open("holder \(holder)")
          board.arrive(1)
          var slots: [Int] = []
          while slots.count < LockLayout.maximumSlots / 4 {
            do {
              slots.append(try engine.claimSlot())
              _ = engine.session.pinNewest(slots[slots.count - 1])
            } catch StoreError.slotsFull { break }
          }
          board.arrive(3)
          for slot in slots { engine.closeSlot(slot) }
          engine.close()
        })
    }
    try gather(4)
    board.advance(to: 1)
    try gather(4)
    board.advance(to: 2)
    try gather(many)
    let late = try start {
      do {
        _ = try crowd.open()
      } catch StoreError.slotsFull { stepper_exit(Crowd.refused) }
      throw TortureError("opened, with no slot left")
    }
    end(late)
    kill(holders.removeFirst())
    board.advance(to: 3)
    end()
  }

  /// The ring remembers 2,048 versions: who holds an older one keeps it, who follows finds the gap.
  private mutating func playRing() throws {
    let (crowd, board) = (self, board)
    let readers = min(max(2, size / 20), 40)
    let first = try start {
      let engine = try crowd.open()
      _ = try crowd.commit(engine)
      board.add(.acknowledged)
      engine.close()
    }
    end(first)
    for reader in 0..<readers {
      try start {
        let engine = try crowd.open("slow \(reader)")
        let slot = try engine.claimSlot()
        let follows = reader % 2 == 0
        let pinned = follows ? engine.session.pinFollowing(slot) : engine.session.pinNewest(slot)
        let view = engine.view(of: pinned)
        let before = try Tenant.value(view)
        board.arrive(1)
        guard try Tenant.value(view) == before else { throw TortureError("a held version has changed") }
        if follows, engine.followed(pinned.version + 1) != nil { throw TortureError("a version that is forgotten") }
        guard let newest = engine.followed(engine.newestVersion), try Tenant.value(newest) > before + 4000 else {
          throw TortureError("the newest version is not there")
        }
        if follows { engine.session.slots.follow(from: engine.newestVersion, in: slot) }
        engine.closeSlot(slot)
        guard try crowd.read(engine) > before + 4000 else { throw TortureError("an old version") }
        engine.close()
      }
    }
    try gather(readers)
    let writer = try start {
      let engine = try crowd.open("writer")
      for _ in 0..<LockLayout.ringSize * 2 + 100 {
        _ = try crowd.commit(engine)
        board.add(.acknowledged)
      }
      engine.close()
    }
    end(writer)
    board.advance(to: 1)
    end()
  }
}

extension Engine {
  /// What a slot's pin shows.
  fileprivate func view(of pinned: (version: UInt64, root: UInt64, extents: UInt64)) -> ReadView {
    ReadView(
      base: UnsafeRawPointer(session.data.base), limit: pinned.extents << UInt64(DataLayout.extentShift),
      root: pinned.root, version: pinned.version)
  }
}

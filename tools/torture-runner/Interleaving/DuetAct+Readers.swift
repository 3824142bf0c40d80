import CStepper
import Foundation
import ReefEngine
import ReefSystem

extension DuetAct {
  /// Pins the newest version twice, and holds the second to the end.
  static let read = DuetAct("pin") { player in
    let engine = try player.opened()
    var held: [Player.Held] = []
    return Played {
      let first = try player.read(engine)
      turns_point()
      try player.again(first)
      engine.closeSlot(first.slot)
      held.append(try player.read(engine))
    } after: {
      for one in held { try player.again(one) }
      for one in held { engine.closeSlot(one.slot) }
    }
  }

  /// The same with pins that linger: one that is idle for good, and one that is used again and again.
  static let linger = DuetAct("linger") { player in
    let engine = try player.opened()
    let session = engine.session
    session.slots.register()
    let began = Board.now
    while !session.slots.mayLinger {
      if Board.now - began > 5_000_000_000 { throw TortureError("the kernel has no barriers") }
      usleep(100)
    }
    let slots = [try engine.claimSlot(), try engine.claimSlot()]
    for slot in slots {
      _ = try player.read(engine, slot)
      session.unpin(slot)
    }
    var held: Player.Held?
    return Played {
      for round in 0..<3 {
        let now = try player.read(engine, slots[1])
        turns_point()
        try player.again(now)
        if round < 2 { session.unpin(slots[1]) } else { held = now }
      }
    } after: {
      if let held { try player.again(held) }
      for slot in slots { engine.closeSlot(slot) }
    }
  }

  /// Visits each version from one on.
  static let follow = DuetAct("follow") { player in
    let engine = try player.opened()
    return Played {
      let pin = try engine.pinFollowing()
      try player.check(engine, pin.view, since: 0)
      var next = pin.version + 1
      for _ in 0..<4 {
        turns_point()
        if engine.newestVersion < next { continue }
        guard let view = engine.followed(next) else { throw TortureError("version \(next) is held, and gone") }
        try player.check(engine, view, since: 0)
        let digest = try Player.digest(view)
        engine.session.slots.follow(from: next, in: pin.slot)
        turns_point()
        try Player.demand(try Player.digest(view) == digest, "version \(next) changed while it was followed")
        next += 1
      }
    }
  }

  /// Reads a version that may be taken away: all of it, as it was, or the error that says so.
  static let revocable = DuetAct("revocable") { player in
    let engine = try player.opened()
    // Between its looks at the pin it loads from the data file only: each named step is a point as well.
    FaultPoint.install(steps: { _ in turns_point() })
    return Played {
      for _ in 0..<2 {
        let slot = try engine.claimSlot()
        var view = ReadView(base: engine.session.data.base, limit: 0, root: 0, version: 0)
        try engine.pinNewest(slot, &view)
        do {
          // One row first: nothing asks once more for the pin after its last copy.
          if let row = try view.table(0).find(key: 3) {
            let value = try row.leaf.column(1).int(row.row)
            try Player.demand(value == player.board.expected(view.version), "a row of \(view.version) says \(value)")
          }
          try player.check(engine, view, since: 0)
          let digest = try Player.digest(view)
          turns_point()
          try Player.demand(try Player.digest(view) == digest, "version \(view.version) changed while held")
        } catch StoreError.snapshotRevoked {}
        engine.closeSlot(slot)
      }
    }
  }

  /// Takes three slots, of which the process has one; first those of the dead, `frees`.
  static func claim(frees: Bool) -> DuetAct {
    DuetAct(frees ? "free the dead" : "claim") { player in
      let engine = try player.opened()
      var held: [Player.Held] = []
      return Played {
        if frees { engine.session.freeDeadSlots() }
        for _ in 0..<3 { held.append(try player.read(engine)) }
      } after: {
        try Player.demand(Set(held.map(\.slot)).count == 3, "a slot was given away twice in one process")
        for one in held {
          try player.again(one)
          let owner = engine.session.lock.loadAcquire(
            LockLayout.ReaderSlot.table + one.slot * LockLayout.ReaderSlot.size + LockLayout.ReaderSlot.owner)
          try Player.demand(
            Int(owner & 0xffff) == engine.session.peer + 1, "slot \(one.slot) has an owner that is not its user")
        }
        for one in held { engine.closeSlot(one.slot) }
      }
    }
  }

  /// Sleeps until there is a newer version.
  static let wait = DuetAct("wait") { player in
    let engine = try player.opened()
    let seen = engine.newestVersion
    return Played {
      let version = try engine.session.wait(after: seen, deadline: .after(.seconds(15)), spin: .zero)
      try Player.demand(version > seen, "woken for version \(version) after \(seen)")
      if turns_timed_out(player.board.turns, Int32(player.number)) > 0 { player.board[.unwoken] += 1 }
      try Player.demand(try player.read(engine).view.version >= version, "told of a version that is not there")
    }
  }

  /// Waits as an event loop does. The timer must not be what tells: once a commit has returned, the descriptor knows.
  static let listen = DuetAct("listen") { player in
    let engine = try player.opened()
    let seen = engine.newestVersion
    return Played {
      var wanted = pollfd(fd: try engine.session.noticeDescriptor, events: Int16(POLLIN), revents: 0)
      turns_point()
      if engine.newestVersion > seen { return }
      while true {
        let isOver = player.board[.commits] > 0
        if poll(&wanted, 1, 0) == 1 { break }
        try Player.demand(!isOver, "a commit has returned, and the descriptor does not know of it")
        Clock.sleep(microseconds: 200)
      }
    }
  }
}

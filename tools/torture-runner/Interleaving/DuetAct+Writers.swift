import CStepper
import Foundation
import ReefEngine
import ReefSystem

extension DuetAct {
  /// So many commits, each of which replaces `churn` rows of ballast as well: enough for passes that free what is unseen.
  static func commit(_ times: Int = 1, churn: Int = 0) -> DuetAct {
    DuetAct(churn > 0 ? "churn" : times == 1 ? "commit" : "\(times) commits") { player in
      let engine = try player.opened()
      if churn > 0 { try player.ripen(engine, churn: churn) }
      return Played { for _ in 0..<times { try player.commit(engine, churn: churn) } }
    }
  }

  /// As many commits as the ring of versions has places, without a turn in between, and a few more.
  static let wrap = DuetAct("wrap") { player in
    let engine = try player.opened()
    return Played {
      turns_skip(true)
      for _ in 0..<LockLayout.ringSize - 2 { try player.commit(engine) }
      turns_skip(false)
      for _ in 0..<3 { try player.commit(engine) }
    }
  }

  /// Changes all there is, takes it back, and looks what there is then: not less than it has seen.
  static let rollback = DuetAct("roll back") { player in
    let engine = try player.opened()
    return Played {
      let transaction = try engine.write(.after(.seconds(10)))
      let base = transaction.version - 1
      try player.change(transaction, 1_000_000, 40)
      transaction.rollback()
      let held = try player.read(engine)
      try Player.demand(held.view.version >= base, "\(held.view.version) after a transaction on \(base)")
      engine.closeSlot(held.slot)
    }
  }

  /// Reads, in the midst of a large transaction, what everybody can see.
  static let peek = DuetAct("peek") { player in
    let engine = try player.opened()
    return Played {
      try player.commit(engine, churn: 60) { _ in
        let held = try player.read(engine)
        turns_point()
        try player.again(held)
        engine.closeSlot(held.slot)
      }
    }
  }

  /// Gets everything onto the disk.
  static let checkpoint = DuetAct("checkpoint") { player in
    let engine = try player.opened()
    try player.commit(engine)
    return Played {
      try engine.checkpoint.confirm(engine.newestVersion)
      let synced = engine.session.lock.loadAcquire(LockLayout.Control.synced)
      try Player.demand(synced >= player.board[.baseVersion] + 1, "\(synced) is on disk")
    }
  }

  // MARK: Sessions

  /// Opens, reads and commits; `peers`: how many have it open then. A store that is not there is made.
  static func open(peers: Int) -> DuetAct {
    DuetAct("open") { player in
      var engine: Engine?
      var held: Player.Held?
      return Played {
        let opened = try player.open()
        engine = opened
        let transaction = try opened.write(.after(.seconds(10)))
        let found = try Victim.values(transaction.readView)
        if found.isEmpty {
          try Player.demand(player.board[.baseVersion] == 0 || player.isInMemory, "a store that was there is empty")
          try StepStore.fill(transaction)
          player.board.committed(try transaction.commit())
        } else {
          transaction.rollback()
          try player.commit(opened)
        }
        held = try player.read(opened)
      } after: {
        guard let engine, let held else { throw TortureError("it did not open") }
        let found = try engine.session.peers().count
        try Player.demand(found == peers, "\(found) have the store open, not \(peers)")
        try player.again(held)
        engine.closeSlot(held.slot)
        if player.isInMemory { engine.close() }
      }
    }
  }

  /// Commits and leaves; a store in memory is made for it.
  static let leave = DuetAct("leave") { player in
    let engine: Engine
    if player.isInMemory {
      engine = try player.open()
      let transaction = try engine.write(.after(.seconds(10)))
      if try Victim.values(transaction.readView).isEmpty {
        try StepStore.fill(transaction)
        _ = try transaction.commit()
      } else {
        transaction.rollback()
      }
    } else {
      engine = try player.opened()
    }
    return Played {
      try player.commit(engine)
      engine.close()
    }
  }
}

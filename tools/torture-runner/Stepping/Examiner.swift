import Foundation
import ReefEngine
import ReefSystem

/// What the living find after a death, each in a process of its own.
struct Examiner {
  let act: SteppedAct
  let path: String
  let board: StepBoard

  /// One that comes only now: opens, examines, leaves; where nobody else is there, twice.
  func runFresh(times: Int? = nil) throws {
    for _ in 0..<(times ?? (act.hasSurvivor ? 1 : 2)) {
      let began = Board.now
      let engine = try StepStore.open(path)
      board.slow(began)
      try examine(engine, "a new process")
      engine.close()
    }
  }

  /// One that was there before: waits until it is its turn.
  func runSurvivor() throws {
    let engine = try StepStore.open(path)
    let value = try Victim.values(engine.pin().view)
    if act.survivorPins {
      let pin = try engine.pin()
      try stay(engine)
      guard try Victim.values(pin.view) == value else { throw TortureError("a version that is held has changed") }
      _ = pin.version
    } else {
      try stay(engine)
    }
    engine.close()
  }

  private func stay(_ engine: Engine) throws {
    if act.survivorSleeps { sleep(engine) }
    board[.survivor] = 1
    while board[.survivor] != 2 { usleep(100) }
    try examine(engine, "the survivor")
    let began = Board.now
    while act.survivorSleeps, board[.told] == 0 {
      if Board.now - began > 10_000_000_000 { throw TortureError("the one that slept was not woken by a commit") }
      usleep(100)
    }
    board.slow(began)
    board[.survivor] = 3
    while board[.survivor] != 4 { usleep(100) }
  }

  /// Returns once a thread sleeps. Whoever dies before telling it leaves that to the next writer.
  private func sleep(_ engine: Engine) {
    let (session, board, seen) = (engine.session, board, engine.newestVersion)
    Thread.detachNewThread {
      if let version = try? session.wait(after: seen, deadline: .after(.seconds(15)), spin: .zero) {
        board[.told] = version
      }
    }
    while session.lock.loadAcquire(LockLayout.Control.visible) & 1 == 0 { usleep(100) }
  }

  private func examine(_ engine: Engine, _ who: String) throws {
    func demand(_ condition: Bool, _ what: @autoclosure () -> String) throws {
      if !condition { throw TortureError("\(who): \(what())") }
    }
    let began = Board.now
    let first = try engine.write(.after(.seconds(10)))
    board.slow(began)
    let values = try Victim.values(first.readView)
    first.rollback()
    let (base, tried, acknowledged) = (board[.base], board[.tried], board[.acknowledged])
    if values.isEmpty, base == 0 {
      // The one that was to make the store died: nothing was promised.
      try StepStore.fill(engine)
      board[.base] = 1
    } else {
      try demand(values.count == 1, "half a commit: \(values.sorted())")
      let value = UInt64(values.first ?? 0)
      let right = value == acknowledged || value == tried && tried > acknowledged || acknowledged == 0 && value == base
      try demand(right, "\(value) after \(base), \(tried) tried, \(acknowledged) acknowledged")
      board[.base] = value
    }
    let report = try engine.check()
    try demand(report.isSound, "\(report.problemCount) problems, \(report.problems.first.map { "\($0)" } ?? "")")

    let next = Int64(board[.base]) + 1
    let committing = Board.now
    let transaction = try engine.write(.after(.seconds(10)))
    try StepStore.set(transaction, next)
    _ = try transaction.delete(table: 1, key: 3)
    try StepStore.ballast(transaction, 3, length: Int(next % 50))
    _ = try transaction.commit()
    board.slow(committing)
    board[.base] = UInt64(next)
    board[.tried] = 0
    board[.acknowledged] = UInt64(next)
    let found = try Victim.values(engine.pin().view)
    try demand(found == [next], "\(found.sorted()) after a commit of \(next)")
    try demand(try engine.check().isSound, "not sound after a commit")

    engine.session.freeDeadSlots()
    let living = Set(try engine.session.peers().map(\.index))
    let expected = act.hasSurvivor && who != "the survivor" ? 2 : 1
    try demand(living.count == expected, "\(living.count) peers, not \(expected)")
    for slot in 0..<LockLayout.maximumSlots {
      let place = LockLayout.ReaderSlot.table + slot * LockLayout.ReaderSlot.size
      let owner = engine.session.lock.loadAcquire(place + LockLayout.ReaderSlot.owner)
      if owner == 0 { continue }
      try demand(living.contains(Int(owner & 0xffff) - 1), "slot \(slot) is the dead's")
    }
    try demand(engine.session.freeDeadSlots() == 0, "slots of the dead come back")

    // Where all have died, what the dead had taken is looked for beside normal work.
    let (lock, marking) = (engine.session.lock, Board.now)
    while lock.loadAcquire(LockLayout.Control.needsMark) + lock.loadAcquire(LockLayout.Control.marking) != 0 {
      try demand(Board.now - marking < 10_000_000_000, "leaked blocks are looked for, and never found")
      usleep(500)
    }
    let last = try engine.write(.after(.seconds(10)))
    let space = try last.spaceReport()
    last.rollback()
    try demand(
      space.liveWithoutBit + space.waitingTwice + space.liveAndFree + space.damaged + space.leaked == 0, "\(space)")
  }
}

import CStepper
import Foundation
import ReefEngine
import ReefSystem

/// One of the two processes of a duet, and how it looks at what it finds.
struct Player: Sendable {
  /// Unlike any other mapping's: so the head of the data file is known from the lock file.
  static let reserve = 1 << 27

  let location: Session.Location
  let isFull: Bool
  /// Whether versions may be taken away from who holds them for more than one commit.
  let revokes: Bool
  /// 0 or 1.
  let number: Int
  let board: DuetBoard

  var isInMemory: Bool { if case .memory = location { true } else { false } }

  func open() throws -> Engine {
    var options = Session.Options(location: location)
    options.peerName = "player \(number)"
    options.openTimeout = .seconds(10)
    options.reserve = Player.reserve
    var configuration = EngineConfiguration(session: options, durability: isFull ? .full : .memory)
    configuration.redo.first = 65536
    configuration.redo.larger = 131_072
    configuration.redo.alignment = DataLayout.extentSize
    configuration.redo.after = 0
    // A thread of its own would have no turns.
    configuration.redo.inBackground = false
    if revokes { configuration.retention = Retention(versions: 1, policy: .revoke) }
    return try Engine.open(configuration, Schema([Victim.type, Victim.ballast]))
  }

  /// Opens before the duet begins, and notes which version says which number.
  func opened() throws -> Engine {
    let engine = try open()
    if board[.baseVersion] == 0 {
      let pin = try engine.pin()
      board[.base] = UInt64(try Player.value(pin.view))
      board[.baseVersion] = pin.version
    }
    return engine
  }

  static func demand(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    if !condition { throw TortureError(what()) }
  }

  /// The number that all rows say.
  static func value(_ view: ReadView) throws -> Int64 {
    let values = try Victim.values(view)
    guard let value = values.first, values.count == 1 else {
      throw TortureError("version \(view.version) is a mixture: \(values.sorted())")
    }
    return value
  }

  /// Something that tells two versions apart, and each from what it is not.
  static func digest(_ view: ReadView) throws -> UInt64 {
    var digest = UInt64(try value(view))
    try view.table(1).forEachLeaf { (leaf) throws(StoreError) in
      let texts = try leaf.column(1)
      for row in 0..<leaf.count {
        digest = digest &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(bitPattern: leaf.key(row))
        for byte in try texts.checkedBytes(row) { digest = digest &* 31 &+ UInt64(byte) }
      }
      return true
    }
    return digest
  }

  /// A version held in a slot, looked at.
  struct Held {
    let engine: Engine
    let slot: Int
    let view: ReadView
    let digest: UInt64
  }

  /// Pins the newest version, in a slot of its own or in `slot`, and looks whether it is what it says.
  func read(_ engine: Engine, _ slot: Int? = nil) throws -> Held {
    // A store in memory may be another one by now.
    let before = isInMemory ? 0 : board[.acknowledged]
    let slot = try slot ?? engine.claimSlot()
    let view = try engine.pinNewest(slot)
    try check(engine, view, since: before)
    return Held(engine: engine, slot: slot, view: view, digest: try Player.digest(view))
  }

  func check(_ engine: Engine, _ view: ReadView, since before: UInt64) throws {
    try Player.demand(view.version >= before, "version \(view.version) is shown after \(before) was acknowledged")
    if isFull {
      let confirmed = engine.session.lock.loadAcquire(LockLayout.Control.confirmed)
      try Player.demand(confirmed >= view.version, "version \(view.version) is shown, \(confirmed) is on disk")
    }
    try right(view)
  }

  private func right(_ view: ReadView) throws {
    let value = try Player.value(view)
    if let expected = board.expected(view.version) {
      try Player.demand(value == expected, "version \(view.version) says \(value), not \(expected)")
    }
  }

  /// Whether a version is as it was when it was pinned.
  func again(_ held: Held) throws {
    try right(held.view)
    let pin = held.engine.session.slots.pinWord(held.slot) >> 1
    try Player.demand(pin == held.view.version, "the pin of version \(held.view.version) has become \(pin)")
    try Player.demand(try Player.digest(held.view) == held.digest, "version \(held.view.version) changed while held")
  }

  /// One more in all rows. `churn`: so many rows of ballast are replaced, all over the tree.
  @discardableResult
  func commit(_ engine: Engine, churn: Int = 0, inside: (WriteTransaction) throws -> Void = { _ in }) throws -> UInt64 {
    let transaction = try engine.write(.after(.seconds(10)))
    let next = try Player.value(transaction.readView) + 1
    if let expected = board.expected(transaction.version) {
      try Player.demand(next == expected, "the transaction of version \(transaction.version) found \(next - 1)")
    }
    try change(transaction, next, churn)
    try inside(transaction)
    let version = try transaction.commit()
    board.committed(version)
    return version
  }

  /// Commits until the next commit but one begins with a pass that frees what nobody sees.
  func ripen(_ engine: Engine, churn: Int) throws {
    let count = { engine.session.lock.loadAcquire(LockLayout.Control.freshCount) }
    var (before, now) = (count(), count())
    repeat {
      try commit(engine, churn: churn)
      (before, now) = (now, count())
    } while now > before && now + (now - before) < Player.pass
  }
  private static let pass: UInt64 = 64

  func change(_ transaction: WriteTransaction, _ value: Int64, _ churn: Int) throws {
    try StepStore.set(transaction, value)
    guard churn > 0 else { return }
    for key in stride(from: value % 8, to: 400, by: max(1, 400 / churn)) {
      _ = try transaction.delete(table: 1, key: key)
      try StepStore.ballast(transaction, key, length: Int((value &* 7 &+ key) % 70))
    }
  }
}

/// What one of the two does.
struct DuetAct: Sendable {
  struct Played {
    /// By turns with the other one.
    var body: () throws -> Void
    /// Once both have ended, one after the other.
    var after: () throws -> Void = {}
  }
  let name: String
  /// Gets ready, undisturbed: the first one does, then whoever is to die does that, then the second one.
  let prepare: @Sendable (Player) throws -> Played

  init(_ name: String, _ prepare: @escaping @Sendable (Player) throws -> Played) {
    self.name = name
    self.prepare = prepare
  }
}

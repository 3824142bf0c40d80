import Foundation
import ReefEngine
import ReefSystem

/// Something a process does with a store, in the midst of which it dies.
struct SteppedAct: Sendable {
  /// What the dying process knows.
  struct Stage {
    let path: String
    let isFull: Bool
    let board: StepBoard
    /// From here on stores count.
    let arm: () -> Void

    func open() throws -> Engine { try StepStore.open(path, full: isFull) }
  }

  /// A process that died before, in whose place the act begins.
  enum Predecessor { case none, afterCommit, inCommit }

  var name: String
  /// Durable, in a folder whose syncs count.
  var onDisk = false
  /// Whether commits are on disk when they return.
  var isFull = false
  /// Whether there is a store, closed well, before anybody comes.
  var hasStore = true
  /// Whether another process has the store open all the while.
  var hasSurvivor = true
  /// Whether that one holds the version from before, and looks whether it stays.
  var survivorPins = true
  /// Whether that one has a thread that sleeps until the next commit.
  var survivorSleeps = false
  var predecessor = Predecessor.none
  var run: @Sendable (Stage) throws -> Void

  /// One more in all rows, which the others find whole or not at all.
  private static func commit(_ stage: Stage, _ engine: Engine) throws {
    let next = Int64(stage.board[.base]) + 1
    stage.board[.tried] = UInt64(next)
    let transaction = try engine.write(.after(.seconds(10)))
    try StepStore.set(transaction, next)
    _ = try transaction.commit()
    stage.board[.acknowledged] = UInt64(next)
  }

  private static func closing(_ stage: Stage) throws {
    let engine = try stage.open()
    try commit(stage, engine)
    stage.arm()
    engine.close()
  }

  static let all: [SteppedAct] = [
    SteppedAct(name: "join") { stage in
      stage.arm()
      _ = try stage.open()
    },
    SteppedAct(name: "leave") { stage in
      let engine = try stage.open()
      do { _ = try Victim.values(engine.pin().view) }
      stage.arm()
      engine.close()
    },
    SteppedAct(name: "commit") { stage in
      let engine = try stage.open()
      stage.arm()
      try commit(stage, engine)
    },
    SteppedAct(name: "structure") { stage in
      let engine = try stage.open()
      stage.arm()
      let next = Int64(stage.board[.base]) + 1
      stage.board[.tried] = UInt64(next)
      let transaction = try engine.write(.after(.seconds(10)))
      try StepStore.set(transaction, next)
      for key in stride(from: Int64(0), to: 400, by: 1) where key % 4 != 3 {
        _ = try transaction.delete(table: 1, key: key)
      }
      for key in Int64(400)..<700 { try StepStore.ballast(transaction, key, length: Int(key % 90)) }
      _ = try transaction.commit()
      stage.board[.acknowledged] = UInt64(next)
    },
    SteppedAct(name: "rollback") { stage in
      let engine = try stage.open()
      stage.arm()
      let transaction = try engine.write(.after(.seconds(10)))
      try StepStore.set(transaction, 1_000_000)
      for key in Int64(400)..<460 { try StepStore.ballast(transaction, key, length: 300) }
      transaction.rollback()
    },
    SteppedAct(name: "pin") { stage in
      let engine = try stage.open()
      stage.arm()
      for _ in 0..<2 {
        let first = try engine.pin()
        let second = try engine.pin()
        if first.version != second.version { throw TortureError("two versions, though nobody wrote") }
      }
    },
    SteppedAct(name: "follow") { stage in
      let engine = try stage.open()
      stage.arm()
      let pin = try engine.pinFollowing()
      try commit(stage, engine)
      guard engine.followed(pin.version + 1) != nil else { throw TortureError("the next version is gone") }
      engine.session.slots.follow(from: pin.version + 1, in: pin.slot)
    },
    SteppedAct(name: "reclaim", survivorPins: false) { stage in
      let engine = try stage.open()
      do {
        let pin = try engine.pin()
        // More waits than the next transaction lets pass.
        for round in 0..<24 {
          let transaction = try engine.write(.after(.seconds(10)))
          for key in stride(from: Int64(round), to: 400, by: 40) {
            _ = try transaction.delete(table: 1, key: key)
            try StepStore.ballast(transaction, key, length: 10 * round + Int(key))
          }
          _ = try transaction.commit()
        }
        _ = pin.version
      }
      stage.arm()
      try commit(stage, engine)
      stage.board[.base] += 1
      try commit(stage, engine)
    },
    SteppedAct(name: "wait") { stage in
      let engine = try stage.open()
      stage.arm()
      do {
        _ = try engine.session.wait(after: engine.newestVersion, deadline: .after(.milliseconds(3)), spin: .zero)
      } catch StoreError.timeout {}
    },
    SteppedAct(name: "notify", survivorSleeps: true) { stage in
      let engine = try stage.open()
      stage.arm()
      try commit(stage, engine)
    },
    SteppedAct(name: "takeover", predecessor: .inCommit) { stage in
      let engine = try stage.open()
      stage.arm()
      let transaction = try engine.write(.after(.seconds(10)))
      let values = try Victim.values(transaction.readView)
      guard let value = values.first, values.count == 1 else { throw TortureError("half a commit: \(values)") }
      stage.board[.base] = UInt64(value)
      stage.board[.acknowledged] = UInt64(value)
      stage.board[.tried] = UInt64(value + 1)
      try StepStore.set(transaction, value + 1)
      _ = try transaction.commit()
      stage.board[.acknowledged] = UInt64(value + 1)
    },
    SteppedAct(name: "create", hasStore: false, hasSurvivor: false) { stage in
      stage.arm()
      _ = try stage.open()
    },
    SteppedAct(name: "first open", hasSurvivor: false) { stage in
      stage.arm()
      _ = try stage.open()
    },
    SteppedAct(name: "last close", hasSurvivor: false) { try closing($0) },
    SteppedAct(name: "after a death", hasSurvivor: false, predecessor: .afterCommit) { stage in
      stage.arm()
      _ = try stage.open()
    },
    SteppedAct(name: "full commit", onDisk: true, isFull: true) { stage in
      let engine = try stage.open()
      stage.arm()
      try commit(stage, engine)
    },
    SteppedAct(name: "checkpoint", onDisk: true) { stage in
      let engine = try stage.open()
      try commit(stage, engine)
      stage.arm()
      try engine.checkpoint.confirm(engine.newestVersion)
    },
    SteppedAct(name: "last close, synced", onDisk: true, hasSurvivor: false) { try closing($0) },
    SteppedAct(name: "after a death, synced", onDisk: true, hasSurvivor: false, predecessor: .afterCommit) { stage in
      stage.arm()
      _ = try stage.open()
    },
  ]

  /// What the process did that died before the act: a whole commit, or some part of one.
  func runPredecessor(_ stage: Stage) throws {
    let engine = try stage.open()
    if predecessor == .inCommit { stage.arm() }
    try SteppedAct.commit(stage, engine)
    if predecessor == .afterCommit { stage.board[.base] = stage.board[.acknowledged] }
  }
}

/// The store all acts are about: ten rows that always say the same number, and ballast whose leaves split and merge.
enum StepStore {
  static func open(_ path: String, full: Bool = false) throws -> Engine {
    var options = Session.Options(location: .file(path))
    options.peerName = "stepped"
    options.openTimeout = .seconds(10)
    options.reserve = 1 << 28
    var configuration = EngineConfiguration(session: options, durability: full ? .full : .memory)
    configuration.redo.first = 65536
    configuration.redo.larger = 131_072
    configuration.redo.alignment = DataLayout.extentSize
    configuration.redo.after = 0
    return try Engine.open(configuration, Schema([Victim.type, Victim.ballast]))
  }

  static func fill(_ engine: Engine) throws {
    let transaction = try engine.write(.after(.seconds(10)))
    try fill(transaction)
    _ = try transaction.commit()
  }

  static func fill(_ transaction: WriteTransaction) throws {
    for row in 0..<Victim.rows {
      _ = try transaction.insert(table: 0) {
        $0.set(column: 0, int: row)
        $0.set(column: 1, int: 1)
      }
    }
    for key in Int64(0)..<400 { try ballast(transaction, key, length: Int(key % 70)) }
  }

  static func set(_ transaction: WriteTransaction, _ value: Int64) throws {
    for row in 0..<Victim.rows {
      _ = try transaction.update(table: 0, key: row, column: 1, bits: UInt64(bitPattern: value))
    }
  }

  static func ballast(_ transaction: WriteTransaction, _ key: Int64, length: Int) throws {
    _ = try transaction.insert(table: 1) {
      $0.set(column: 0, int: key)
      $0.set(column: 1, string: String(repeating: "x", count: length))
    }
  }
}

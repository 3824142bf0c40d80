import Glibc
import ReefEngine
import ReefSystem

/// Power loss: all workloads of up to three operations run with full durability on a `SimulatedDisk`; at every event
/// images are made as a power loss could leave them, and each is opened like after a boot. No acknowledged commit may be
/// lost, and none may be half there.
final class PowerLoss {
  typealias Model = [Int64: Int64]
  enum Operation: Int, CaseIterable {
    case insert, update, delete, many, long
  }

  /// The watched file lies on a real disk, whose syncs count; the images lie wherever is fast.
  let folder: String
  let imageFolder: String
  let seed: UInt64
  /// Random images per event, beside the systematic ones.
  let perEvent: Int
  /// Distinct images.
  var images = 0
  /// Appends to the redo ring that the disks saw.
  var appends = 0
  /// Commits acknowledged so far: the same image must hold more after each.
  var acknowledged = 0
  var seen: Set<UInt64> = []
  /// Of so many images one is opened on a simulated disk itself, and power is lost again. 0: none.
  let secondLoss: Int
  var secondLosses = 0
  /// The disk that is watched now.
  var outer: SimulatedDisk?
  var failures: [String] = []
  private var state: UInt64

  init(folder: String, imageFolder: String, seed: UInt64, perEvent: Int, secondLoss: Int = 0) {
    self.folder = folder
    self.imageFolder = imageFolder
    self.seed = seed
    self.perEvent = perEvent
    self.secondLoss = secondLoss
    state = seed
  }

  func random() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }

  /// `share`: only every so-manieth workload, from `first` on.
  func run(first: Int, share: Int) throws {
    var workloads: [[Operation]] = [[]]
    for one in Operation.allCases {
      workloads.append([one])
      for two in Operation.allCases {
        workloads.append([one, two])
        for three in Operation.allCases { workloads.append([one, two, three]) }
      }
    }
    var index = first
    while index < workloads.count, failures.count < 20 {
      try run(workloads[index])
      index += share
    }
  }

  /// Long workloads: commits of full durability and weaker ones at random, in a ring so small that records wrap round it
  /// again and again and checkpoints come in between.
  func runLong(count: Int, operations: Int, images wanted: Int = 0) throws {
    var number = -1
    while number + 1 < count || images < wanted, failures.count < 20 {
      number += 1
      var workload: [Operation] = []
      var weak: Set<Int> = []
      for index in 0..<operations {
        // Long values now and then only: they are for checkpoints to carry.
        let all: [Operation] = [.insert, .update, .delete, .update, .insert, .update, .many, .update, .delete, .long]
        workload.append(all[Int(random() % UInt64(random() % 4 == 0 ? 10 : 6))])
        if random() % 3 == 0 { weak.insert(index) }
      }
      try run(workload, weak: weak, name: "long \(number)")
    }
  }

  private func run(_ workload: [Operation], weak: Set<Int> = [], name: String? = nil) throws {
    let path = folder + "/live.reef"
    for suffix in ["", ".lock", ".note"] { unlink(path + suffix) }
    let disk = SimulatedDisk(path: path)
    // What may be there: the last state that was acknowledged as durable, or a later one.
    var possible: [(version: UInt64, model: Model)] = [(0, [:])]
    func acknowledge(_ version: UInt64) {
      possible.removeAll { $0.version < version }
      acknowledged += 1
    }
    var isMade = false
    let name = name ?? "\(workload)"
    disk.onEvent = { [self] event in crash(disk, "\(name) at \(event)", isMade: isMade, possible.map(\.model)) }
    disk.attach()
    outer = disk
    defer {
      disk.detach()
      outer = nil
    }
    seen = []
    let engine = try Commands.engine(path, "full", redo: Commands.smallRing(DataLayout.extentSize))
    let lock = engine.session.lock
    // What the session takes for confirmed, others have been told of.
    disk.onEvent = { [self] event in
      let confirmed = lock.word(LockLayout.Control.confirmed)
      if possible.contains(where: { $0.version <= confirmed && $0.version > possible[0].version }) {
        acknowledge(possible.last { $0.version <= confirmed }?.version ?? 0)
      }
      crash(disk, "\(name) at \(event)", isMade: true, possible.map(\.model))
    }
    disk.ring = {
      let start = Int(lock.word(LockLayout.Redo.start))
      return start..<(start + Int(lock.word(LockLayout.Redo.length)))
    }
    isMade = true
    var model: Model = [:]
    // What others would do beside an append and a checkpoint: an append of their own, and commits that need space.
    func update(_ value: Int64) throws -> UInt64? {
      guard let key = model.keys.min() else { return nil }
      let transaction = try engine.write(.after(.seconds(10)))
      _ = try transaction.update(table: 1, key: key, column: 2, bits: UInt64(value))
      model[key] = value
      possible.append((transaction.version, model))
      return try transaction.commit(durability: .memory)
    }
    var isVisible = false
    disk.beside = { [self] step in
      do {
        switch step {
        case "append.noted" where isVisible:
          isVisible = false
          try disk.unwatched { for _ in 0..<40 { _ = try update(Int64(random() % 100_000)) } }
        case "checkpoint.synced" where !weak.isEmpty:
          // Behind a full commit that waits for this very checkpoint, it would wait for itself.
          guard lock.word(LockLayout.Control.pendingFull) <= engine.newestVersion,
            let version = try update(Int64(random() % 100_000))
          else { return }
          let used = lock.word(
            LockLayout.Redo.copies + Int(lock.word(LockLayout.Redo.current)) * LockLayout.Redo.copySize)
          guard lock.word(LockLayout.Redo.moving) == 0, lock.word(LockLayout.Redo.length) != 0,
            lock.word(LockLayout.Control.tipExtents) <= lock.word(LockLayout.Redo.syncedExtents),
            used - lock.word(LockLayout.Redo.tail) + 16384 <= lock.word(LockLayout.Redo.length)
          else { return }
          // A record larger than the ring takes would wait for this very checkpoint, and so for itself.
          engine.append.mayCheckpoint = false
          defer { engine.append.mayCheckpoint = true }
          do {
            try engine.append.confirm(version)
            acknowledge(version)
          } catch StoreError.busy {}
        default: break
        }
      } catch { failures.append("\(name) beside \(step): \(error)") }
    }
    for (number, operation) in workload.enumerated() {
      let transaction = try engine.write(.after(.seconds(10)))
      try Self.apply(operation, Int64(number), transaction, &model)
      possible.append((transaction.version, model))
      let version = try transaction.commit(durability: weak.contains(number) ? .memory : .full)
      if !weak.contains(number) {
        acknowledge(version)
      } else if random() % 2 == 0 {
        // A version that is seen before it is on disk: newer ones may replace its nodes at once.
        isVisible = true
        let newest = engine.newestVersion
        try engine.append.confirm(newest)
        isVisible = false
        acknowledge(newest)
      }
      disk.settle()
      disk.mark("the end of \(number)")
    }
    appends += disk.appends
    disk.beside = { _ in }
    engine.close()
    disk.settle()
    disk.detach()
    if disk.syncs < 2 { failures.append("\(name): the disk saw no syncs of \(path)") }
    crash(disk, "\(name) closed", isMade: true, [model])
  }

  /// Row 0 … of table 1; the sum column is what the model knows.
  static func apply(
    _ operation: Operation, _ number: Int64, _ transaction: WriteTransaction, _ model: inout Model
  ) throws {
    func insert(_ key: Int64, _ length: Int) throws {
      _ = try transaction.insert(table: 1) {
        $0.set(column: 0, int: key)
        $0.set(column: 1, string: String(repeating: "a", count: length))
        $0.set(column: 2, int: key &* 7 &+ Int64(length))
      }
      model[key] = key &* 7 &+ Int64(length)
    }
    switch operation {
    case .insert: try insert(number, 10)
    case .many: for key in 0..<40 { try insert(1000 * (number + 1) + Int64(key), key) }
    case .long: try insert(number, 100_000)
    case .update:
      if let key = model.keys.min() {
        _ = try transaction.update(table: 1, key: key, column: 2, bits: UInt64(12345 + number))
        model[key] = 12345 + number
      } else {
        try insert(number, 3)
      }
    case .delete:
      if let key = model.keys.max() {
        try transaction.delete(table: 1, key: key)
        model[key] = nil
      } else {
        try insert(number, 4)
      }
    }
  }

  func model(_ engine: Engine) throws -> Model {
    let pin = try engine.pin()
    var model: Model = [:]
    try pin.view.table(1).forEachLeaf { (leaf) throws(StoreError) in
      let text = try leaf.column(1)
      let sum = try leaf.column(2)
      for row in 0..<leaf.count {
        if try !text.checkedBytes(row).allSatisfy({ $0 == 97 }) { continue }
        model[leaf.key(row)] = sum.int(row)
      }
      return true
    }
    return model
  }
}

struct SplitMix {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}

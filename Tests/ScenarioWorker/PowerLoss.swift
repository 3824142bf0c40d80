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
  private var acknowledged = 0
  private var seen: Set<UInt64> = []
  var failures: [String] = []
  private var state: UInt64

  init(folder: String, imageFolder: String, seed: UInt64, perEvent: Int) {
    self.folder = folder
    self.imageFolder = imageFolder
    self.seed = seed
    self.perEvent = perEvent
    state = seed
  }

  private func random() -> UInt64 {
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
  func runLong(count: Int, operations: Int) throws {
    for number in 0..<count where failures.count < 20 {
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
    defer { disk.detach() }
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
  private static func apply(
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

  private func crash(_ disk: SimulatedDisk, _ context: String, isMade: Bool, _ possible: [Model]) {
    let sectors = disk.dirtySectors()
    let newest = disk.since.count - 1
    var choices: [(String, (Int) -> Int?)] = [("nothing", { _ in nil })]
    if newest >= 0 && !sectors.isEmpty {
      choices.append(("all", { _ in newest }))
      // The slots and the header alone, or everything but them: what tears first.
      choices.append(("header extent", { $0 < 128 ? newest : nil }))
      choices.append(("all but the header extent", { $0 < 128 ? nil : newest }))
      for _ in 0..<perEvent {
        let salt = random()
        let torn = random() % 3
        choices.append(
          (
            "random \(salt)",
            { sector in
              // By page or by sector; each in any state it had since.
              let unit = UInt64(torn == 0 ? sector : sector / 8)
              var mix = SplitMix(state: salt ^ (unit &* 0x2545_F491_4F6C_DD1D))
              if torn == 2 { return mix.next() & 7 == 0 ? nil : newest }
              if mix.next() & 1 == 0 { return nil }
              return Int(mix.next() % UInt64(newest + 1))
            }
          ))
      }
      for _ in 0..<min(perEvent, 3) {
        let one = sectors[Int(random() % UInt64(sectors.count))]
        choices.append(("only sector \(one)", { $0 == one ? newest : nil }))
        choices.append(("all but sector \(one)", { $0 == one ? nil : newest }))
      }
    }
    for (what, choose) in choices {
      for keepsSize in disk.durable.count == disk.since.last?.count ?? disk.durable.count ? [true] : [true, false] {
        let image = disk.image(sectors, keepsSize: keepsSize, choose)
        // Many events store nothing in the file: an image is looked at once for what must be in it.
        guard seen.insert(SimulatedDisk.hash(image, isMade ? acknowledged : -1)).inserted else { continue }
        images += 1
        if let problem = verify(image, isMade: isMade, possible) {
          failures.append("\(context), \(what)\(keepsSize ? "" : ", grown"): \(problem)")
        }
      }
    }
  }

  /// Opens an image as after a boot; what is wrong with it, or nil.
  private func verify(_ image: SimulatedDisk.Image, isMade: Bool, _ possible: [Model]) -> String? {
    let path = imageFolder + "/image.reef"
    for suffix in ["", ".lock", ".note"] { unlink(path + suffix) }
    var image = image
    // Head slots are of the boot before.
    for offset in [DataLayout.headSlotOffset.0, DataLayout.headSlotOffset.1] where image.count >= offset + 128 {
      for byte in 0..<8 { image[offset + DataLayout.Slot.checksum + byte] ^= 0x5a }
    }
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    _ = image.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    close(descriptor)
    do {
      let engine = try Commands.engine(path)
      defer { engine.close() }
      let found = try model(engine)
      if !possible.contains(found), isMade || !found.isEmpty {
        return "holds \(found.count) rows, none of the \(possible.count) states from the acknowledged one on"
      }
      let transaction = try engine.write(.after(.seconds(5)))
      let report = try transaction.spaceReport()
      if report.liveWithoutBit + report.liveAndFree + report.waitingTwice + report.damaged != 0 { return "\(report)" }
      // It goes on from there.
      _ = try transaction.insert(table: 1) {
        $0.set(column: 0, int: 999_999)
        $0.set(column: 1, string: "aaa")
        $0.set(column: 2, int: 1)
      }
      try transaction.commit()
      var expected = found
      expected[999_999] = 1
      if try model(engine) != expected { return "cannot go on" }
      return nil
    } catch { return "\(error)" }
  }

  private func model(_ engine: Engine) throws -> Model {
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

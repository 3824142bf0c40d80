import Glibc
import ReefEngine
import ReefSystem

extension PowerLoss {
  /// What of everything stored since the last sync has reached the disk.
  private struct Choice {
    var name: String
    /// For a sector the content that it has: an index into `since`, or nil for the durable one.
    var sector: (Int) -> Int?
    /// A sector that was being written: its first bytes, as many as said, are the newest, the rest durable; or the reverse.
    var tear: (sector: Int, cut: Int, isFirstNew: Bool)?
  }

  private func choices(_ disk: SimulatedDisk, _ sectors: [Int], isSecond: Bool) -> [Choice] {
    // After the first loss there are as many second ones as the first has images.
    let perEvent = isSecond ? 1 : perEvent
    let newest = disk.since.count - 1
    var choices = [Choice(name: "nothing", sector: { _ in nil })]
    if newest < 0 || sectors.isEmpty { return choices }
    choices.append(Choice(name: "all", sector: { _ in newest }))
    // The slots and the header alone, or everything but them: what tears first.
    choices.append(Choice(name: "header extent", sector: { $0 < 128 ? newest : nil }))
    choices.append(Choice(name: "all but the header extent", sector: { $0 < 128 ? nil : newest }))
    for _ in 0..<perEvent { choices.append(random(newest, sectors)) }
    for _ in 0..<(isSecond ? 0 : min(perEvent, 3)) {
      let one = sectors[Int(random() % UInt64(sectors.count))]
      choices.append(Choice(name: "only sector \(one)", sector: { $0 == one ? newest : nil }))
      choices.append(Choice(name: "all but sector \(one)", sector: { $0 == one ? nil : newest }))
    }
    // A slot that was being written, in a world that otherwise is all old or all new.
    for slot in [DataLayout.durableSlotOffset.0, DataLayout.durableSlotOffset.1] {
      let sector = slot / SimulatedDisk.sector
      if !sectors.contains(sector) { continue }
      let within = slot % SimulatedDisk.sector
      let isNew = random() % 2 == 0
      choices.append(
        Choice(
          name: "slot torn in sector \(sector)", sector: { _ in isNew ? newest : nil },
          tear: (sector, within + 8 * Int(1 + random() % UInt64(DataLayout.Slot.size / 8 - 1)), random() % 2 == 0)))
    }
    // A record of which the beginning alone arrived, or all but that.
    if let ring = disk.ring() {
      let inside = sectors.filter { ring.contains($0 * SimulatedDisk.sector) }
      if inside.count > 1 {
        let border = inside[Int(1 + random() % UInt64(inside.count - 1))]
        let isFirst = random() % 4 != 0
        choices.append(
          Choice(
            name: "record torn at sector \(border)",
            sector: { ring.contains($0 * SimulatedDisk.sector) && ($0 < border) == isFirst ? newest : nil }))
      }
    }
    return choices
  }

  private func random(_ newest: Int, _ sectors: [Int]) -> Choice {
    let salt = random()
    let kind = random() % 3
    var choice = Choice(
      name: "random \(salt)",
      sector: { sector in
        // By page or by sector; each in any state it had since.
        let unit = UInt64(kind == 0 ? sector : sector / 8)
        var mix = SplitMix(state: salt ^ (unit &* 0x2545_F491_4F6C_DD1D))
        if kind == 2 { return mix.next() & 7 == 0 ? nil : newest }
        if mix.next() & 1 == 0 { return nil }
        return Int(mix.next() % UInt64(newest + 1))
      })
    // Of a store that is being made the very first bytes are not torn: it would not be known for one, and is not promised yet.
    let sector = sectors[Int(random() % UInt64(sectors.count))]
    if random() % 4 == 0, sector != 0 {
      choice.tear = (sector, 8 * Int(1 + random() % 63), random() % 2 == 0)
    }
    return choice
  }

  func crash(
    _ disk: SimulatedDisk, _ context: String, isMade: Bool, _ possible: [Model], isSecond: Bool = false
  ) {
    let sectors = disk.dirtySectors()
    for choice in choices(disk, sectors, isSecond: isSecond) {
      for keepsSize in disk.durable.count == disk.since.last?.count ?? disk.durable.count ? [true] : [true, false] {
        var image = disk.image(sectors, keepsSize: keepsSize, choice.sector)
        if let tear = choice.tear { disk.tear(&image, tear.sector, cut: tear.cut, isFirstNew: tear.isFirstNew) }
        // Many events store nothing in the file: an image is looked at once for what must be in it.
        guard seen.insert(SimulatedDisk.hash(image, isMade ? acknowledged : -1)).inserted else { continue }
        images += 1
        // Now and then the boot is the same: pages are lost without one where a disk fails, or a copy was torn.
        let isSameBoot = images % 8 == 3
        if !isSameBoot { Self.endBoot(&image) }
        let what = "\(context), \(choice.name)\(keepsSize ? "" : ", grown")"
        if let problem = verify(image, isMade: isMade, isSameBoot: isSameBoot, possible) {
          failures.append("\(what): \(problem)")
        } else if !isSecond, !isSameBoot, secondLoss > 0, images % secondLoss == 0, failures.count < 20 {
          again(image, what, isMade: isMade, possible)
        }
      }
    }
  }

  /// Head slots are of the boot before.
  private static func endBoot(_ image: inout SimulatedDisk.Image) {
    for offset in [DataLayout.headSlotOffset.0, DataLayout.headSlotOffset.1] where image.count >= offset + 128 {
      for byte in 0..<8 { image[offset + DataLayout.Slot.checksum + byte] = 0x5a }
    }
  }

  private static func write(_ image: SimulatedDisk.Image, _ path: String) {
    for suffix in ["", ".lock", ".note"] { unlink(path + suffix) }
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(descriptor) }
    ftruncate(descriptor, image.count)
    // Most of it is nothing.
    let page = DataLayout.pageSize
    image.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      func isEmpty(_ at: Int) -> Bool {
        let length = min(page, bytes.count - at)
        return base.load(fromByteOffset: at, as: UInt8.self) == 0 && memcmp(base + at, base + at + 1, length - 1) == 0
      }
      var start = 0
      while start < bytes.count {
        if isEmpty(start) {
          start += page
          continue
        }
        var end = start + page
        while end < bytes.count, !isEmpty(end) { end += page }
        _ = pwrite(descriptor, base + start, min(end, bytes.count) - start, start)
        start = end
      }
    }
  }

  /// Opens an image as after a boot; what is wrong with it, or nil.
  private func verify(_ image: SimulatedDisk.Image, isMade: Bool, isSameBoot: Bool, _ possible: [Model])
    -> String?
  {
    let path = imageFolder + "/image.reef"
    Self.write(image, path)
    do {
      let engine = try Commands.engine(path)
      defer { engine.close() }
      let found = try model(engine)
      if !possible.contains(found), isMade || !found.isEmpty {
        return "holds \(found.count) rows, none of the \(possible.count) states from the acknowledged one on"
      }
      let transaction = try engine.write(.after(.seconds(5)))
      let report = try transaction.spaceReport()
      // Of the same boot's newest commit bits may be lost: from where they lie nothing is taken until the mark pass.
      let withoutBit = isSameBoot ? 0 : report.liveWithoutBit
      if withoutBit + report.liveAndFree + report.waitingTwice + report.damaged != 0 { return "\(report)" }
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

  /// Power is lost again while what the first loss has left is recovered from, and in the first commits after that.
  private func again(_ image: SimulatedDisk.Image, _ context: String, isMade: Bool, _ possible: [Model]) {
    let path = folder + "/again.reef"
    Self.write(image, path)
    let disk = SimulatedDisk(path: path, durable: image)
    let before = (acknowledged, seen)
    seen = []
    acknowledged = 0
    defer {
      (acknowledged, seen) = before
      outer?.attach()
    }
    // A store that was never finished may be made anew.
    var states = possible
    var isWhole = isMade
    disk.onEvent = { [self] event in
      crash(disk, "\(context); again at \(event)", isMade: isWhole, states, isSecond: true)
    }
    disk.attach()
    defer { disk.detach() }
    do {
      let engine = try Commands.engine(path, "full", redo: Commands.smallRing(DataLayout.extentSize))
      let lock = engine.session.lock
      disk.ring = {
        let start = Int(lock.word(LockLayout.Redo.start))
        return start..<(start + Int(lock.word(LockLayout.Redo.length)))
      }
      var model = try self.model(engine)
      isWhole = true
      states = [model]
      acknowledged += 1
      for (number, operation) in [Operation.many, .update, .long].enumerated() {
        let transaction = try engine.write(.after(.seconds(10)))
        try Self.apply(operation, Int64(2_000_000 + number), transaction, &model)
        states.append(model)
        try transaction.commit(durability: .full)
        states = [model]
        acknowledged += 1
        disk.settle()
        disk.mark("the end of \(number)")
      }
      if try self.model(engine) != model { failures.append("\(context); again: not what was committed") }
      engine.close()
      disk.settle()
    } catch { failures.append("\(context); again: \(error)") }
    secondLosses += 1
  }
}

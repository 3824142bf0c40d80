import Foundation
import ReefSystem
import Testing

@testable import ReefEngine

/// A process dies in the middle of a sync, and all who go on opened the store later: the kernel may have told the dead of
/// lost pages, and tells nobody again. The store is not condemned for it: what the disk may lack is stored again.
@Suite(.serialized) struct DoubtTests {
  static let ring = 65536
  static let environment = ["REEF_RING": "\(ring)"]

  /// Only the holder is older, and it never writes.
  private struct Scene {
    let place: Place
    let engine: Engine
    let holder: Worker

    init() throws {
      place = try Place(.disk)
      engine = try place.engine(.memory, redo: KilledRingTests.shape)
      try engine.set(Dictionary(uniqueKeysWithValues: (0..<10).map { (Int64($0), 0) }))
      holder = try place.worker("hold")
      #expect(holder.reply()?.hasPrefix("holding") == true)
    }

    func word(_ offset: Int) -> UInt64 { engine.session.lock.word(offset) }

    /// Returns the last number that was acknowledged.
    func worker(_ count: Int, _ environment: [String: String] = [:]) throws -> (worker: Worker, last: Int64?) {
      let worker = try place.worker(
        "commit", "\(count)", "full", environment: DoubtTests.environment.merging(environment) { $1 })
      let lines = worker.rest()
      #expect(lines.allSatisfy { !$0.hasPrefix("error") }, "\(environment): \(lines.last ?? "")")
      return (worker, lines.compactMap { Int64($0) }.last)
    }

    func end() throws {
      #expect(holder.ask("look")?.hasPrefix("value") == true)
      holder.finish()
      try Invariants.check(engine, "at the end")
      engine.close()
    }
  }

  static let rounds = max(1, KilledWriterTests.rounds / 20)

  @Test(arguments: ["checkpoint.syncing", "append.writing", "append.wrapped"]) func diedInASync(step: String) throws {
    let scene = try Scene()
    if scene.engine.session.data.isTmpfs { return }
    var stored = 0
    var last: Int64 = 0
    let budget = Budget(seconds: 15)
    // Two at least, for one of two is another story.
    for round in 0..<max(2, Self.rounds) where budget.allows(round / 2) {
      let dead = try scene.worker(1_000_000, ["REEF_KILL": "\(step):\(1 + round % 4)"])
      #expect(dead.worker.wasKilled, "\(step) was not passed")
      last = dead.last ?? last
      let flag = step.hasPrefix("append") ? LockLayout.Redo.syncing : LockLayout.Control.syncing
      #expect(scene.word(flag) == 1, "it died in a sync")
      // Every second time whoever stores again dies as well.
      if round % 2 == 1 {
        let second = try scene.worker(1_000_000, ["REEF_KILL": "checkpoint.storedAgain:1"])
        if second.worker.wasKilled { stored += 1 }
        last = second.last ?? last
        #expect(scene.word(LockLayout.Control.doubtful) | scene.word(LockLayout.Redo.doubtful) != 0)
      }
      let next = try scene.worker(60)
      let now = try #require(next.last, "round \(round)")
      // Each of the dead may have committed once more than it could say.
      #expect(now >= last + 60 && now <= last + 61 + Int64(round % 2), "round \(round): \(now) after \(last)")
      last = now
      #expect(scene.word(LockLayout.Control.poisoned) == 0, "nobody's death condemns a store")
      #expect(
        scene.word(LockLayout.Control.doubtful) | scene.word(LockLayout.Redo.doubtful) == 0, "settled by a checkpoint")
      #expect(Set(try scene.engine.counters().values) == [now])
      try Invariants.check(scene.engine, "round \(round)")
    }
    #expect(stored > 0, "the path was taken")
    try scene.end()
  }

  /// The pages of what is stored again are written by the next sync: the kernel counts them as changed.
  @Test func storedAgainMeansWrittenAgain() throws {
    let place = try Place(.disk)
    let engine = try place.engine(.memory)
    defer { engine.close() }
    let data = engine.session.data
    if data.isTmpfs { return }
    for round in 0..<40 {
      try engine.set(
        Dictionary(uniqueKeysWithValues: (0..<500).map { (Int64(round * 500 + $0), Int64(round) << 40 + Int64($0)) }))
    }
    let slot = try #require(
      RootSlot.newestHead(data.base, session: engine.session.lock.word(LockLayout.Header.session)))
    try data.sync()
    let clean = try dirtyKilobytes(data)
    #expect(clean == 0, "right after a sync")
    // A version that changed one leaf: not everything is stored again.
    try engine.set([7: 77])
    try data.sync()
    let newer = try #require(RootSlot.newestHead(data.base, session: slot.session))
    #expect(Checks.storeAgain(newer.root, extents: newer.extents, after: slot.version, in: data))
    let few = try dirtyKilobytes(data)
    #expect(few >= 4 && few <= 64, "\(few) KiB of one small commit")
    try data.sync()
    #expect(Checks.storeAgain(newer.root, extents: newer.extents, after: 0, in: data))
    let all = try dirtyKilobytes(data)
    #expect(all >= 150, "\(all) KiB of everything")
    // A node that the kernel dropped and read again as it was: not what its parent knows.
    let root = data.base + Int(newer.root & 0xffff_ffff) << DataLayout.grainShift
    let old = root.load(fromByteOffset: 24, as: UInt64.self)
    root.storeBytes(of: ~old, toByteOffset: 24, as: UInt64.self)
    #expect(!Checks.storeAgain(newer.root, extents: newer.extents, after: 0, in: data))
    root.storeBytes(of: old, toByteOffset: 24, as: UInt64.self)
  }

  /// Dirty pages of the mapping of the data file, as the kernel counts them.
  private func dirtyKilobytes(_ data: MappedFile) throws -> Int {
    // By hand: the file says that it is empty.
    let descriptor = open("/proc/self/smaps", O_RDONLY)
    defer { Glibc.close(descriptor) }
    var text = ""
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = read(descriptor, &bytes, bytes.count), count > 0 {
      text += String(decoding: bytes.prefix(count), as: UTF8.self)
    }
    var isOurs = false
    var sum = 0
    for line in text.split(separator: "\n") {
      if line.first?.isHexDigit == true, line.contains("-"), !line.contains(": ") {
        isOurs = line.hasSuffix(data.path)
      } else if isOurs, line.hasPrefix("Shared_Dirty:") || line.hasPrefix("Private_Dirty:") {
        sum += line.split(separator: " ").compactMap { Int($0) }.first ?? 0
      }
    }
    return sum
  }
}

import Foundation
import ReefEngine
import ReefSystem
import Testing

@Suite(.serialized) struct CrowdTests {
  /// A stopped writer is waited for, never robbed: others are told who it is, and both finish once it goes on.
  @Test func stoppedWriter() throws {
    let place = try Place(.tmpfs)
    let engine = try place.engine()
    try engine.set([0: 1])
    let writer = try place.worker("stopInside")
    #expect(writer.reply() == "inside")
    writer.stop()
    let start = Date()
    do throws(StoreError) {
      let transaction = try engine.write(.after(.milliseconds(500)))
      transaction.rollback()
      Issue.record("a stopped writer was robbed")
    } catch {
      guard case .busy(let holder) = error else { throw error }
      #expect(holder?.process == writer.id, "\(error)")
      #expect("\(error)".contains("\(writer.id)"))
    }
    #expect(Date().timeIntervalSince(start) < 5)
    #expect(try engine.counters()[0] == 1)
    writer.goOn()
    #expect(writer.ask("go") == "committed")
    #expect(try engine.counters()[0] == 2)
    try engine.set([0: 10])
    #expect(try engine.counters()[0] == 10)
    writer.finish()
    engine.close()
  }

  /// 10,000 commits by eight writers, killed now and then and replaced, and five subscribers that reach the last one.
  @Test func eightWritersFiveSubscribers() throws {
    let place = try Place(.tmpfs)
    let engine = try place.engine()
    try engine.set([0: 1])
    let subscribers = try (0..<5).map { _ in try place.worker("follow", "10001") }
    for subscriber in subscribers { #expect(subscriber.reply() == "ready") }
    var writers = try (0..<8).map { _ in try place.worker("add", "100000") }
    var random = Mix(state: 3)
    var killed = 0
    while try engine.counters()[0] ?? 0 < 10_001 || killed < 8 {
      usleep(20_000)
      let index = Int(random.next() % 8)
      writers[index].die()
      killed += 1
      writers[index] = try place.worker("add", "100000")
    }
    for subscriber in subscribers {
      let said = subscriber.reply(within: 60)
      #expect(said?.hasPrefix("reached") == true, "\(said ?? "nothing")")
    }
    for writer in writers { writer.die() }
    print("killed \(killed) writers, counter \(try engine.counters()[0] ?? 0)")
    try Invariants.check(engine, "after the crowd")
    engine.close()
  }

  /// Acknowledged increments are never lost: the counter is what all writers acknowledged, or at most one more for each
  /// that was killed between its commit and its word.
  @Test func everyIncrementCounts() throws {
    let place = try Place(.tmpfs)
    let engine = try place.engine()
    try engine.set([0: 1])
    var acknowledged = 0
    var killed = 0
    for round in 0..<4 {
      let writers = try (0..<6).map { _ in try place.worker("add", "400") }
      usleep(UInt32(30_000 + round * 20_000))
      writers[0].die()
      writers[1].die()
      killed += 2
      for writer in writers { acknowledged += writer.rest().count { $0 == "+" } }
    }
    let found = Int(try engine.counters()[0] ?? 0) - 1
    #expect(found >= acknowledged && found <= acknowledged + killed, "\(found) of \(acknowledged), \(killed) killed")
    engine.close()
  }

  /// 1,000 accounts; what is moved between them is never seen half-way.
  @Test func bank() throws {
    let seconds = Double(ProcessInfo.processInfo.environment["REEF_BANK_SECONDS"] ?? "") ?? 30
    let place = try Place(.tmpfs)
    let engine = try place.engine()
    try engine.set(Dictionary(uniqueKeysWithValues: (0..<1000).map { (Int64($0), 1000) }))
    let time = "\(Int(seconds * 1000))"
    let writers = try (0..<4).map { try place.worker("bankWrite", time, "\($0 + 1)") }
    let readers = try (0..<4).map { _ in try place.worker("bankRead", time) }
    for worker in writers + readers { #expect(worker.reply() == "ready") }
    var moves = 0
    var reads = 0
    for writer in writers {
      let said = writer.reply(within: seconds + 60) ?? "nothing"
      #expect(said.hasPrefix("moved"), "\(said)")
      moves += Int(said.split(separator: " ").last ?? "") ?? 0
    }
    for reader in readers {
      let said = reader.reply(within: seconds + 60) ?? "nothing"
      #expect(said.hasPrefix("read"), "\(said)")
      reads += Int(said.split(separator: " ").last ?? "") ?? 0
    }
    #expect(moves > 0 && reads > 0)
    print("bank: \(moves) moves, \(reads) sums in \(seconds) s")
    #expect(try engine.counters().values.reduce(0, +) == 1_000_000)
    try Invariants.check(engine, "after the bank")
    engine.close()
  }

  /// Two containers whose processes have equal ids share a store; one is killed inside a commit.
  @Test func pidNamespaces() throws {
    let unshare = ["/usr/bin/unshare", "--fork", "--pid", "--kill-child"]
    let probe = Process()
    probe.executableURL = URL(fileURLWithPath: unshare[0])
    probe.arguments = ["--fork", "--pid", "/bin/true"]
    probe.standardError = FileHandle.nullDevice
    try? probe.run()
    probe.waitUntilExit()
    guard probe.terminationStatus == 0 else {
      print("skipped: PID namespaces cannot be made here")
      return
    }
    let place = try Place(.tmpfs)
    let engine = try place.engine()
    try engine.set(Dictionary(uniqueKeysWithValues: (0..<10).map { (Int64($0), 0) }))
    let first = try place.worker("commit", "1000000", "memory", "200", wrapper: unshare)
    let second = try place.worker("commit", "1000000", "memory", "200", wrapper: unshare)
    #expect(first.reply() == "ready")
    #expect(second.reply() == "ready")
    // Both are process 1 where they live.
    let ids = try engine.session.peers().map(\.process)
    #expect(ids.filter { $0 == 1 }.count == 2, "\(ids)")
    usleep(200_000)
    for round in 0..<5 {
      // Killed from outside: no signal of its own namespace can end a process 1.
      let victim = try place.worker("commit", "1000000", "memory", wrapper: unshare)
      usleep(UInt32(20_000 + round * 7_000))
      victim.die()
    }
    first.die()
    let before = Set(try engine.counters().values)
    #expect(before.count == 1)
    usleep(300_000)
    let after = Set(try engine.counters().values)
    #expect(after.count == 1)
    #expect((after.first ?? 0) > (before.first ?? 0), "the other one goes on")
    second.die()
    try engine.set([0: 1])
    engine.close()
  }
}

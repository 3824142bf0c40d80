import Foundation
import ReefEngine
import ReefSystem
import Testing

/// Readers that keep more of the past than a writer admits.
@Suite(.serialized) struct RetentionTests {
  private static let rows: Int64 = 1000

  private func filled(_ place: Place, _ retention: Retention) throws -> Engine {
    let engine = try place.engine(retention: retention)
    try engine.set(Dictionary(uniqueKeysWithValues: (0..<Self.rows).map { ($0, 0) }))
    return engine
  }

  /// Sets all rows to one value.
  private func setAll(_ engine: Engine, _ value: Int64) throws {
    let transaction = try engine.write(.after(.seconds(10)))
    for row in 0..<Self.rows { _ = try transaction.update(table: 0, key: row, column: 1, bits: UInt64(value)) }
    try transaction.commit()
  }

  enum Limit: CaseIterable { case versions, bytes, age }

  private func retention(_ limit: Limit, _ policy: Retention.Policy) -> Retention {
    switch limit {
    case .versions: Retention(versions: 20, policy: policy)
    case .bytes: Retention(bytes: 500, policy: policy)
    case .age: Retention(age: 200_000_000, policy: policy)
    }
  }

  /// The writer is refused, hears who it is, has lost nothing, and goes on once the reader has gone.
  @Test(arguments: Limit.allCases, [Retention.Policy.refuse, .revoke]) func refused(
    limit: Limit, policy: Retention.Policy
  ) throws {
    let place = try Place(.tmpfs)
    let engine = try filled(place, retention(limit, policy))
    defer { engine.close() }
    // It was not opened with `revoke`: from it nothing can be taken.
    let holder = try place.worker("hold")
    #expect(holder.reply()?.hasPrefix("holding") == true)
    var value: Int64 = 0
    var refusal: StoreError?
    for _ in 0..<2000 where refusal == nil {
      do {
        try setAll(engine, value + 1)
        value += 1
      } catch let error as StoreError {
        refusal = error
      }
      if limit == .age { usleep(5000) }
    }
    guard case .retentionLimit(let path, let peer, let text) = refusal else {
      Issue.record("\(limit): the writer ended with \(String(describing: refusal)) after \(value) commits")
      return
    }
    #expect(
      path == place.store && peer?.process == holder.id && peer?.name == "scenario", "\(String(describing: peer))")
    #expect(!text.isEmpty && value > 0)
    if limit == .versions { #expect(value >= 20 && value <= 22, "\(value) commits") }
    #expect(holder.ask("look") == "value 0")
    #expect(Set(try engine.counters().values) == [value], "nothing was changed")
    holder.finish()
    try setAll(engine, value + 1)
    #expect(Set(try engine.counters().values) == [value + 1])
    #expect(engine.session.lock.word(LockLayout.Statistics.revocations) == 0)
    try Invariants.check(engine, "at the end")
  }

  /// Readers that admit it are cut off while they read. They see one version, or an error; the file stays small.
  @Test func revoked() throws {
    let place = try Place(.tmpfs)
    let engine = try filled(place, Retention(versions: 3, policy: .revoke))
    defer { engine.close() }
    let readers = try (0..<3).map { _ in try place.worker("revocable", "4000") }
    for reader in readers { #expect(reader.reply() == "ready") }
    try setAll(engine, 1)
    let size = place.occupied
    let end = Date().addingTimeInterval(4)
    var value: Int64 = 1
    while Date() < end {
      value += 1
      try setAll(engine, value)
    }
    var (whole, revoked, cut) = (0, 0, 0)
    for reader in readers {
      let line = reader.rest().last ?? "nothing"
      let words = line.split(separator: " ")
      guard words.count == 6, words[0] == "whole" else {
        Issue.record("a reader ended with: \(line)")
        continue
      }
      whole += Int(words[1]) ?? 0
      revoked += Int(words[3]) ?? 0
      cut += Int(words[5]) ?? 0
    }
    print("revocation: \(value) commits, \(whole) versions read whole, \(revoked) taken away, \(cut) in the middle")
    #expect(whole > 0 && revoked > 0 && cut > 0)
    #expect(engine.session.lock.word(LockLayout.Statistics.revocations) > 0)
    #expect(place.occupied < 6 * size, "\(size) bytes became \(place.occupied)")
    try Invariants.check(engine, "at the end")
  }

  /// Stopped right before it copies a node, which is overwritten before it goes on.
  @Test func overtakenWhileItCopies() throws {
    let place = try Place(.tmpfs)
    let engine = try filled(place, Retention(versions: 3, policy: .revoke))
    defer { engine.close() }
    var value: Int64 = 0
    for count in 1...12 {
      let reader = try place.worker("revocable", "200", environment: ["REEF_STOP": "revocation.copying:\(count)"])
      #expect(reader.reply() == "ready")
      for _ in 0..<5000 where reader.state != "T" { usleep(1000) }
      #expect(reader.state == "T")
      let before = engine.session.lock.word(LockLayout.Statistics.revocations)
      for _ in 0..<30 {
        value += 1
        try setAll(engine, value)
      }
      #expect(engine.session.lock.word(LockLayout.Statistics.revocations) == before + 1)
      #expect(engine.session.slots.anyoneIsRevoked, "it may still be looking: nothing is punched")
      reader.goOn()
      let line = reader.rest().last ?? "nothing"
      #expect(line.hasPrefix("whole "), "stopped at copy \(count): \(line)")
      #expect(!line.contains("revoked 0"), "stopped at copy \(count): \(line)")
      #expect(!engine.session.slots.anyoneIsRevoked)
    }
    try Invariants.check(engine, "at the end")
  }

  /// One that was cut off and dies, or is stopped: its slot comes free, and space is given back again.
  @Test func revokedAndKilled() throws {
    let place = try Place(.tmpfs)
    let engine = try filled(place, Retention(versions: 3, policy: .revoke))
    defer { engine.close() }
    for round in 0..<5 {
      let reader = try place.worker("revocable", "60000")
      #expect(reader.reply() == "ready")
      usleep(20_000)
      reader.stop()
      for value in 0..<20 { try setAll(engine, Int64(round * 20 + value)) }
      if round % 2 == 0 {
        reader.die()
      } else {
        reader.goOn()
        usleep(20_000)
        reader.die()
      }
      try setAll(engine, 9999)
      #expect(Set(try engine.counters().values) == [9999])
      engine.session.freeDeadSlots()
      #expect(!engine.session.slots.anyoneIsRevoked, "round \(round)")
    }
    try Invariants.check(engine, "at the end")
  }
}

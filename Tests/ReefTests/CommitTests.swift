import Foundation
import Reef
import Testing

@Suite(.timeLimit(.minutes(15))) struct CommitTests {
  @Test func everyCommitInOrder() async throws {
    let store = try Store(inMemory: freshName(), models: Spaceship.self, LogLine.self)
    let start = store.version
    let commits = store.commits()
    // Made before anybody looks, faster than anybody looks
    let written = Task.detached {
      for id in 0..<200 {
        try await store.write { transaction in
          try transaction.insert(Spaceship(id: id, name: "ship \(id)"))
          if id > 0 { try transaction.update(Spaceship.self, key: id - 1) { $0.maxSpeed = 1 } }
          if id > 1 { try transaction.delete(Spaceship.self, key: id - 2) }
        }
      }
    }
    var expected = start
    for try await commit in commits {
      expected += 1
      let id = Int(expected - start) - 1
      #expect(commit.version == expected && !commit.isAfterGap && commit.snapshot.version == expected)
      let changes = try commit.changes(of: Spaceship.self)
      #expect(changes.insertionCount == 1 && changes.inserted.first?.id == id)
      #expect(changes.modificationCount == (id > 0 ? 1 : 0) && changes.modified.first?.before.maxSpeed ?? 0 == 0)
      #expect(changes.deletionCount == (id > 1 ? 1 : 0) && changes.deleted.first?.id == (id > 1 ? id - 2 : nil))
      #expect(try commit.changes(of: LogLine.self).isEmpty)
      if expected == start + 200 { break }
    }
    try await written.value
    #expect(store.version == start + 200)
  }

  @Test func resumedAfterAVersion() async throws {
    let store = try Store(inMemory: freshName(), models: LogLine.self)
    for line in 0..<5 { try await store.write { try $0.insert(LogLine(text: "\(line)", level: 0)) } }
    var iterator = store.commits(after: store.version).makeAsyncIterator()
    try await store.write { try $0.insert(LogLine(text: "x", level: 0)) }
    let next = try await iterator.next()
    #expect(next?.version == store.version && next?.isAfterGap == false)
    // Versions that are gone are an explicit gap.
    var late = store.commits(after: 1).makeAsyncIterator()
    let gap = try await late.next()
    #expect(gap?.isAfterGap == true && gap?.version == store.version)
    try await store.write { try $0.insert(LogLine(text: "y", level: 0)) }
    let following = try await late.next()
    #expect(following?.isAfterGap == false && following?.version == store.version)
  }

  @Test func waiting() async throws {
    let store = try Store(inMemory: freshName(), models: LogLine.self)
    let version = store.version
    #expect(throws: StoreError.timeout) { try waitBlocking(store, version, .milliseconds(20)) }
    await #expect(throws: StoreError.timeout) { try await store.wait(after: version, timeout: .milliseconds(20)) }
    let waiter = Task { try await store.wait(after: version) }
    try await Task.sleep(for: .milliseconds(20))
    try await store.write { try $0.insert(LogLine(text: "x", level: 0)) }
    #expect(try await waiter.value == version + 1)
    #expect(try await store.wait(after: version, timeout: .seconds(5)) == version + 1)
    #expect(try waitBlocking(store, version, .zero) == version + 1)
    let cancelled = Task { try await store.wait(after: version + 1) }
    try await Task.sleep(for: .milliseconds(20))
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    #expect(try store.noticeDescriptor >= 0)
    #expect(try store.peers.contains { $0.isSelf })
  }

  private func waitBlocking(_ store: Store, _ version: UInt64, _ timeout: Duration) throws -> UInt64 {
    try store.wait(after: version, timeout: timeout)
  }
}

import Foundation
import ReefEngine
import ReefSystem
import Synchronization
import Testing

/// Being told: no wake-up is lost for longer than a bound, whoever dies, and none costs anything while nobody listens.
@Suite(.serialized) struct NoticeTests {
  /// Two processes answer each other 2,000 times. One lost wake-up would make a round as long as the bound.
  @Test func pingPong() throws {
    let store = try TestStore()
    let one = try store.peer("one")
    let two = try store.peer("two")
    #expect(one.reply() != nil && two.reply() != nil)
    let start = Date()
    one.send("pingPong first 2000")
    two.send("pingPong second 2000")
    #expect(one.reply() == "done 0")
    #expect(two.reply() == "done 0")
    #expect(Date().timeIntervalSince(start) < 10)
  }

  /// Two writers with pauses around the time it takes to fall asleep, four waiters: each reaches the last version.
  @Test func everyWaiterReachesTheLast() throws {
    let store = try TestStore()
    let writers = try (0..<2).map { try store.peer("w\($0)") }
    let waiters = try (0..<4).map { try store.peer("r\($0)") }
    for peer in writers + waiters { #expect(peer.reply() != nil) }
    for waiter in waiters { waiter.send("follow 4000") }
    for writer in writers { writer.send("commit 2000 100") }
    for writer in writers { #expect(writer.reply()?.hasPrefix("committed") == true) }
    let start = Date()
    for waiter in waiters { #expect(waiter.reply()?.hasPrefix("followed 4000") == true) }
    #expect(Date().timeIntervalSince(start) < 0.15)
  }

  /// A writer dies after making a version visible and before waking anyone: the next commit wakes, or the repair does.
  @Test(arguments: ["worker.afterPublish", "publish.wake"]) func writerDiesBeforeWaking(step: String) throws {
    let store = try TestStore()
    let waiter = try store.peer("waiter")
    #expect(waiter.reply() == "built")
    let writer = try store.peer("writer", environment: ["REEF_KILL": step])
    #expect(writer.reply() == "joined")
    waiter.send("wait 0 5000")
    usleep(30_000)
    writer.send("publish")
    writer.process.waitUntilExit()
    let start = Date()
    let next = try store.peer("next")
    #expect(next.reply() == "joined")
    #expect(next.ask("publish") == "published 2")
    #expect(waiter.reply()?.hasPrefix("version") == true)
    #expect(Date().timeIntervalSince(start) < 1)
  }

  /// While nobody sleeps, no commit wakes: the count of wake-ups stays. A killed sleeper costs one.
  @Test func noWakeUpsWhileNobodySleeps() throws {
    let store = try TestStore()
    let session = try Session.open(.init(location: .memory(store.name))) { _ throws(StoreError) in }
    defer { session.leave() }
    func wakes() -> UInt64 { session.lock.word(LockLayout.Statistics.wakes) }
    func commit() throws {
      _ = try session.acquireWriter(deadline: .never)
      let version = session.newestVersion + 1
      session.releaseAndWake(version, wake: session.publish(version))
    }
    for _ in 0..<100 { try commit() }
    #expect(wakes() == 0)
    let sleeper = try store.peer("sleeper")
    #expect(sleeper.reply() == "joined")
    sleeper.send("wait \(session.newestVersion) 60000")
    #expect(eventually { session.lock.word(LockLayout.Control.visible) & 1 == 1 })
    sleeper.die()
    for _ in 0..<100 { try commit() }
    #expect(wakes() == 1)
  }

  @Test func waitEndsInTimeAndAtClose() throws {
    let store = try TestStore()
    let session = try Session.open(.init(location: .memory(store.name))) { _ throws(StoreError) in }
    #expect(throws: StoreError.timeout) { try session.wait(after: 0, deadline: .after(.milliseconds(30))) }
    #expect(throws: StoreError.timeout) { try session.wait(after: 0, deadline: .now, spin: .milliseconds(5)) }
    let thread = try SystemThread(name: "waiter") {
      #expect(throws: StoreError.closed) { try session.wait(after: 0, deadline: .after(.seconds(20))) }
    }
    usleep(20_000)
    session.leave()
    thread.join()
  }

  /// Two processes' event loops hear of each commit; neither swallows the other's.
  @Test func descriptorsOfTwoProcesses() throws {
    let store = try TestStore()
    let session = try Session.open(.init(location: .memory(store.name))) { _ throws(StoreError) in }
    defer { session.leave() }
    let writer = try store.peer("writer")
    #expect(writer.reply() == "joined")
    let mine = try session.noticeDescriptor
    let other = try NoteFIFOProbe(session)
    _ = try EventQueue.wait(mine, milliseconds: 0)
    for round in 1...20 {
      #expect(writer.ask("publish") == "published \(round)")
      #expect(ready(mine) && ready(other.descriptor))
      #expect(session.newestVersion == UInt64(round))
      _ = try EventQueue.wait(mine, milliseconds: 0)
      _ = try EventQueue.wait(other.descriptor, milliseconds: 0)
    }
  }

  /// While the bit of a dead listener is cleared, nobody can enter its entry, listen there, and lose its own bit with it.
  @Test func newcomerOfADeadListener() throws {
    let store = try TestStore()
    let session = try Session.open(.init(location: .memory(store.name))) { _ throws(StoreError) in }
    defer { session.leave() }
    let listener = try store.peer("listener")
    #expect(listener.reply() == "joined")
    let others = (0..<8).filter { $0 != session.peer }
    let entry = try #require(others.first { session.peerTable.isTaken($0, me: session.identity) })
    _ = session.lock.fetchOr(LockLayout.Control.listeners, 1 << UInt64(entry))
    listener.die()
    let entered = Mutex<[Bool]>([])
    FaultPoint.install(steps: { step in
      guard step == "listeners.dead" else { return }
      guard let newcomer = try? store.peer("newcomer"), newcomer.reply() == "joined" else { return }
      entered.withLock { $0.append(session.peerTable.isTaken(entry, me: session.identity)) }
      newcomer.die()
    })
    defer { FaultPoint.install(steps: nil) }
    session.wakeAfterRepair()
    #expect(entered.withLock { $0 } == [false])
    #expect(session.lock.word(LockLayout.Control.listeners) & 1 << UInt64(entry) == 0)
  }

  /// Nobody reads the pipe: it fills, and commits go on telling.
  @Test func fullPipe() throws {
    let store = try TestStore()
    let session = try Session.open(.init(location: .memory(store.name))) { _ throws(StoreError) in }
    defer { session.leave() }
    let descriptor = try session.noticeDescriptor
    for _ in 0..<70_000 { session.note.hint() }
    _ = try EventQueue.wait(descriptor, milliseconds: 0)
    var heard = 0
    for _ in 0..<100 {
      session.note.hint()
      if ready(descriptor) { heard += 1 }
      _ = try EventQueue.wait(descriptor, milliseconds: 0)
    }
    #expect(heard >= 99)
  }

  private func ready(_ descriptor: Int32) -> Bool {
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return Glibc.poll(&poll, 1, 400) == 1
  }

  /// `for await`: the newest version after every commit burst, the end at the end.
  @Test func ticks() async throws {
    let store = try TestStore()
    let session = try Session.open(.init(location: .memory(store.name))) { _ throws(StoreError) in }
    let writer = try store.peer("writer")
    #expect(writer.reply() == "joined")
    var readers: [Task<UInt64, Never>] = []
    for _ in 0..<3 {
      let stream = try session.ticks()
      readers.append(Task { await Self.last(of: stream, upTo: 500) })
    }
    writer.send("commit 500 50")
    for reader in readers {
      let last = await reader.value
      #expect(last == 500)
    }
    let late = try session.ticks()
    #expect(await late.wait(after: 400) == 500)
    // A task that is cancelled waits no longer, and neither does what it waited in.
    let cancelled = try session.ticks()
    let waiting = Task { await cancelled.wait(after: 500) }
    waiting.cancel()
    #expect(await waiting.value == nil)
    let ending = try session.ticks()
    let reader = Task { await Self.last(of: ending, after: 500, upTo: .max) }
    session.leave()
    let last = await reader.value
    #expect(last == 0)
    #expect(await late.wait(after: 400) == nil)
  }

  private static func last(of stream: NoticeTicks, after: UInt64 = 0, upTo end: UInt64) async -> UInt64 {
    var last: UInt64 = 0
    while let version = await stream.wait(after: max(last, after)) {
      if version <= last { return 0 }
      last = version
      if last >= end { break }
    }
    return last
  }

  /// Where there can be no FIFO, the descriptor still ticks by its timer and everything else works.
  @Test func noFIFO() throws {
    let store = try TestStore(inMemory: false)
    #expect(FileManager.default.createFile(atPath: store.path + ".note", contents: Data("not a pipe".utf8)))
    let session = try Session.open(.init(location: .file(store.path))) { building throws(StoreError) in
      try writeMark(building)
    }
    defer { session.leave() }
    let descriptor = try session.noticeDescriptor
    let writer = try store.peer("writer")
    #expect(writer.reply() == "joined")
    #expect(writer.ask("publish") == "published 1")
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    #expect(Glibc.poll(&poll, 1, 2000) == 1)
    #expect(try session.wait(after: 0, deadline: .now) == 1)
  }
}

/// A second listener on the same FIFO, through an open of its own, as another process would have.
private final class NoteFIFOProbe {
  let descriptor: Int32
  private let fifo: Int32
  init(_ session: Session) throws {
    fifo = try File.open(session.path + ".note", .readWrite, .nonBlocking)
    descriptor = try EventQueue.make()
    try EventQueue.add(fifo, to: descriptor, edgeTriggered: true)
    _ = try EventQueue.wait(descriptor, milliseconds: 0)
  }
  deinit {
    File.close(descriptor)
    File.close(fifo)
  }
}

import Glibc
import ReefEngine
import ReefSystem
import Synchronization

/// What workers do with a session. A counter in the lock file's pool, guarded by nothing but the writer word, stands for
/// the data: with two writers at a time it would lose counts.
enum Scenario {
  static let counter = LockLayout.Waiting.pool
  static let inside = LockLayout.Waiting.pool + 8

  static func build(_ building: Building) throws(StoreError) {
    // A minimal mark of a store, so that a later opener takes the file for one.
    try storing(building.path) { () throws(SystemError) in
      try building.data.allocate(offset: 0, length: 4096)
      var magic = DataLayout.magic
      try withUnsafeBytes(of: &magic) { bytes throws(SystemError) in try building.data.write(bytes, at: 0) }
    }
  }

  /// One version under the writer word, its ring entry first.
  static func commitHeld(_ session: Session) -> (UInt64, Bool) {
    let lock = session.lock
    let count = lock.word(counter)
    lock.set(counter, count + 1)
    let version = session.newestVersion + 1
    let entry = LockLayout.RingEntry.table + Int(version % UInt64(LockLayout.ringSize)) * LockLayout.RingEntry.size
    lock.set(entry + LockLayout.RingEntry.version, version)
    lock.set(entry + LockLayout.RingEntry.root, version * 3)
    lock.set(entry + LockLayout.RingEntry.extents, version * 5)
    lock.set(entry + LockLayout.RingEntry.time, Clock.realtime)
    FaultPoint.step("worker.beforePublish")
    let wake = session.publish(version)
    FaultPoint.step("worker.afterPublish")
    return (version, wake)
  }

  static func publish(_ session: Session, count: Int) throws -> UInt64 {
    var last: UInt64 = 0
    for _ in 0..<count {
      if try session.acquireWriter(deadline: .after(.seconds(10))) { session.wakeAfterRepair() }
      let (version, wake) = commitHeld(session)
      session.releaseAndWake(version, wake: wake)
      last = version
    }
    return last
  }

  static func checkpoint(_ session: Session, _ words: [String]) throws -> String {
    switch words.first {
    case "try": return session.checkpointWord.tryAcquire().map { "\($0)" } ?? "busy"
    case "acquire":
      let deadline = Deadline.after(.milliseconds(Int(words[1]) ?? 0))
      return session.checkpointWord.acquire(deadline).map { "\($0)" } ?? "busy"
    default:
      session.checkpointWord.release()
      return "released"
    }
  }

  /// Takes and gives back the writer word as fast as it can, on several threads; says how often, and whether it ever met
  /// another writer inside.
  static func hammer(_ session: Session, milliseconds: Int, threads: Int) throws -> String {
    let count = Atomic<Int>(0)
    let met = Atomic<Int>(0)
    let longest = Atomic<UInt64>(0)
    let takeovers = Atomic<Int>(0)
    let end = Deadline.after(.milliseconds(milliseconds))
    withThreads(threads) { id in
      let mark = UInt64(session.peer) << 32 | UInt64(id) << 16 | 1
      while !end.isPast {
        let start = Clock.monotonic
        guard let took = try? session.acquireWriter(deadline: .after(.seconds(10))) else { return }
        let waited = Clock.monotonic - start
        _ = longest.max(waited, ordering: .relaxed)
        if took {
          takeovers.wrappingAdd(1, ordering: .relaxed)
          session.lock.set(inside, 0)
        }
        if session.lock.word(inside) != 0 { met.wrappingAdd(1, ordering: .relaxed) }
        session.lock.set(inside, mark)
        let before = session.lock.word(counter)
        let until = Clock.monotonic + 1000
        while Clock.monotonic < until {}
        session.lock.set(counter, before + 1)
        if session.lock.word(inside) != mark { met.wrappingAdd(1, ordering: .relaxed) }
        session.lock.set(inside, 0)
        session.releaseWriter()
        count.wrappingAdd(1, ordering: .relaxed)
      }
    }
    let all = [
      count.load(ordering: .relaxed), met.load(ordering: .relaxed), Int(longest.load(ordering: .relaxed) / 1000),
    ]
    return "hammered \(all.map(String.init).joined(separator: " ")) \(takeovers.load(ordering: .relaxed))"
  }

  private static func withThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let threads = (0..<count).compactMap { id in try? SystemThread(name: "hammer") { body(id) } }
    for thread in threads { thread.join() }
  }

  /// Two processes answer each other's versions, one the odd, one the even; says how many rounds were as slow as a lost
  /// wake-up.
  static func pingPong(_ session: Session, first: Bool, rounds: Int) throws -> String {
    var slow = 0
    var mine: UInt64 = first ? 1 : 2
    for _ in 0..<rounds {
      let start = Clock.monotonic
      while session.newestVersion < mine - 1 {
        _ = try session.wait(after: mine - 2, deadline: .after(.seconds(10)))
      }
      if Clock.monotonic - start > 150_000_000 { slow += 1 }
      _ = try publish(session, count: 1)
      mine += 2
    }
    return "done \(slow)"
  }

  /// Waits for one version after another until `last`; how many looks that took, and how many were as slow as a lost
  /// wake-up.
  static func follow(_ session: Session, until last: UInt64) throws -> String {
    var seen: UInt64 = 0
    var looks = 0
    while seen < last {
      seen = try session.wait(after: seen, deadline: .after(.seconds(20)))
      looks += 1
    }
    return "followed \(seen) \(looks)"
  }

  /// Commits `count` versions with a random pause of up to `pause` microseconds.
  static func commit(_ session: Session, count: Int, pause: Int) throws -> String {
    for _ in 0..<count {
      _ = try publish(session, count: 1)
      if pause > 0 { usleep(UInt32.random(in: 0...UInt32(pause))) }
    }
    return "committed \(session.newestVersion)"
  }

  /// Below which version everything was reclaimed, by `reclaim`.
  static let floor = LockLayout.Waiting.pool + 16

  /// Commits, and after each declares free what no pin holds.
  static func reclaim(_ session: Session, count: Int) throws -> String {
    for _ in 0..<count {
      _ = try session.acquireWriter(deadline: .never)
      let (version, wake) = commitHeld(session)
      var oldest = version
      _ = session.slots.takeLingering()
      session.slots.forEachPin { _, pinned, _ in oldest = min(oldest, pinned) }
      session.lock.raise(floor, to: oldest)
      session.releaseAndWake(version, wake: wake)
    }
    return "reclaimed \(session.newestVersion)"
  }

  /// Pins the newest version again and again, until `last`: how often it held one that was declared free.
  static func observe(_ session: Session, until last: UInt64) throws -> String {
    var wrong = 0
    var pins = 0
    var newest: UInt64 = 0
    let slot = try session.claimSlot()
    while newest < last {
      let pinned = session.pinNewest(slot)
      newest = pinned.version
      pins += 1
      for _ in 0..<(pins & 15) where session.lock.loadAcquire(floor) > newest { wrong += 1 }
      if pinned.root != newest * 3 || pinned.extents != newest * 5 { wrong += 1 }
      session.unpin(slot)
    }
    session.returnSlot(slot)
    return "read \(wrong)"
  }

  /// What the child of a fork finds.
  static func fork(_ session: Session, _ words: [String]) throws -> String {
    let slot = try session.claimSlot()
    let version = session.pinNewest(slot).version
    var pipe: [Int32] = [0, 0]
    guard Glibc.pipe(&pipe) == 0 else { return "error pipe" }
    let child = forkProcess()
    if child == 0 {
      let answer = inChild(session, slot: slot, open: words.first)
      _ = answer.withCString { write(pipe[1], $0, strlen($0)) }
      if words.last == "stay" {
        // Lives until the test closes its input.
        var byte: UInt8 = 0
        while read(0, &byte, 1) > 0 {}
      }
      _exit(0)
    }
    close(pipe[1])
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = read(pipe[0], &bytes, bytes.count)
    close(pipe[0])
    if words.last != "stay" { waitpid(child, nil, 0) }
    var pins: [UInt64] = []
    session.slots.forEachPin { pinned, version, _ in if pinned == slot { pins.append(version) } }
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self) + (pins == [version] ? " kept" : " lost")
  }

  private static func inChild(_ session: Session, slot: Int, open store: String?) -> String {
    var answer = ""
    do {
      try session.checkUsable()
      answer = "usable"
    } catch {
      answer = error == .usedAfterFork ? "usedAfterFork" : "other"
    }
    session.unpin(slot)
    session.returnSlot(slot)
    session.releaseWriter()
    session.leave()
    guard let store, store != "stay" else { return answer }
    do {
      var options = Session.Options(
        location: store.hasPrefix("memory:") ? .memory(String(store.dropFirst(7))) : .file(String(store.dropFirst(5))))
      options.peerName = "child"
      let own = try Session.open(options) { _ throws(StoreError) in }
      let slot = try own.claimSlot()
      answer += " \(own.peer != session.peer ? "ownPeer" : "samePeer") pinned \(own.pinNewest(slot).version)"
      own.unpin(slot)
      own.leave()
    } catch {
      answer += " \(error)"
    }
    return answer
  }

  static func time(_ session: Session) throws -> String {
    func best(_ body: () throws -> Void) rethrows -> String {
      var best = UInt64.max
      for _ in 0..<20 {
        let start = Clock.monotonic
        for _ in 0..<50_000 { try body() }
        best = min(best, Clock.monotonic - start)
      }
      return "\(Double(best / 500) / 100)"
    }
    let acquire = try best {
      _ = try session.acquireWriter(deadline: .never)
      session.releaseWriter()
    }
    let commit = try best {
      _ = try session.acquireWriter(deadline: .never)
      let (version, wake) = commitHeld(session)
      session.releaseAndWake(version, wake: wake)
    }
    let slot = try session.claimSlot()
    let pin = best {
      _ = session.pinNewest(slot)
      session.unpin(slot)
    }
    let snapshot = try best {
      let slot = try session.claimSlot()
      _ = session.pinNewest(slot)
      session.unpin(slot)
      session.returnSlot(slot)
    }
    return "acquire+release \(acquire) commit \(commit) pin+unpin \(pin) claim+pin+unpin+return \(snapshot) ns"
  }
}

/// `fork`, which Swift hides: tests only.
@_silgen_name("fork") private func forkProcess() -> Int32

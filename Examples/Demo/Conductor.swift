import Foundation
import Reef

/// Starts the loader and the workers, kills one, replaces it, and judges the end.
final class Conductor {
  private let path: String
  private let quick: Bool
  private let mailbox = Mailbox()
  private let start = clockNow()
  private let deadline: Double
  private var store: Store?
  private var alive: [Role] = []
  private var pictures: [LiveQuery: Message] = [:]
  private var loaded: Message?
  private var lived: Message?
  private var holders: [String] = []

  struct Failure: Error, CustomStringConvertible { var description: String }

  init(path: String, quick: Bool) {
    self.path = path
    self.quick = quick
    deadline = quick ? 60 : 110
  }

  func run() -> Int32 {
    defer { cleanUp() }
    do {
      try perform()
      print("demo: OK (\(pictures.count) pictures equal their queries after \(grouped(lived?.commits ?? 0)) commits)")
      return 0
    } catch {
      print("demo: FAILED (\(error))")
      return 1
    }
  }

  private func perform() throws {
    say("the store is \(path)")
    let loader = try begin("loader", ["loader", path, quick ? "quick" : "full"])
    loaded = try wait(for: .loaded, from: loader)
    let store = try openStore(path, as: "conductor")
    self.store = store

    var workers: [LiveQuery: Role] = [:]
    for query in LiveQuery.allCases { workers[query] = try begin("worker \(query.rawValue)", arguments(query)) }
    for query in LiveQuery.allCases {
      guard let worker = workers[query] else { continue }
      let ready = try wait(for: .ready, from: worker)
      say("\(worker.name) follows \(grouped(ready.objects)) packages: \(ready.text)")
    }

    loader.go()
    try attend(for: quick ? 1 : 4)
    let victim = LiveQuery.large
    if let worker = workers[victim] {
      say("SIGKILL to \(worker.name) (process \(worker.identifier))")
      worker.kill()
      try waitForEnd(of: worker)
      say("the others go on: \(try describe(store))")
      try attend(for: quick ? 0.5 : 1.5)
      let replacement = try begin("worker \(victim.rawValue) again", arguments(victim))
      workers[victim] = replacement
      let ready = try wait(for: .ready, from: replacement)
      say(
        "\(replacement.name) (process \(replacement.identifier)) has its picture of \(grouped(ready.objects)) packages")
    }
    try attend(for: quick ? 0.5 : 2)
    holders = try peerTable(store)
    loader.go()

    lived = try wait(for: .lived, from: loader)
    for (query, worker) in workers { pictures[query] = try wait(for: .picture, from: worker) }
    try judge(store)
    report(store)
    for role in alive { role.go() }
    while !alive.isEmpty { try take(mailbox.next(within: remaining())) }
  }

  // MARK: Processes

  private func arguments(_ query: LiveQuery) -> [String] { ["worker", path, query.rawValue] }

  private func begin(_ name: String, _ arguments: [String]) throws -> Role {
    let role = try Role(name, arguments, mailbox: mailbox)
    alive.append(role)
    return role
  }

  private var pending: [(Role, Message)] = []

  private func remaining() -> Double { deadline - Double(clockNow() - start) / 1e9 }

  /// Reads one letter: prints what is said, keeps what is told, fails where a process ended by itself.
  private func take(_ letter: Mailbox.Letter?) throws {
    switch letter {
    case .message(let role, let message):
      if message.kind == .say { say("\(role.name): \(message.text)") } else { pending.append((role, message)) }
    case .ended(let role, let status, let bySignal):
      let wasExpected = alive.contains { $0 === role } && (ending === role || lived != nil && status == 0)
      alive.removeAll { $0 === role }
      if !wasExpected {
        throw Failure(description: "\(role.name) ended by \(bySignal ? "signal" : "status") \(status)")
      }
    case nil:
      if remaining() <= 0 { throw Failure(description: "not done in \(Int(deadline)) seconds") }
    }
  }

  private var ending: Role?

  private func wait(for kind: Message.Kind, from role: Role) throws -> Message {
    while true {
      if let index = pending.firstIndex(where: { $0.0 === role && $0.1.kind == kind }) {
        return pending.remove(at: index).1
      }
      try take(mailbox.next(within: max(0, remaining())))
    }
  }

  private func waitForEnd(of role: Role) throws {
    ending = role
    while alive.contains(where: { $0 === role }) { try take(mailbox.next(within: max(0, remaining()))) }
    ending = nil
  }

  /// Goes on listening for some seconds.
  private func attend(for seconds: Double) throws {
    let end = clockNow() + Int(seconds * 1e9)
    while case let left = Double(end - clockNow()) / 1e9, left > 0 {
      if let letter = mailbox.next(within: left) { try take(letter) }
    }
  }

  private func cleanUp() {
    for role in alive { role.kill() }
    store = nil
    try? FileManager.default.removeItem(atPath: (path as NSString).deletingLastPathComponent)
  }

  // MARK: Judging

  /// Each worker compared its picture itself; here all are compared with queries of this process.
  private func judge(_ store: Store) throws {
    let snapshot = try store.snapshot()
    for query in LiveQuery.allCases {
      guard let picture = pictures[query] else { throw Failure(description: "no picture of \(query.rawValue)") }
      guard picture.isEqual else {
        throw Failure(description: "the picture of '\(query.title)' differs from a fresh query in the same process")
      }
      let fresh = Picture(query.results(snapshot))
      guard fresh.digest == picture.digest, fresh.entries.count == picture.objects else {
        throw Failure(description: "the picture of '\(query.title)' differs from a fresh query in another process")
      }
      guard picture.notices > 0 else { throw Failure(description: "nobody told of '\(query.title)'") }
    }
    guard let lived, snapshot.objects(Package.self).count == lived.objects else {
      throw Failure(description: "the store does not hold the loader's \(lived?.objects ?? 0) packages")
    }
  }

  // MARK: Telling

  private func say(_ text: String) {
    print(String(format: "%6.2f s  %@", Double(clockNow() - start) / 1e9, text))
    fflush(nil)
  }

  private func describe(_ store: Store) throws -> String {
    try store.peers.map { peer in
      "\(peer.name) holds "
        + (peer.held.isEmpty ? "nothing" : peer.held.map { "\($0.version)" }.joined(separator: ", "))
    }.joined(separator: " · ")
  }

  private func peerTable(_ store: Store) throws -> [String] {
    let newest = store.version
    return try store.peers.map { peer in
      let held = peer.held.map { held in
        held.version >= newest
          ? "version \(held.version), the newest" : "version \(held.version), \(newest - held.version) behind"
      }
      return "  \(pad(peer.name, 24)) process \(pad(String(peer.process), 8)) "
        + (held.isEmpty ? "no version" : held.joined(separator: "; "))
    }
  }

  private func report(_ store: Store) {
    let objects = lived?.objects ?? 0
    let size = ((try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int) ?? 0
    print("")
    print(
      "objects    \(grouped(objects)) packages of 15 properties; \(grouped(size / 1_000_000)) MB of file, "
        + "\(grouped(objects > 0 ? size / objects : 0)) bytes an object")
    print(
      "commits    \(grouped(lived?.commits ?? 0)), \(lived?.bulk ?? 0) of them in bulk; newest version "
        + "\(grouped(Int(clamping: store.version)))")
    print("")
    print("live query                                   objects  notices  latency p50          p99")
    for query in LiveQuery.allCases {
      guard let picture = pictures[query] else { continue }
      let sorted = picture.latencies.sorted()
      func at(_ fraction: Double) -> String {
        sorted.isEmpty ? "–" : "\(grouped(Int(sorted[min(sorted.count - 1, Int(Double(sorted.count) * fraction))]))) µs"
      }
      print(
        "\(pad(query.title, 42))\(pad(grouped(picture.objects), 10, left: true))\(pad(grouped(picture.notices), 9, left: true))"
          + "\(pad(at(0.5), 13, left: true))\(pad(at(0.99), 13, left: true))")
    }
    print("(latency: from just before the commit to the change set in the worker's hands, its query updated)")
    print("")
    print("who held which version, while it lived:")
    for line in holders { print(line) }
    print("")
  }

  private func pad(_ text: String, _ width: Int, left: Bool = false) -> String {
    let space = String(repeating: " ", count: max(0, width - text.count))
    return left ? space + text : text + space
  }
}

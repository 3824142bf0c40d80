import Glibc
import ReefEngine
import ReefSystem

/// The process that tests start, stop and kill: it obeys lines from its standard input and answers each with one line.
/// Arguments are a line too: `reef-test-worker open memory:name`.
@main
struct Worker {
  static func main() {
    var worker = Worker()
    let arguments = CommandLine.arguments.dropFirst()
    if !arguments.isEmpty { worker.obey(arguments.joined(separator: " ")) }
    while let line = readLine() { worker.obey(line) }
  }

  var session: Session?
  var slots: [Int] = []

  mutating func obey(_ line: String) {
    let words = line.split(separator: " ").map(String.init)
    guard let command = words.first else { return }
    do {
      say(try run(command, Array(words.dropFirst())))
    } catch {
      say("error \(label(error))")
    }
  }

  private func say(_ answer: String) {
    let line = answer + "\n"
    _ = line.withCString { write(1, $0, strlen($0)) }
  }

  private func label(_ error: any Error) -> String {
    guard let error = error as? StoreError else { return "\(error)" }
    switch error {
    case .busy(let holder): return "busy \(holder?.name ?? "?")"
    case .slotsFull(let holders): return "slotsFull \(holders.map(\.name).joined(separator: ","))"
    default: return caseName(error)
    }
  }

  private func caseName(_ error: StoreError) -> String {
    Mirror(reflecting: error).children.first?.label ?? String(reflecting: error).split(separator: ".").last.map(
      String.init) ?? "?"
  }

  private func opened() throws -> Session {
    guard let session else { throw StoreError.closed }
    return session
  }

  private mutating func run(_ command: String, _ words: [String]) throws -> String {
    switch command {
    case "open": return try open(words)
    case "leave":
      session?.leave()
      session = nil
      return "left"
    case "exit": exit(0)
    case "acquire":
      let took = try opened().acquireWriter(deadline: .after(.milliseconds(Int(words[0]) ?? 0)))
      return took ? "tookOver" : "acquired"
    case "release":
      try opened().releaseWriter()
      return "released"
    case "claim":
      for _ in 0..<(Int(words.first ?? "1") ?? 1) { slots.append(try opened().claimSlot()) }
      return "claimed \(slots.last ?? -1)"
    case "pin":
      let slot = try opened().claimSlot()
      slots.append(slot)
      return "pinned \(try opened().pinNewest(slot).version)"
    case "pins":
      var pins: [UInt64] = []
      try opened().slots.forEachPin { _, version, _ in pins.append(version) }
      return "pins \(pins.sorted().map(String.init).joined(separator: ","))"
    case "freeDead": return "freed \(try opened().freeDeadSlots())"
    case "publish":
      return "published \(try Scenario.publish(try opened(), count: Int(words.first ?? "1") ?? 1))"
    case "newest": return "newest \(try opened().newestVersion)"
    case "peers": return "peers \(try opened().peers().map(\.name).sorted().joined(separator: ","))"
    case "wait":
      let deadline = Deadline.after(.milliseconds(Int(words[1]) ?? 0))
      return "version \(try opened().wait(after: UInt64(words[0]) ?? 0, deadline: deadline))"
    case "checkpoint": return try Scenario.checkpoint(opened(), words)
    case "hammer": return try Scenario.hammer(opened(), milliseconds: Int(words[0]) ?? 0, threads: Int(words[1]) ?? 1)
    case "pingPong": return try Scenario.pingPong(opened(), first: words[0] == "first", rounds: Int(words[1]) ?? 0)
    case "follow": return try Scenario.follow(opened(), until: UInt64(words[0]) ?? 0)
    case "commit": return try Scenario.commit(opened(), count: Int(words[0]) ?? 0, pause: Int(words[1]) ?? 0)
    case "reclaim": return try Scenario.reclaim(opened(), count: Int(words[0]) ?? 0)
    case "read": return try Scenario.observe(opened(), until: UInt64(words[0]) ?? 0)
    case "fork": return try Scenario.fork(opened(), words)
    case "reserved": return "reserved \(try opened().data.reserved)"
    case "time": return try Scenario.time(opened())
    default: return "error unknown \(command)"
    }
  }

  private mutating func open(_ words: [String]) throws -> String {
    let parts = words[0].split(separator: ":", maxSplits: 1).map(String.init)
    var options = Session.Options(location: parts[0] == "memory" ? .memory(parts[1]) : .file(parts[1]))
    if words.count > 1 { options.peerName = words[1] }
    options.openTimeout = .seconds(5)
    var answer = "joined"
    session = try Session.open(options) { building throws(StoreError) in
      answer = building.isNew ? "built" : "rebuilt"
      try Scenario.build(building)
    }
    return answer
  }
}

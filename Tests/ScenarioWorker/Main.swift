import Glibc
import ReefEngine
import ReefSystem

/// A process that the scenario tests start, kill, stop and question: `reef-scenario COMMAND STORE [ARGUMENTS]`. It says
/// what it did, a line each, on standard output.
@main struct Main {
  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    guard arguments.count >= 2 else { fail("usage: reef-scenario COMMAND STORE [ARGUMENTS]") }
    do {
      try run(arguments[0], arguments[1], Array(arguments.dropFirst(2)))
    } catch let error as StoreError {
      fail("error \(name(of: error)): \(error)")
    } catch { fail("error \(error)") }
  }

  /// One system call a line: a line is out as a whole before the process can be killed.
  static func say(_ text: String) {
    let line = text + "\n"
    _ = line.withCString { write(1, $0, strlen($0)) }
  }
  static func fail(_ text: String) -> Never {
    say(text)
    exit(1)
  }
  static func name(of error: StoreError) -> String {
    switch error {
    case .usedAfterFork: "usedAfterFork"
    case .closed: "closed"
    case .timeout: "timeout"
    default: Mirror(reflecting: error).children.first?.label ?? "\(error)"
    }
  }

  static func run(_ command: String, _ store: String, _ words: [String]) throws {
    func number(_ index: Int, _ fallback: Int) -> Int { index < words.count ? Int(words[index]) ?? fallback : fallback }
    switch command {
    case "commit":
      try Commands.commit(
        store, count: number(0, .max), durability: words.count > 1 ? words[1] : "memory", pause: number(2, 0))
    case "hold": try Commands.hold(store)
    case "revocable": try Commands.revocable(store, milliseconds: number(0, 1000))
    case "follow": try Commands.follow(store, until: number(0, 1))
    case "add": try Commands.add(store, count: number(0, 1))
    case "stopInside": try Commands.stopInside(store)
    case "bankWrite": try Commands.bankWrite(store, milliseconds: number(0, 1000), seed: number(1, 1))
    case "bankRead": try Commands.bankRead(store, milliseconds: number(0, 1000))
    case "grow": try Commands.grow(store, from: number(0, 0), rows: number(1, 1))
    case "verifyPinned": try Commands.verifyPinned(store)
    case "fill": try Commands.fill(store)
    case "fork": try Commands.fork(store)
    case "powerLoss":
      let run = PowerLoss(
        folder: store, imageFolder: words.count > 4 ? words[4] : store, seed: UInt64(number(0, 1)),
        perEvent: number(1, 4), secondLoss: number(7, 0))
      try run.run(first: number(2, 0), share: number(3, 1))
      try run.runLong(count: number(5, 0), operations: number(6, 40), images: number(8, 0))
      say("appends \(run.appends) second losses \(run.secondLosses)")
      say("images \(run.images) failures \(run.failures.count) seed \(run.seed)")
      for failure in run.failures.prefix(20) { say(failure) }
    case "open": try Commands.open(store)
    case "close": try Commands.openAndClose(store)
    default: fail("unknown command \(command)")
    }
  }
}

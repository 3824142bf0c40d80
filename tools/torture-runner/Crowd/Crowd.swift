import CStepper
import Foundation
import ReefEngine
import ReefSystem

/// Forks a crowd and looks how each of it ends. `--crowd SCENARIO FOLDER SEED SIZE`
struct Crowd {
  enum Scenario: String, CaseIterable {
    case passing, guests, memory, peers, slots, ring

    var name: String {
      switch self {
      case .passing: "open, write, close"
      case .guests: "the same, one stays"
      case .memory: "the same, in memory"
      case .peers: "peer table full"
      case .slots: "reader slots full"
      case .ring: "version ring wrapped"
      }
    }
  }

  let scenario: Scenario
  let path: String
  let board: CrowdBoard
  let size: Int
  let seed: UInt64
  var outcomes: [Outcome: Int] = [:]
  var failures: [String] = []
  private var living: Set<Int32> = []

  static func run(_ words: [String]) throws {
    guard words.count == 4, let scenario = Scenario(rawValue: words[0]), let seed = UInt64(words[2]),
      let size = Int(words[3])
    else { throw TortureError("not for people") }
    var crowd = Crowd(
      scenario: scenario, path: words[1] + "/jobs.reef", board: try CrowdBoard(), size: max(2, size), seed: seed)
    try crowd.play()
    print("count \(crowd.outcomes.values.reduce(0, +)) processes")
    for (outcome, count) in crowd.outcomes { print("count \(count) \(outcome.name)") }
    for failure in crowd.failures { print("failure \(failure.replacing("\n", with: " "))") }
  }

  // MARK: Processes

  private final class Task {
    let body: () throws -> Void
    let board: CrowdBoard
    init(_ body: @escaping () throws -> Void, _ board: CrowdBoard) {
      self.body = body
      self.board = board
    }
  }

  /// The status of one that was refused, with the error that it had to be.
  static let refused: Int32 = 7

  /// Runs `body` in a process of its own.
  @discardableResult
  mutating func start(_ body: () throws -> Void) throws -> Int32 {
    let process = withoutActuallyEscaping(body) { body in
      let task = Unmanaged.passRetained(Task(body, board))
      defer { task.release() }
      return stepper_child(
        { raw in
          let task = Unmanaged<Task>.fromOpaque(raw).takeUnretainedValue()
          alarm(300)
          do {
            try task.body()
            stepper_exit(0)
          } catch {
            task.board.problem = "\(error)"
            stepper_exit(1)
          }
        }, task.toOpaque())
    }
    guard process > 0 else { throw TortureError("fork: \(String(cString: strerror(errno)))") }
    living.insert(process)
    return process
  }

  /// Waits for them all, or for one, and counts how each ended.
  mutating func end(_ only: Int32? = nil) {
    for process in only.map({ [$0] }) ?? Array(living) {
      var status: Int32 = 0
      while waitpid(process, &status, 0) < 0, errno == EINTR {}
      living.remove(process)
      let (signal, code) = (status & 0x7f, status >> 8 & 0xff)
      let outcome: Outcome =
        switch (signal, code) {
        case (0, 0): .right
        case (0, Crowd.refused): .error
        case (0, _): .wrong
        case (SIGALRM, _): .hang
        default: .death
        }
      outcomes[outcome, default: 0] += 1
      guard outcome.isFailure else { continue }
      if failures.count < 20 { failures.append("\(outcome.name), wait status \(status): \(board.problem)") }
    }
  }

  /// Kills one, which is part of the play.
  mutating func kill(_ process: Int32) {
    Glibc.kill(process, SIGKILL)
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    living.remove(process)
  }

  /// Waits until so many have come, or one of them has ended before its time.
  mutating func gather(_ count: Int) throws {
    let end = Board.now + 200_000_000_000
    while board[.arrived] < UInt64(count) {
      usleep(500)
      if !board.problem.isEmpty || Board.now > end {
        for process in living { Glibc.kill(process, SIGKILL) }
        throw TortureError("\(board[.arrived]) of \(count) came: \(board.problem)")
      }
    }
    board[.arrived] = 0
  }

  mutating func demand(_ condition: Bool, _ what: @autoclosure () -> String) {
    if !condition { failures.append(what()) }
  }
}

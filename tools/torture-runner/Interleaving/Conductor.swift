import CStepper
import Foundation

/// Gives the two players their turns: one of them runs at a time, unless it hangs in the kernel where nobody can see it.
struct Conductor {
  enum How {
    /// It stands where it was to stop; it is done; it sleeps, for something the other one is to do; it is no more.
    case reached, ended, blocked, gone
  }
  let board: DuetBoard
  let processes: [Int32]
  /// How a player ended before its time.
  private(set) var statuses: [Int32?] = [nil, nil]
  /// How often one could not go on before the other did, and how often that showed by nothing but time.
  private(set) var blocked = 0
  private(set) var stalled = 0

  init(_ board: DuetBoard, _ processes: [Int32]) {
    self.board = board
    self.processes = processes
  }

  private func state(_ player: Int) -> turns_state { turns_of(board.turns, Int32(player)) }
  func points(_ player: Int) -> UInt64 { turns_points(board.turns, Int32(player)) }

  /// Whether a player has died, or given up.
  private mutating func isGone(_ player: Int) -> Bool {
    if statuses[player] != nil { return true }
    var status: Int32 = 0
    if waitpid(processes[player], &status, WNOHANG) == processes[player] { statuses[player] = status }
    return statuses[player] != nil
  }
  var someoneIsGone: Bool { statuses.contains { $0 != nil } }

  mutating func end(_ player: Int) -> String? {
    var status: Int32 = 0
    while statuses[player] == nil {
      if waitpid(processes[player], &status, 0) == processes[player] { statuses[player] = status }
    }
    return Forked.describe(statuses[player] ?? 0)
  }

  /// Returns once a player has come so far, or is gone.
  mutating func meet(_ player: Int, _ isThere: () -> Bool) -> Bool {
    while !isThere() {
      if isGone(player) { return false }
      usleep(30)
    }
    return true
  }

  /// Until both stand before their first point.
  mutating func assemble() -> Bool {
    for player in 0..<2 {
      while state(player) != TURNS_READY {
        if isGone(player) { return false }
        usleep(20)
      }
    }
    return true
  }

  private mutating func run(_ player: Int, _ goal: UInt64) -> How {
    switch state(player) {
    case TURNS_ENDED: return .ended
    case TURNS_READY: break
    default: return .blocked
    }
    if points(player) >= goal { return .reached }
    let taken = turns_taken(board.turns, Int32(player))
    turns_give(board.turns, Int32(player), goal)
    while turns_taken(board.turns, Int32(player)) == taken {
      let seen = turns_news(board.turns)
      if isGone(player) { return .gone }
      if turns_taken(board.turns, Int32(player)) == taken { turns_await(board.turns, seen, 2000) }
    }
    var (before, since) = (points(player), Board.now)
    while true {
      let seen = turns_news(board.turns)
      switch state(player) {
      case TURNS_ENDED: return .ended
      case TURNS_READY:
        // It slept, and was woken so soon that only that is seen.
        if points(player) >= goal { return .reached }
        blocked += 1
        return .blocked
      case TURNS_ASLEEP:
        blocked += 1
        return .blocked
      default: break
      }
      if isGone(player) { return .gone }
      turns_await(board.turns, seen, 2000)
      let now = points(player)
      if now != before { (before, since) = (now, Board.now) }
      // A sync, a thread of its own that it waits for, or a busy machine.
      if Board.now - since > 100_000_000 {
        stalled += 1
        return .blocked
      }
    }
  }

  /// The whole duet. A problem where neither goes on.
  mutating func conduct(_ segments: [Schedule.Segment]) -> String? {
    var next = 0
    for segment in segments {
      switch run(segment.player, segment.goal) {
      case .gone: return nil
      case .reached, .ended, .blocked: next = 1 - segment.player
      }
    }
    let began = Board.now
    while true {
      let seen = turns_news(board.turns)
      if state(0) == TURNS_ENDED, state(1) == TURNS_ENDED { return nil }
      if isGone(0) || isGone(1) { return nil }
      if Board.now - began > 12_000_000_000 { return "neither goes on: \(state(0).rawValue), \(state(1).rawValue)" }
      if let ready = [next, 1 - next].first(where: { state($0) == TURNS_READY }) {
        if run(ready, .max) == .gone { return nil }
        next = 1 - ready
      } else {
        turns_await(board.turns, seen, 2000)
      }
    }
  }
}

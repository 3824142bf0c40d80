import CStepper
import Foundation

/// Children of a process that never opens a store itself.
enum Forked {
  private final class Task {
    let body: () throws -> Void
    let board: StepBoard
    init(_ body: @escaping () throws -> Void, _ board: StepBoard) {
      self.body = body
      self.board = board
    }
  }

  /// Runs `body` in a child, which ends by itself in any case; its error is on the board.
  static func start(_ board: StepBoard, _ body: () throws -> Void) -> Int32 {
    withoutActuallyEscaping(body) { body in
      let task = Unmanaged.passRetained(Task(body, board))
      defer { task.release() }
      return stepper_child(
        { raw in
          let task = Unmanaged<Task>.fromOpaque(raw).takeUnretainedValue()
          do {
            try task.body()
            stepper_exit(0)
          } catch {
            task.board.problem = "\(error)"
            stepper_exit(1)
          }
        }, task.toOpaque())
    }
  }

  /// Nil: it ended well. Else the signal or status.
  static func end(_ process: Int32) -> String? {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    return describe(status)
  }

  static func describe(_ status: Int32) -> String? {
    if status == 0 { return nil }
    return status & 0x7f == 0 ? "status \(status >> 8 & 0xff)" : "signal \(status & 0x7f)"
  }
}

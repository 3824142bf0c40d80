import CReefSystem

/// What `fork` must not break: a lock no other thread holds while a child is made, descriptors that children close at
/// once, and a number that tells a child from its parent.
package enum ForkGuard {
  /// Runs `body` while no thread of this process can fork.
  package static func excludingFork<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    reef_fork_lock()
    defer { reef_fork_unlock() }
    return try body()
  }

  /// 1 in the first process, more in children. Not for fast paths: those look at a `ForkWord`.
  package static var generation: UInt64 { reef_fork_generation() }

  /// Within `excludingFork`: children close `descriptor` before they return from `fork`.
  package static func closeInChildren(_ descriptor: Int32) throws(SystemError) {
    try systemCall("realloc") { reef_fork_close_in_child(descriptor) }
  }

  /// Within `excludingFork`, before the descriptor is closed.
  package static func forget(_ descriptor: Int32) { reef_fork_forget(descriptor) }
}

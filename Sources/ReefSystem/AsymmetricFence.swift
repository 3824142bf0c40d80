import CReefSystem

/// A full barrier that one side pays for both: the frequent side only keeps the compiler in order, the rare side lets the
/// kernel run a barrier on every processor that runs a thread of a registered process (`membarrier`, Linux 4.16). A thread
/// that does not run has passed one when it was switched out.
@usableFromInline package enum AsymmetricFence {
  /// The frequent side: accesses stay in program order as far as the compiler goes. Worth a fence only once this process
  /// is registered.
  @inlinable @inline(__always)
  package static func light() { reef_compiler_barrier() }

  /// From now on `heavy` of any process reaches this one. Milliseconds where the process has several threads. False: the
  /// kernel, or a filter of system calls, does not let it.
  package static func register() -> Bool { reef_barrier_register() == 0 }

  /// Whether `register` takes no time to speak of.
  package static var registersAtOnce: Bool { reef_is_single_threaded() }

  /// The rare side, some microseconds. False: there was no barrier.
  package static func heavy() -> Bool { reef_barrier_everywhere() == 0 }
}

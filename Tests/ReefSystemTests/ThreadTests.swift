import Glibc
import ReefSystem
import Testing

@Suite struct ThreadTests {
  /// Threads of the engine hear no signals but those that an instruction of theirs raises: blocked, such a one ends the
  /// process, and the program's own handler of crashes never runs.
  @Test func engineThreadsBlockOnlyOthersSignals() throws {
    nonisolated(unsafe) let mask = UnsafeMutablePointer<sigset_t>.allocate(capacity: 1)
    defer { mask.deallocate() }
    sigemptyset(mask)
    try SystemThread(name: "reef-test") { pthread_sigmask(SIG_BLOCK, nil, mask) }.join()
    for signal in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS] {
      #expect(sigismember(mask, signal) == 0, "signal \(signal)")
    }
    for signal in [SIGINT, SIGTERM, SIGALRM, SIGCHLD, SIGUSR1] {
      #expect(sigismember(mask, signal) == 1, "signal \(signal)")
    }
  }
}

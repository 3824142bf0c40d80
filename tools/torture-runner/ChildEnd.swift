import Foundation

/// How a child ended, asked of the kernel. Foundation's own word of it has been seen to stay out: a dead child was waited for
/// until somebody came and looked.
struct ChildEnd {
  let isExit: Bool
  /// Exit status, or the signal.
  let status: Int32

  var isWell: Bool { isExit && status == 0 }

  /// Nil: it runs still. Whoever got an answer must keep it: the kernel gives one only.
  static func of(_ process: Process, wait: Bool) -> ChildEnd? {
    var status: Int32 = 0
    while true {
      let found = waitpid(process.processIdentifier, &status, wait ? 0 : WNOHANG)
      if found == process.processIdentifier { break }
      if found == 0 { return nil }
      if errno == EINTR { continue }
      // Foundation was first.
      if !wait, process.isRunning { return nil }
      process.waitUntilExit()
      return ChildEnd(isExit: process.terminationReason == .exit, status: process.terminationStatus)
    }
    let signal = status & 0x7f
    return signal == 0 ? ChildEnd(isExit: true, status: status >> 8 & 0xff) : ChildEnd(isExit: false, status: signal)
  }
}

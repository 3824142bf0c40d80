import CReefSystem
import Glibc

/// A system call that failed: which one, why, and on what file where one was named.
package struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
  package let call: String
  package let errno: Int32
  package let path: String?

  package init(call: String, errno: Int32, path: String? = nil) {
    self.call = call
    self.errno = errno
    self.path = path
  }

  package var description: String {
    let reason = String(cString: strerror(errno))
    guard let path else { return "\(call): \(reason)" }
    return "\(call) on \(path): \(reason)"
  }

  /// No room on the file system, or none left of the caller's share of it.
  package var isOutOfSpace: Bool { errno == ENOSPC || errno == EDQUOT }
  package var isPermission: Bool { errno == EACCES || errno == EPERM || errno == EROFS }
}

/// Runs one system call: asks `FaultPoint` first, again after a signal, and turns minus an errno into a `SystemError`.
@inline(__always)
@discardableResult
func systemCall(
  _ name: StaticString, _ path: @autoclosure () -> String? = nil, _ body: () -> Int
) throws(SystemError) -> Int {
  if let injected = FaultPoint.error(for: name, path()) {
    throw SystemError(call: name.description, errno: injected, path: path())
  }
  while true {
    let result = body()
    if result >= 0 { return result }
    if result == -Int(EINTR) { continue }
    throw SystemError(call: name.description, errno: Int32(truncatingIfNeeded: -result), path: path())
  }
}

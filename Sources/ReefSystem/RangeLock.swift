import CReefSystem
import Glibc

/// Open-file-description locks on single bytes of a file: the kernel frees them the moment their description is gone,
/// however its process ended, in whatever container. The bytes lie far beyond the end of the file.
///
/// One's own lock reads as free through one's own description: never ask about one's own byte.
package enum RangeLock {
  package enum Kind { case shared, exclusive }

  /// Takes, or converts, the lock without waiting. False: somebody else holds it.
  package static func take(_ descriptor: Int32, byte: Int64, _ kind: Kind) throws(SystemError) -> Bool {
    do {
      try systemCall("fcntl(F_OFD_SETLK)") {
        reef_lock(descriptor, byte, Int32(kind == .shared ? REEF_SHARED : REEF_EXCLUSIVE_LOCK))
      }
      return true
    } catch  where error.errno == EAGAIN || error.errno == EACCES {
      return false
    }
  }

  package static func release(_ descriptor: Int32, byte: Int64) {
    _ = reef_lock(descriptor, byte, Int32(REEF_UNLOCK))
  }

  /// Whether another description holds the byte. Nil: the kernel did not say.
  package static func isHeldByOther(_ descriptor: Int32, byte: Int64) -> Bool? {
    guard let held = try? systemCall("fcntl(F_OFD_GETLK)", nil, { reef_lock_held(descriptor, byte) }) else {
      return nil
    }
    return held == 1
  }
}

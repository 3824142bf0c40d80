import CReefSystem
import Glibc

/// A FIFO used as a hint: bytes without meaning, never read by listeners, a whole page thrown away when it is full.
package enum Hint {
  /// Writes one byte; when the pipe is full, makes room for a page and tries again. Any other failure drops the hint:
  /// listeners look again by themselves.
  package static func send(_ descriptor: Int32) {
    var byte: UInt8 = 1
    for _ in 0..<8 {
      guard case let result = reef_write(descriptor, &byte, 1), result < 0 else { return }
      if result == -Int(EINTR) { continue }
      guard result == -Int(EAGAIN) else { return }
      withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { page in
        if let base = page.baseAddress { _ = reef_read(descriptor, base, page.count) }
      }
    }
  }
}

import Foundation
import Glibc

/// What a process has in memory, from the kernel's accounts.
struct Resident {
  /// Bytes of its own: pages that belong to no file.
  var own = 0
  /// Bytes of programs and libraries, which all processes share.
  var code = 0

  /// Without the mappings of files whose name begins with `path`.
  static func now(except path: String) -> Resident {
    var resident = Resident()
    var isStore = false
    // Line by line: such a file has no size, and Foundation reads only its beginning.
    let descriptor = Glibc.open("/proc/self/smaps", O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    var lines = LineReader(descriptor)
    while let line = lines.next() {
      let words = line.split(separator: " ", omittingEmptySubsequences: true)
      guard let first = words.first else { continue }
      if !first.hasSuffix(":") {
        isStore = line.contains(path)
      } else if !isStore, words.count > 1, let size = Int(words[1]) {
        if first == "Rss:" { resident.code += size * 1024 }
        if first == "Anonymous:" {
          resident.own += size * 1024
          resident.code -= size * 1024
        }
      }
    }
    return resident
  }
}

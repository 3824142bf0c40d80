import CReefSystem
import Glibc

/// What identifies this boot, this user, this process – for people, and for telling a leftover of another boot.
package enum HostIdentity {
  package static let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))
  /// Processors that the calling thread may run on: with one, whoever spins keeps the other from what is waited for.
  package static var allowedProcessors: Int { Int(reef_allowed_processors()) }

  /// The kernel's random id of this boot; (0, 0) where it cannot be read.
  package static let boot: (high: UInt64, low: UInt64) = {
    guard let descriptor = try? File.open("/proc/sys/kernel/random/boot_id", .readOnly, .followLinks) else {
      return (0, 0)
    }
    defer { File.close(descriptor) }
    var text = [UInt8](repeating: 0, count: 64)
    let count = text.withUnsafeMutableBytes { reef_read(descriptor, $0.baseAddress!, $0.count) }
    // By hand: the generic way takes a twentieth of the time that opening a store takes.
    var (high, low, digits) = (UInt64(0), UInt64(0), 0)
    for index in 0..<max(0, min(count, text.count)) {
      let digit: UInt8
      switch text[index] {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = text[index] - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = text[index] - UInt8(ascii: "a") + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = text[index] - UInt8(ascii: "A") + 10
      default: continue
      }
      high = high << 4 | low >> 60
      low = low << 4 | UInt64(digit)
      digits += 1
    }
    return digits == 32 ? (high, low) : (0, 0)
  }()

  package static var process: Int32 { getpid() }
  package static var user: UInt32 { geteuid() }

  /// The program's name, as the system knows it.
  package static let programName: String = {
    guard let descriptor = try? File.open("/proc/self/comm", .readOnly, .followLinks) else { return "?" }
    defer { File.close(descriptor) }
    var text = [UInt8](repeating: 0, count: 64)
    let count = text.withUnsafeMutableBytes { reef_read(descriptor, $0.baseAddress!, $0.count) }
    var length = 0
    while length < min(count, text.count), text[length] != 10, text[length] != 0 { length += 1 }
    return String(decoding: text[..<length], as: UTF8.self)
  }()

  /// The mask of permissions that new files of this process lack.
  package static var creationMask: UInt32 {
    // umask(2) cannot be read without being set; /proc can.
    guard let descriptor = try? File.open("/proc/self/status", .readOnly, .followLinks) else { return 0o022 }
    defer { File.close(descriptor) }
    var text = [UInt8](repeating: 0, count: 256)
    let count = text.withUnsafeMutableBytes { reef_read(descriptor, $0.baseAddress!, $0.count) }
    for line in String(decoding: text.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
    where line.hasPrefix("Umask:") {
      return UInt32(line.dropFirst(6).filter { $0 >= "0" && $0 <= "7" }, radix: 8) ?? 0o022
    }
    return 0o022
  }

  package static func randomWord() -> UInt64 {
    var word: UInt64 = 0
    let count = withUnsafeMutableBytes(of: &word) { reef_random($0.baseAddress!, $0.count) }
    return count == 8 ? word : UInt64.random(in: .min ... .max)
  }
}

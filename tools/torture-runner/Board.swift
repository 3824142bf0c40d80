import Foundation

/// What parent and child share: which case runs, since when, and what came of each. It outlives the child.
final class Board {
  let count: Int
  let path: String
  private let memory: UnsafeMutableRawPointer
  private let size: Int
  private static let results = 4096

  /// `create`: the parent's; else the child's, of the same size.
  init(_ path: String, count: Int, create: Bool) throws {
    self.path = path
    self.count = count
    size = Board.results + count
    let descriptor = open(path, create ? O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC : O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0, !create || ftruncate(descriptor, off_t(size)) == 0 else {
      throw TortureError("cannot make \(path): \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    guard let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), memory != MAP_FAILED else {
      throw TortureError("cannot map \(path)")
    }
    self.memory = memory
  }

  deinit { munmap(memory, size) }

  /// The case under way, or −1.
  var current: Int {
    get { memory.load(as: Int.self) - 1 }
    set { memory.storeBytes(of: newValue + 1, as: Int.self) }
  }
  /// When it began.
  var began: UInt64 {
    get { memory.load(fromByteOffset: 8, as: UInt64.self) }
    set { memory.storeBytes(of: newValue, toByteOffset: 8, as: UInt64.self) }
  }
  /// How long the slowest took, in nanoseconds.
  var slowest: UInt64 {
    get { memory.load(fromByteOffset: 16, as: UInt64.self) }
    set { memory.storeBytes(of: newValue, toByteOffset: 16, as: UInt64.self) }
  }

  subscript(index: Int) -> Outcome {
    get { Outcome(rawValue: memory.load(fromByteOffset: Board.results + index, as: UInt8.self)) ?? .notRun }
    set { memory.storeBytes(of: newValue.rawValue, toByteOffset: Board.results + index, as: UInt8.self) }
  }

  static var now: UInt64 { clock_gettime_nsec_np() }
  private static func clock_gettime_nsec_np() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

struct TortureError: Error, CustomStringConvertible {
  var description: String
  init(_ description: String) { self.description = description }
}

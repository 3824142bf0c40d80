import CReefSystem
import Glibc

/// The file calls, one wrapper each. Descriptors are close-on-exec, never follow a symbolic link unless told to, and are
/// never 0, 1 or 2.
package enum File {
  package enum Access { case readOnly, readWrite, pathOnly }
  /// Joined with `|`. Not an `OptionSet`: the first literal of one looks through the conformances of every library that
  /// is loaded, a quarter of the time that opening a store takes.
  package struct OpenOptions: Sendable {
    let bits: Int32
    package static var none: OpenOptions { OpenOptions(bits: 0) }
    package static var create: OpenOptions { OpenOptions(bits: Int32(REEF_CREATE)) }
    package static var exclusive: OpenOptions { OpenOptions(bits: Int32(REEF_EXCLUSIVE)) }
    package static var nonBlocking: OpenOptions { OpenOptions(bits: Int32(REEF_NONBLOCK)) }
    package static var directory: OpenOptions { OpenOptions(bits: Int32(REEF_DIRECTORY)) }
    package static var followLinks: OpenOptions { OpenOptions(bits: Int32(REEF_FOLLOW)) }
    package static func | (a: OpenOptions, b: OpenOptions) -> OpenOptions { OpenOptions(bits: a.bits | b.bits) }
  }

  /// `openat`; `directory` nil: `path` is absolute or relative to the working directory.
  package static func open(
    _ path: String, in directory: Int32? = nil, _ access: Access, _ options: OpenOptions = .none, mode: UInt32 = 0o600
  ) throws(SystemError) -> Int32 {
    let flags = access == .readWrite ? REEF_READ_WRITE : access == .pathOnly ? REEF_PATH_ONLY : REEF_READ_ONLY
    return Int32(
      try systemCall("openat", path) { reef_open(directory ?? -1, path, Int32(flags), options.bits, mode) })
  }

  package static func close(_ descriptor: Int32) { _ = reef_close(descriptor) }

  package static func status(_ descriptor: Int32) throws(SystemError) -> FileStatus {
    var status = reef_status()
    try systemCall("fstat") { reef_fstat(descriptor, &status) }
    return FileStatus(status)
  }

  /// `fstatat` of the name itself; nil: there is no such file.
  package static func status(of path: String, in directory: Int32? = nil) throws(SystemError) -> FileStatus? {
    var status = reef_status()
    do {
      try systemCall("fstatat", path) { reef_stat(directory ?? -1, path, &status) }
    } catch  where error.errno == ENOENT {
      return nil
    }
    return FileStatus(status)
  }

  /// Removes the name; a name that is not there is no error.
  package static func unlink(_ path: String, in directory: Int32? = nil) throws(SystemError) {
    do {
      try systemCall("unlinkat", path) { reef_unlink(directory ?? -1, path) }
    } catch  where error.errno == ENOENT {}
  }

  package static func makeFIFO(_ path: String, in directory: Int32, mode: UInt32) throws(SystemError) {
    try systemCall("mkfifoat", path) { reef_mkfifo(directory, path, mode) }
  }

  /// Renames without replacing.
  package static func rename(_ path: String, toNew name: String, in directory: Int32) throws(SystemError) {
    try systemCall("renameat2", path) { reef_rename_new(directory, path, name) }
  }

  package static func setMode(_ descriptor: Int32, _ mode: UInt32) throws(SystemError) {
    try systemCall("fchmod") { reef_fchmod(descriptor, mode) }
  }

  package static func setOwner(_ descriptor: Int32, _ owner: UInt32, _ group: UInt32) throws(SystemError) {
    try systemCall("fchown") { reef_fchown(descriptor, owner, group) }
  }

  package static func truncate(_ descriptor: Int32, to size: Int, path: String? = nil) throws(SystemError) {
    try checkLimit(size, "ftruncate", path)
    try systemCall("ftruncate", path) { reef_ftruncate(descriptor, Int64(size)) }
  }

  /// Backs the range with storage and makes the file at least that long: afterwards no store into it can fail.
  ///
  /// A file system that cannot reserve gets zeros written beyond the end of the file instead.
  package static func allocate(_ descriptor: Int32, offset: Int, length: Int, path: String? = nil) throws(SystemError) {
    try checkLimit(offset + length, "fallocate", path)
    do {
      try systemCall("fallocate", path) { reef_fallocate(descriptor, Int64(offset), Int64(length)) }
    } catch  where error.errno == EOPNOTSUPP {
      let size = try status(descriptor).size
      guard offset + length > size else { throw error }
      try writeZeros(descriptor, from: min(offset, size), to: offset + length, path: path)
    }
  }

  /// Largest size that this process may give a file (`ulimit -f`).
  package static var sizeLimit: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { return .max }
    return Int(clamping: limit.rlim_cur)
  }

  /// Asked before the kernel is: beyond the limit it sends SIGXFSZ, which ends a process that is not prepared.
  private static func checkLimit(_ end: Int, _ call: String, _ path: String?) throws(SystemError) {
    if end > sizeLimit { throw SystemError(call: call, errno: EFBIG, path: path) }
  }

  static func writeZeros(_ descriptor: Int32, from: Int, to end: Int, path: String?) throws(SystemError) {
    let zeros = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    defer { zeros.deallocate() }
    memset(zeros.baseAddress!, 0, zeros.count)
    var offset = from
    while offset < end {
      let count = min(zeros.count, end - offset)
      try write(descriptor, UnsafeRawBufferPointer(rebasing: zeros[..<count]), at: offset, path: path)
      offset += count
    }
  }

  /// Gives the storage of the range back; the file keeps its length.
  package static func punch(_ descriptor: Int32, offset: Int, length: Int, path: String? = nil) throws(SystemError) {
    try systemCall("punch", path) { reef_punch(descriptor, Int64(offset), Int64(length)) }
  }

  package static func sync(_ descriptor: Int32, path: String? = nil) throws(SystemError) {
    try systemCall("fsync", path) { reef_fsync(descriptor) }
  }

  package static func syncData(_ descriptor: Int32, path: String? = nil) throws(SystemError) {
    try systemCall("fdatasync", path) { reef_fdatasync(descriptor) }
  }

  /// Writes all bytes at `offset`; `synchronous`: they are on disk when it returns.
  package static func write(
    _ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int, synchronous: Bool = false, path: String? = nil
  ) throws(SystemError) {
    try checkLimit(offset + bytes.count, "pwrite", path)
    var done = 0
    while done < bytes.count {
      guard let base = bytes.baseAddress else { return }
      done += try systemCall("pwrite", path) {
        reef_pwrite(descriptor, base + done, bytes.count - done, Int64(offset + done), synchronous)
      }
    }
  }

  /// Reads up to `bytes.count` bytes at `offset`; returns how many there were.
  package static func read(
    _ descriptor: Int32, into bytes: UnsafeMutableRawBufferPointer, at offset: Int, path: String? = nil
  ) throws(SystemError) -> Int {
    var done = 0
    while done < bytes.count {
      guard let base = bytes.baseAddress else { return 0 }
      let count = try systemCall("pread", path) {
        reef_pread(descriptor, base + done, bytes.count - done, Int64(offset + done))
      }
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// A file without a name, in memory, that children may get by its descriptor.
  package static func inMemory(name: String) throws(SystemError) -> Int32 {
    Int32(try systemCall("memfd_create", name) { reef_memfd(name) })
  }

  /// The path without symbolic links, `.` and `..`.
  package static func canonicalPath(_ path: String) throws(SystemError) -> String {
    var buffer = [CChar](repeating: 0, count: 4097)
    try systemCall("realpath", path) { reef_realpath(path, &buffer) }
    return buffer.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }
}

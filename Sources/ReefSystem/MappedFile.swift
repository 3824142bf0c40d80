import CReefSystem
import Glibc
import Synchronization

/// A file mapped once, over a reserved range that is larger than it will ever be: growth never moves it, so a pointer
/// into it stays valid as long as this object lives. Read-only until `makeWritable`.
///
/// The range reaches beyond the end of the file. Touch only what `allocate` has backed: anything else is a SIGBUS.
package final class MappedFile: @unchecked Sendable {
  package let descriptor: Int32
  package let base: UnsafeMutableRawPointer
  package let reserved: Int
  package let path: String
  /// tmpfs, memfd or hugetlbfs: gone with the boot, nothing to sync.
  package let isTmpfs: Bool
  package let identity: FileIdentity
  private let writable = Atomic<Bool>(false)
  /// Until the kernel refuses a large page, or the file gets a memory policy, which large pages would not keep to.
  let mayCollapse = Atomic<Bool>(true)

  package static let defaultReservation = 1 << 36
  package static let smallestReservation = 1 << 26

  /// Takes the descriptor over (also when it throws) and maps it. The range is halved until the system grants one.
  package init(
    adopting descriptor: Int32, path: String, reserve: Int = MappedFile.defaultReservation
  ) throws(SystemError) {
    do throws(SystemError) {
      let status = try File.status(descriptor)
      var length = max(reserve, MappedFile.smallestReservation)
      var address: UnsafeMutableRawPointer?
      while address == nil {
        do throws(SystemError) {
          address = try Mapping.map(descriptor, length: length, writable: false, path: path)
        } catch {
          guard error.errno == ENOMEM, length / 2 >= max(MappedFile.smallestReservation, status.size) else {
            throw error
          }
          length /= 2
        }
      }
      guard let address else { throw SystemError(call: "mmap", errno: ENOMEM, path: path) }
      guard status.size <= length else {
        Mapping.unmap(address, length: length)
        throw SystemError(call: "mmap", errno: EFBIG, path: path)
      }
      Mapping.keepFromDumps(address, length: length)
      isTmpfs = try FileSystemKind.of(descriptor) == .memory
      identity = status.identity
      base = address
      reserved = length
    } catch {
      File.close(descriptor)
      throw error
    }
    self.descriptor = descriptor
    self.path = path
  }

  deinit {
    Mapping.unmap(base, length: reserved)
    File.close(descriptor)
  }

  /// Lets this process store into the mapping. Once is enough; a process that only reads never calls it.
  package func makeWritable() throws(SystemError) {
    if writable.load(ordering: .acquiring) { return }
    try Mapping.protect(base, length: reserved, writable: true, path: path)
    writable.store(true, ordering: .releasing)
  }

  /// Backs the range with storage; the file grows to hold it. After this no store into it can fail.
  package func allocate(offset: Int, length: Int) throws(SystemError) {
    guard offset >= 0, length > 0, offset <= reserved - length else {
      throw SystemError(call: "fallocate", errno: EFBIG, path: path)
    }
    try File.allocate(descriptor, offset: offset, length: length, path: path)
  }

  /// Memory of this size that begins at a multiple of it can be one page.
  package static let largePage = 2 << 20

  /// As `allocate`, for a range beyond all that anybody uses: what it covers of large pages gets them, where the file
  /// lies in memory and the kernel has some left. To make one costs a quarter of what its small pages do, and whoever
  /// maps it waits for one fault in place of hundreds, and looks less often for where a page is.
  ///
  /// The kernel collapses a page of which it has a part; so a part is allocated first. This works whatever the system's
  /// setting for shared memory is, and is never an error.
  package func allocateFresh(offset: Int, length: Int) throws(SystemError) {
    if isTmpfs, offset >= 0, length >= MappedFile.largePage, offset <= reserved - length,
      writable.load(ordering: .acquiring), mayCollapse.load(ordering: .relaxed)
    {
      let first = (offset + MappedFile.largePage - 1) / MappedFile.largePage * MappedFile.largePage
      var at = first
      while at + MappedFile.largePage <= offset + length {
        guard reef_fallocate(descriptor, Int64(at), 4096) >= 0,
          reef_fallocate(descriptor, Int64(at + MappedFile.largePage - 4096), 4096) >= 0,
          reef_advise_collapse(base + at, MappedFile.largePage) >= 0
        else {
          mayCollapse.store(false, ordering: .relaxed)
          break
        }
        at += MappedFile.largePage
      }
    }
    do throws(SystemError) {
      try allocate(offset: offset, length: length)
    } catch {
      // What has come so far goes: others need it more.
      if let size = try? size(), size > offset { try? truncate(to: offset) }
      throw error
    }
  }

  /// Gives the storage of the range back. It must be allocated again before anything touches it.
  package func punch(offset: Int, length: Int) throws(SystemError) {
    try File.punch(descriptor, offset: offset, length: length, path: path)
  }

  package func truncate(to size: Int) throws(SystemError) { try File.truncate(descriptor, to: size, path: path) }

  /// Content and size on disk (`fsync`).
  package func sync() throws(SystemError) { try File.sync(descriptor, path: path) }

  /// Content on disk (`fdatasync`).
  package func syncData() throws(SystemError) { try File.syncData(descriptor, path: path) }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
    try File.write(descriptor, bytes, at: offset, path: path)
  }

  /// As `write`, and on disk when it returns. Where a single write cannot be made synchronous, a sync follows it.
  package func writeDurably(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
    do throws(SystemError) {
      try File.write(descriptor, bytes, at: offset, synchronous: true, path: path)
    } catch {
      guard error.errno == EOPNOTSUPP || error.errno == ENOSYS else { throw error }
      try File.write(descriptor, bytes, at: offset, path: path)
      try File.syncData(descriptor, path: path)
    }
  }

  /// Writes zeros, so that later writes there need no new storage.
  package func writeZeros(offset: Int, length: Int) throws(SystemError) {
    try File.writeZeros(descriptor, from: offset, to: offset + length, path: path)
  }

  package func read(into bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
    try File.read(descriptor, into: bytes, at: offset, path: path)
  }

  package func size() throws(SystemError) -> Int { try File.status(descriptor).size }

  /// Bytes of storage the file occupies, holes not counted.
  package func occupied() throws(SystemError) -> Int { try File.status(descriptor).occupied }
}

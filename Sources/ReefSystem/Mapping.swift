import CReefSystem
import Glibc

/// The calls that map memory, one wrapper each.
package enum Mapping {
  /// Maps `length` bytes of the file, shared. The range may reach beyond the end of the file: only touching is not
  /// allowed there.
  package static func map(
    _ descriptor: Int32, length: Int, writable: Bool, offset: Int = 0, path: String? = nil
  ) throws(SystemError) -> UnsafeMutableRawPointer {
    let address = try systemCall("mmap", path) { reef_map(length, writable, descriptor, Int64(offset)) }
    guard let pointer = UnsafeMutableRawPointer(bitPattern: address) else {
      throw SystemError(call: "mmap", errno: ENOMEM, path: path)
    }
    return pointer
  }

  package static func unmap(_ address: UnsafeMutableRawPointer, length: Int) { _ = reef_unmap(address, length) }

  package static func protect(
    _ address: UnsafeMutableRawPointer, length: Int, writable: Bool, path: String? = nil
  ) throws(SystemError) {
    try systemCall("mprotect", path) { reef_protect(address, length, writable) }
  }

  /// A page of this process alone that reads as zeros in every child of `fork`.
  package static func wipedOnFork(length: Int) throws(SystemError) -> UnsafeMutableRawPointer {
    let address = try systemCall("mmap") { reef_map_private(length) }
    guard let pointer = UnsafeMutableRawPointer(bitPattern: address) else {
      throw SystemError(call: "mmap", errno: ENOMEM)
    }
    do {
      try systemCall("madvise(MADV_WIPEONFORK)") { reef_advise_wipe_on_fork(pointer, length) }
    } catch {
      unmap(pointer, length: length)
      throw error
    }
    return pointer
  }

  /// Children of `fork` do not get the range.
  package static func keepFromChildren(_ address: UnsafeMutableRawPointer, length: Int) throws(SystemError) {
    try systemCall("madvise(MADV_DONTFORK)") { reef_advise_dont_fork(address, length) }
  }

  /// Keeps the range out of core dumps; it is no error where that cannot be.
  package static func keepFromDumps(_ address: UnsafeMutableRawPointer, length: Int) {
    _ = reef_advise_dont_dump(address, length)
  }

  /// Faults the range in for reading, with an error instead of a signal where it cannot be.
  package static func populate(_ address: UnsafeMutableRawPointer, length: Int) throws(SystemError) {
    try systemCall("madvise(MADV_POPULATE_READ)") { reef_advise_populate(address, length) }
  }

  /// Lets the kernel back large private memory by large pages, of which a first touch costs a tenth. It is no error
  /// where it does not.
  package static func preferHugePages(_ address: UnsafeMutableRawPointer?, length: Int) {
    guard let address, length >= 4 << 20 else { return }
    let page = UInt(HostIdentity.pageSize)
    let start = (UInt(bitPattern: address) &+ page &- 1) & ~(page &- 1)
    let end = (UInt(bitPattern: address) &+ UInt(length)) & ~(page &- 1)
    _ = madvise(UnsafeMutableRawPointer(bitPattern: start), Int(end &- start), MADV_HUGEPAGE)
  }

  /// Whether each page of the range is in memory.
  package static func resident(_ address: UnsafeMutableRawPointer, length: Int) throws(SystemError) -> [Bool] {
    var pages = [UInt8](repeating: 0, count: (length + HostIdentity.pageSize - 1) / HostIdentity.pageSize)
    try systemCall("mincore") { reef_resident(address, length, &pages) }
    return pages.map { $0 & 1 != 0 }
  }
}

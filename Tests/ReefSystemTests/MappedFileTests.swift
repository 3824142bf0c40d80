import Foundation
import ReefSystem
import Testing

@Suite struct MappedFileTests {
  private func file(_ path: String) throws -> MappedFile {
    let descriptor = try File.open(path, .readWrite, .create)
    return try MappedFile(adopting: descriptor, path: path, reserve: 1 << 28)
  }

  /// Growth never moves what is there, and everyone that has the file mapped sees it.
  @Test func growsInPlace() throws {
    let store = try TestStore()
    let one = try file(store.path)
    let two = try file(store.path)
    #expect(one.isTmpfs)
    #expect(one.identity == two.identity)
    #expect(one.descriptor >= 3)
    try one.makeWritable()
    try one.allocate(offset: 0, length: 1 << 16)
    one.base.storeBytes(of: 42, as: Int.self)
    let pointer = two.base
    for size in [1 << 20, 1 << 24, 1 << 26] {
      try one.allocate(offset: 0, length: size)
      one.base.storeBytes(of: size, toByteOffset: size - 8, as: Int.self)
      #expect(pointer.load(as: Int.self) == 42)
      #expect(pointer.load(fromByteOffset: size - 8, as: Int.self) == size)
    }
    let size = try two.size()
    #expect(size == 1 << 26)
    try one.punch(offset: 1 << 20, length: 1 << 25)
    let occupied = try one.occupied()
    #expect(occupied < 1 << 26)
    #expect(pointer.load(as: Int.self) == 42)
    #expect(throws: SystemError.self) { try one.allocate(offset: 0, length: 1 << 29) }
    try one.truncate(to: 1 << 16)
    let left = try two.size()
    #expect(left == 1 << 16)
  }

  @Test func writesAndReads() throws {
    let store = try TestStore(inMemory: false)
    let file = try file(store.path)
    let words = [1, 2, 3, 4]
    // (A typed-throwing closure of Array.withUnsafeBytes without a result hangs the compiler.)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 32, alignment: 8)
    defer { buffer.deallocate() }
    for (index, word) in words.enumerated() { buffer.storeBytes(of: word, toByteOffset: index * 8, as: Int.self) }
    try file.writeDurably(UnsafeRawBufferPointer(buffer), at: 100)
    try file.sync()
    try file.syncData()
    var back = [0, 0, 0, 0]
    let count = try back.withUnsafeMutableBytes { bytes in try file.read(into: bytes, at: 100) }
    #expect(count == 32)
    #expect(back == words)
    let rest = try back.withUnsafeMutableBytes { bytes in try file.read(into: bytes, at: 124) }
    #expect(rest == 8)
  }

  /// Whether or not the kernel has large pages left: the range is backed, reads as zeros and is everybody's; where it
  /// cannot be had, the file is as long as it was.
  @Test func freshRange() throws {
    let store = try TestStore()
    let one = try file(store.path)
    let two = try file(store.path)
    try one.makeWritable()
    try one.allocate(offset: 0, length: 1 << 16)
    let (offset, length) = (1 << 16, 3 * MappedFile.largePage)
    #expect(Int(bitPattern: one.base) % MappedFile.largePage == 0)
    try one.allocateFresh(offset: offset, length: length)
    #expect(try one.size() == offset + length)
    #expect(try one.occupied() == offset + length)
    var sum = 0
    for at in stride(from: offset, to: offset + length, by: 8) {
      sum |= two.base.load(fromByteOffset: at, as: Int.self)
    }
    #expect(sum == 0)
    for at in stride(from: offset, to: offset + length, by: 4096) {
      one.base.storeBytes(of: at, toByteOffset: at, as: Int.self)
    }
    for at in stride(from: offset, to: offset + length, by: 4096) {
      #expect(two.base.load(fromByteOffset: at, as: Int.self) == at)
    }
    // Part of a large page given back is given back.
    try one.punch(offset: MappedFile.largePage, length: 1 << 16)
    #expect(try one.occupied() == offset + length - (1 << 16))

    let path = store.path
    let before = try one.size()
    FaultPoint.install { call, file in file == path && call == "fallocate" ? ENOSPC : nil }
    defer { FaultPoint.install(nil) }
    #expect(throws: SystemError(call: "fallocate", errno: ENOSPC, path: path)) {
      try one.allocateFresh(offset: before, length: 2 * MappedFile.largePage)
    }
    #expect(try one.size() == before)
  }

  /// Each wrapper can be made to fail; a failed allocation changes nothing.
  @Test func faults() throws {
    let store = try TestStore()
    let file = try file(store.path)
    let path = store.path
    let calls: Set<String> = ["fallocate", "fsync", "punch"]
    FaultPoint.install { call, file in file == path && calls.contains(call) ? ENOSPC : nil }
    defer { FaultPoint.install(nil) }
    #expect(throws: SystemError(call: "fallocate", errno: ENOSPC, path: path)) {
      try file.allocate(offset: 0, length: 4096)
    }
    #expect(throws: SystemError(call: "fsync", errno: ENOSPC, path: path)) { try file.sync() }
    #expect(throws: SystemError.self) { try file.punch(offset: 0, length: 4096) }
    #expect(try file.size() == 0)
  }

  /// A policy is refused where the file system would only pretend, and proven where it is real.
  @Test func memoryPolicy() throws {
    let onDisk = try TestStore(inMemory: false)
    let disk = try file(onDisk.path)
    if !disk.isTmpfs {
      #expect(throws: SystemError(call: "mbind", errno: ENOTSUP, path: onDisk.path)) { try disk.apply(.interleave) }
    }
    let store = try TestStore()
    let file = try file(store.path)
    let node = try #require(Numa.nodes.last)
    guard hasPolicies(file, node) else { return }
    let other = try self.file(store.path)
    try file.makeWritable()
    try other.makeWritable()
    try file.allocate(offset: 0, length: 1 << 20)
    touch(file, 0..<1 << 20)
    // Growth, first touched through another mapping.
    try file.allocate(offset: 1 << 21, length: 1 << 20)
    touch(other, 1 << 21..<3 << 20)
    let pages = (1 << 21) / HostIdentity.pageSize
    let placement = try file.placement()
    #expect(placement == [node: pages])
    for policy in [NumaPolicy.interleave, .prefer(node: node), .local, .none] { try file.apply(policy) }
    #expect(throws: SystemError.self) { try file.apply(.bind(node: 999)) }
  }

  private func touch(_ file: MappedFile, _ range: Range<Int>) {
    for page in stride(from: range.lowerBound, to: range.upperBound, by: HostIdentity.pageSize) {
      file.base.storeBytes(of: 1, toByteOffset: page, as: UInt8.self)
    }
  }

  private func hasPolicies(_ file: MappedFile, _ node: Int) -> Bool {
    do throws(SystemError) {
      try file.apply(.bind(node: node))
      return true
    } catch {
      #expect(error.errno == ENOSYS)
      return false
    }
  }

  @Test func kernelLocks() throws {
    let store = try TestStore()
    let one = try File.open(store.path, .readWrite, .create)
    let two = try File.open(store.path, .readWrite)
    defer {
      File.close(one)
      File.close(two)
    }
    #expect(try RangeLock.take(one, byte: 1 << 40, .exclusive))
    #expect(try !RangeLock.take(two, byte: 1 << 40, .shared))
    #expect(RangeLock.isHeldByOther(two, byte: 1 << 40) == true)
    #expect(RangeLock.isHeldByOther(one, byte: 1 << 40) == false)
    #expect(try RangeLock.take(one, byte: 1 << 40, .shared))
    #expect(try RangeLock.take(two, byte: 1 << 40, .shared))
    #expect(try !RangeLock.take(one, byte: 1 << 40, .exclusive))
    #expect(RangeLock.isHeldByOther(one, byte: -1) == nil)
  }
}

import CXXHash
import Foundation
import ReefSystem
import Testing

@testable import ReefEngine

/// Files whose checksums fit and that lie all the same, as the fuzzer found them (`tools/fuzz`): an error, and soon.
@Suite struct ForgedStoreTests {
  private let path =
    FileManager.default.temporaryDirectory.path + "/forged-\(getpid())-\(UInt32.random(in: 0...UInt32.max)).reef"

  private func open() throws -> Engine {
    let type = TypeSchema("Thing", [PropertySchema("id", .int64)], key: 0)
    return try Engine.open(
      EngineConfiguration(session: Session.Options(location: .file(path)), durability: .memory), Schema([type]))
  }

  private func remove() { for suffix in ["", ".lock", ".note"] { unlink(path + suffix) } }

  /// A slot that names a version from which nobody can count on.
  @Test(arguments: [UInt64.max, UInt64.max - 1, 1 << 63, 1 << 48, 1 << 47])
  func versionBeyondAll(_ version: UInt64) throws {
    defer { remove() }
    try open().close()
    let descriptor = Glibc.open(path, O_RDWR)
    defer { close(descriptor) }
    for at in [DataLayout.durableSlotOffset.0, DataLayout.durableSlotOffset.1] {
      let bytes = UnsafeMutableRawPointer.allocate(byteCount: DataLayout.Slot.size, alignment: 16)
      defer { bytes.deallocate() }
      #expect(pread(descriptor, bytes, DataLayout.Slot.size, off_t(at)) == DataLayout.Slot.size)
      var slot = try #require(RootSlot(at: bytes))
      slot.version = version
      slot.write(to: bytes)
      #expect(pwrite(descriptor, bytes, DataLayout.Slot.size, off_t(at)) == DataLayout.Slot.size)
    }
    #expect(throws: StoreError.self) { try open() }
  }

  // MARK: Trees that are none

  private static let stamp: UInt64 = 1 << 48 | 9
  private static let nodeSize = 544

  /// Dense inner nodes of 64 children each, one behind the other from the second extent on; each has but one child, the
  /// one before it, and the first has `target`. Returns the file and the entry of the last.
  private func tower(_ levels: Int, target: UInt64) throws -> (data: MappedFile, root: UInt64) {
    let size = 4 * DataLayout.extentSize
    var bytes = [UInt8](repeating: 0, count: size)
    var entry = target
    bytes.withUnsafeMutableBytes { file in
      guard let base = file.baseAddress else { return }
      let descriptor = base + DataLayout.inlineDescriptorsOffset + DataLayout.Descriptor.size
      descriptor.storeBytes(of: ExtentState.slab, toByteOffset: DataLayout.Descriptor.state, as: UInt8.self)
      for level in 0..<levels {
        let at = DataLayout.extentSize + level * Self.nodeSize
        let node = base + at
        node.storeBytes(of: NodeKind.innerDense, toByteOffset: DataLayout.Node.kind, as: UInt8.self)
        node.storeBytes(of: 64, toByteOffset: DataLayout.Node.shape, as: UInt16.self)
        node.storeBytes(
          of: UInt32(DataLayout.Inner.denseEntries + 64 * 8), toByteOffset: DataLayout.Node.length, as: UInt32.self)
        node.storeBytes(of: Self.stamp, toByteOffset: DataLayout.Node.stamp, as: UInt64.self)
        for child in 0..<64 {
          node.storeBytes(of: entry, toByteOffset: DataLayout.Inner.denseEntries + child * 8, as: UInt64.self)
        }
        entry = UInt64(at >> DataLayout.grainShift)
        entry |= XXH3_64bits(node, DataLayout.Inner.denseEntries + 64 * 8) & 0xffff_ffff << 32
      }
    }
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    let data = try MappedFile(adopting: Glibc.open(path, O_RDWR | O_CLOEXEC), path: path, reserve: 1 << 20)
    return (data, entry)
  }

  private func collect(_ root: UInt64, _ data: MappedFile) throws(StoreError) -> Bool {
    var record = RedoRecordBuilder(capacity: 1 << 20)
    return try record.collect(root: root, after: 3, in: data, limit: UInt64(4 * DataLayout.extentSize))
  }

  /// A node with the stamp of the transaction under way, which it never made, and which leads back to itself.
  @Test func cycle() throws {
    defer { remove() }
    let (data, root) = try tower(1, target: UInt64(DataLayout.extentSize >> DataLayout.grainShift))
    let limit = UInt64(4 * DataLayout.extentSize)
    #expect(throws: StoreError.self) {
      try Checks.seal(root, base: data.base, limit: limit, stamp: Self.stamp, path: path)
    }
    #expect(throws: StoreError.self) { try collect(root, data) }
  }

  /// Twelve levels, all checksums right: 64 to the power of 11 ways down.
  @Test func bush() throws {
    defer { remove() }
    let (data, root) = try tower(12, target: 0)
    try data.makeWritable()
    var slot = RootSlot()
    slot.root = root
    slot.extents = 4
    let began = Clock.monotonic
    #expect(!Checks.holds(slot, after: 3, in: data))
    #expect(!Checks.storeAgain(root, extents: 4, after: 3, in: data))
    #expect(throws: StoreError.self) {
      try Checks.seal(
        root, base: data.base, limit: UInt64(4 * DataLayout.extentSize), stamp: Self.stamp, path: path)
    }
    #expect((try? collect(root, data)) != true)
    #expect(Clock.monotonic - began < 5_000_000_000)
  }
}

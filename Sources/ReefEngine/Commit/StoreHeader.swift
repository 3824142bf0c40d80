import CXXHash
import ReefSystem

/// The header page of the data file: written when the store is made, then only for its memory policy.
package struct StoreHeader: Sendable {
  package var uuid: (UInt64, UInt64)
  package var flags: UInt32
  package var numa: NumaPolicy
  package var created: UInt64

  package var isChecked: Bool { flags & DataLayout.HeaderFlag.checked != 0 }

  package init(uuid: (UInt64, UInt64), flags: UInt32, numa: NumaPolicy, created: UInt64) {
    self.uuid = uuid
    self.flags = flags
    self.numa = numa
    self.created = created
  }

  /// Writes all but the magic number, which is there from the first.
  package func write(to base: UnsafeMutableRawPointer) {
    typealias Field = DataLayout.Header
    base.storeBytes(of: DataLayout.formatVersion, toByteOffset: Field.formatVersion, as: UInt32.self)
    base.storeBytes(of: UInt8(DataLayout.grainShift), toByteOffset: Field.grainShift, as: UInt8.self)
    base.storeBytes(of: UInt8(DataLayout.extentShift), toByteOffset: Field.extentShift, as: UInt8.self)
    base.storeBytes(of: 12, toByteOffset: Field.pageShift, as: UInt8.self)
    base.storeBytes(of: 1, toByteOffset: Field.littleEndian, as: UInt8.self)
    base.storeBytes(of: uuid.0, toByteOffset: Field.uuid, as: UInt64.self)
    base.storeBytes(of: uuid.1, toByteOffset: Field.uuid + 8, as: UInt64.self)
    base.storeBytes(of: created, toByteOffset: Field.created, as: UInt64.self)
    let (mode, nodes) = numa.encoded
    base.storeBytes(of: mode, toByteOffset: Field.numaMode, as: UInt32.self)
    base.storeBytes(of: flags, toByteOffset: Field.flags, as: UInt32.self)
    base.storeBytes(of: nodes, toByteOffset: Field.numaNodes, as: UInt64.self)
    base.storeBytes(of: StoreHeader.checksum(base), toByteOffset: Field.checksum, as: UInt64.self)
  }

  /// Writes the header page of an empty file, and syncs it: from then on the file is a store's, if an unfinished one.
  func writeFirst(to data: MappedFile) throws(StoreError) {
    var page = [UInt64](repeating: 0, count: DataLayout.pageSize / 8)
    var failure: SystemError?
    page.withUnsafeMutableBytes { raw in
      guard let base = raw.baseAddress else { return }
      write(to: base)
      base.storeBytes(of: DataLayout.magic, toByteOffset: DataLayout.Header.magic, as: UInt64.self)
      do throws(SystemError) {
        try data.write(UnsafeRawBufferPointer(raw), at: 0)
        if !data.isTmpfs { try data.sync() }
      } catch { failure = error }
    }
    if let failure { try storing(data.path, needed: DataLayout.pageSize) { () throws(SystemError) in throw failure } }
  }

  /// Whether a page says that its store is not finished. Killed between the flag and the checksum of the last step of
  /// creation, the flag is gone but the checksum still counts it: nothing was acknowledged by then.
  static func isUnfinished(_ base: UnsafeRawPointer) -> Bool {
    typealias Field = DataLayout.Header
    guard base.load(fromByteOffset: Field.magic, as: UInt64.self) == DataLayout.magic else { return false }
    let flags = base.load(fromByteOffset: Field.flags, as: UInt32.self)
    if flags & DataLayout.HeaderFlag.unfinished != 0 { return true }
    if base.load(fromByteOffset: Field.checksum, as: UInt64.self) == checksum(base) { return false }
    let copy = UnsafeMutableRawPointer.allocate(byteCount: Field.size, alignment: 8)
    defer { copy.deallocate() }
    copy.copyMemory(from: base, byteCount: Field.size)
    copy.storeBytes(of: flags | DataLayout.HeaderFlag.unfinished, toByteOffset: Field.flags, as: UInt32.self)
    return copy.load(fromByteOffset: Field.checksum, as: UInt64.self) == checksum(copy)
  }

  private static func checksum(_ base: UnsafeRawPointer) -> UInt64 {
    XXH3_64bits(base + DataLayout.Header.formatVersion, DataLayout.Header.checksum - DataLayout.Header.formatVersion)
  }

  /// Reads and checks the header of a file of `size` bytes.
  package init(reading base: UnsafeRawPointer, size: Int, path: String) throws(StoreError) {
    typealias Field = DataLayout.Header
    guard size >= DataLayout.extentSize else {
      throw .notAStore(path: path, reason: "it has \(size) bytes, less than the header of a store")
    }
    guard base.load(fromByteOffset: Field.magic, as: UInt64.self) == DataLayout.magic else {
      throw .notAStore(path: path, reason: "it does not begin with the mark of a store")
    }
    let version = base.load(fromByteOffset: Field.formatVersion, as: UInt32.self)
    guard version == DataLayout.formatVersion else {
      throw .formatVersion(path: path, found: version, supported: DataLayout.formatVersion)
    }
    guard base.load(fromByteOffset: Field.checksum, as: UInt64.self) == StoreHeader.checksum(base) else {
      throw .damaged(path: path, what: "the checksum of the header page does not hold")
    }
    guard base.load(fromByteOffset: Field.grainShift, as: UInt8.self) == UInt8(DataLayout.grainShift),
      base.load(fromByteOffset: Field.extentShift, as: UInt8.self) == UInt8(DataLayout.extentShift),
      base.load(fromByteOffset: Field.littleEndian, as: UInt8.self) == 1
    else { throw .notAStore(path: path, reason: "it was written with other basic sizes than this machine's") }
    uuid = (
      base.load(fromByteOffset: Field.uuid, as: UInt64.self), base.load(fromByteOffset: Field.uuid + 8, as: UInt64.self)
    )
    flags = base.load(fromByteOffset: Field.flags, as: UInt32.self)
    created = base.load(fromByteOffset: Field.created, as: UInt64.self)
    numa = NumaPolicy(
      mode: base.load(fromByteOffset: Field.numaMode, as: UInt32.self),
      nodes: base.load(fromByteOffset: Field.numaNodes, as: UInt64.self))
  }
}

extension NumaPolicy {
  /// As the header stores it.
  var encoded: (mode: UInt32, nodes: UInt64) {
    switch self {
    case .none: (0, 0)
    case .interleave: (1, 0)
    case .prefer(let node): (2, UInt64(node))
    case .bind(let node): (3, UInt64(node))
    case .local: (4, 0)
    }
  }

  init(mode: UInt32, nodes: UInt64) {
    let node = Int(nodes & 0xffff)
    switch mode {
    case 1: self = .interleave
    case 2: self = .prefer(node: node)
    case 3: self = .bind(node: node)
    case 4: self = .local
    default: self = .none
    }
  }
}

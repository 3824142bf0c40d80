import CXXHash
import ReefEngine

/// What the fuzzer's bytes mean: which store, what is asked of it, and what is done to its files.
///
/// ```
///  0         1       2      4                20
/// ┌─────────┬───────┬──────┬────────────────┬────────────── ─ ─
/// │ sample  │ flags │ seed │ change         │ change
/// └─────────┴───────┴──────┴────────────────┴────────────── ─ ─
/// ```
///
/// Every string of bytes means something, so nothing that the fuzzer makes is lost.
struct FuzzInput {
  static let head = 4
  static let longest = head + 24 * Change.size

  /// Whether the checksums above what was changed are made to fit.
  var isResealed = true
  /// Whether the types are the file's own, and not the sample's.
  var takesStoredTypes = false
  /// Whether it is opened for reading only.
  var isReadOnly = false
  /// Whether the checksum of the allocator's records is made to fit.
  var sealsRecords = false
  var sample = 0
  /// Of what is read and written.
  var seed: UInt64 = 0
  var changes: [Change] = []

  struct Change {
    static let size = 16
    enum Kind: UInt8, CaseIterable {
      case node, ref, bytes, slot, header, descriptor, record, copyPage, fill, size, copyNode, bitmap, lock, add
    }
    var kind: Kind
    var width: UInt8
    var index: UInt16
    var offset: UInt32
    var value: UInt64

    /// Bytes of the number that is stored.
    var bytes: Int { 1 << Int(width & 3) }
  }

  init(_ bytes: UnsafeBufferPointer<UInt8>) {
    func byte(_ at: Int) -> UInt8 { at < bytes.count ? bytes[at] : 0 }
    sample = Int(byte(0)) % FuzzSample.count
    isResealed = byte(1) & 1 == 0
    takesStoredTypes = byte(1) & 2 != 0
    isReadOnly = byte(1) & 4 != 0
    sealsRecords = byte(1) & 8 == 0
    seed = UInt64(byte(2)) | UInt64(byte(3)) << 8
    var at = FuzzInput.head
    while at + Change.size <= bytes.count, changes.count < 24 {
      func number(_ offset: Int, _ size: Int) -> UInt64 {
        (0..<size).reduce(0) { $0 | UInt64(bytes[at + offset + $1]) << UInt64(8 * $1) }
      }
      let kind = Change.Kind(rawValue: bytes[at] % UInt8(Change.Kind.allCases.count)) ?? .node
      changes.append(
        Change(
          kind: kind, width: bytes[at + 1], index: UInt16(number(2, 2)), offset: UInt32(number(4, 4)),
          value: number(8, 8)))
      at += Change.size
    }
  }

  init() {}

  var encoded: [UInt8] {
    var flags: UInt8 = isResealed ? 0 : 1
    flags |= takesStoredTypes ? 2 : 0
    flags |= isReadOnly ? 4 : 0
    flags |= sealsRecords ? 0 : 8
    var bytes = [UInt8(sample), flags, UInt8(seed & 0xff), UInt8(seed >> 8 & 0xff)]
    for change in changes {
      bytes += [change.kind.rawValue, change.width]
      bytes += (0..<2).map { UInt8(change.index >> UInt16(8 * $0) & 0xff) }
      bytes += (0..<4).map { UInt8(change.offset >> UInt32(8 * $0) & 0xff) }
      bytes += (0..<8).map { UInt8(change.value >> UInt64(8 * $0) & 0xff) }
    }
    return bytes
  }

  // MARK: The files

  /// The bytes of the two files.
  func files(_ sample: FuzzSample) -> (file: [UInt8], lock: [UInt8]) {
    var (file, lock) = (sample.file, sample.lock)
    for change in changes { FuzzInput.apply(change, &file, &lock, sample) }
    if isResealed { Reseal.nodes(&file) }
    if sealsRecords { Reseal.records(&file) }
    return (file, lock)
  }

  private static func apply(_ change: Change, _ file: inout [UInt8], _ lock: inout [UInt8], _ sample: FuzzSample) {
    let (index, offset, value) = (Int(change.index), Int(change.offset), change.value)
    let node = sample.nodes[index % sample.nodes.count]
    let extents = max(1, sample.file.count >> DataLayout.extentShift)
    switch change.kind {
    case .node: FuzzBytes.put(&file, node.offset + offset % node.length, value, size: change.bytes)
    case .add:
      let at = node.offset + offset % node.length
      let more = UInt64(bitPattern: Int64(Int8(truncatingIfNeeded: value)))
      FuzzBytes.put(&file, at, FuzzBytes.word(file, at) &+ more, size: change.bytes)
    case .ref:
      let children = sample.children[index % sample.nodes.count]
      guard !children.isEmpty else { return }
      let child = sample.nodes[children[offset % children.count]]
      let target = sample.nodes[Int(value % UInt64(sample.nodes.count))]
      FuzzBytes.put(&file, child.place, UInt64(target.offset >> DataLayout.grainShift), size: 4)
    case .bytes: FuzzBytes.put(&file, offset % max(1, file.count), value, size: change.bytes)
    case .slot: Reseal.slot(&file, index & 3, word: offset % (DataLayout.Slot.checksum / 8), value)
    case .header: Reseal.header(&file, offset % DataLayout.Header.checksum, value, size: change.bytes)
    case .descriptor:
      let at = DataLayout.inlineDescriptorsOffset + (index % extents) * DataLayout.Descriptor.size
      FuzzBytes.put(&file, at + offset % DataLayout.Descriptor.size, value, size: change.bytes)
    case .record:
      guard !sample.records.isEmpty else { return }
      Reseal.record(&file, sample.records, index % sample.records.count, offset, value, size: change.bytes)
    case .copyPage:
      let page = DataLayout.pageSize
      let (from, to) = (index % (sample.file.count / page) * page, offset % (sample.file.count / page) * page)
      guard max(from, to) + page <= file.count else { return }
      for byte in 0..<page { file[to + byte] = sample.file[from + byte] }
    case .fill:
      let at = offset % max(1, file.count)
      for byte in at..<min(file.count, at + 1 + index) { file[byte] = UInt8(truncatingIfNeeded: value) }
    case .size:
      let size = max(1, offset % (sample.file.count + 4 * DataLayout.extentSize))
      if size < file.count { file.removeLast(file.count - size) }
      if size > file.count { file += [UInt8](repeating: UInt8(truncatingIfNeeded: value), count: size - file.count) }
    case .copyNode:
      let other = sample.nodes[offset % sample.nodes.count]
      let length = min(node.length, other.length)
      guard max(node.offset, other.offset) + length <= file.count else { return }
      for byte in 0..<length { file[other.offset + byte] = file[node.offset + byte] }
    case .bitmap:
      FuzzBytes.put(&file, index % extents << DataLayout.extentShift + offset % 512, value, size: change.bytes)
    case .lock: FuzzBytes.put(&lock, offset % lock.count, value, size: change.bytes)
    }
  }
}

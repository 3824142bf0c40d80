import CXXHash
import ReefEngine

/// Makes checksums fit what was changed, as somebody would who means harm.
enum Reseal {
  private static let slots = [
    DataLayout.durableSlotOffset.0, DataLayout.durableSlotOffset.1, DataLayout.headSlotOffset.0,
    DataLayout.headSlotOffset.1,
  ]

  /// All nodes that a slot leads to, by whatever way it now does.
  static func nodes(_ file: inout [UInt8]) {
    file.withUnsafeMutableBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      var seen: Set<UInt64> = []
      for at in slots where at + DataLayout.Slot.size <= bytes.count {
        guard var slot = RootSlot(at: base + at), slot.root >> 32 != 0 else { continue }
        slot.root = sealed(slot.root, base, bytes.count, &seen, depth: 0)
        slot.write(to: base + at)
      }
    }
  }

  private static func sealed(
    _ entry: UInt64, _ base: UnsafeMutableRawPointer, _ size: Int, _ seen: inout Set<UInt64>, depth: Int
  ) -> UInt64 {
    let ref = entry & 0xffff_ffff
    let offset = Int(ref) << DataLayout.grainShift
    guard depth < 64, offset >= DataLayout.extentSize, offset + DataLayout.Node.size <= size else { return entry }
    let node = base + offset
    let length = Int(node.load(fromByteOffset: DataLayout.Node.length, as: UInt32.self))
    guard length >= DataLayout.Node.size, offset + length <= size else { return entry }
    if seen.insert(ref).inserted {
      _ = NodeChildren.forEach(node) { place in
        // A node in the middle of a cycle cannot fit; what hangs on it does.
        let child = place.loadUnaligned(as: UInt64.self)
        let fitting = sealed(child, base, size, &seen, depth: depth + 1)
        UnsafeMutableRawPointer(mutating: place).storeBytes(of: fitting, as: UInt64.self)
      }
    }
    return ref | XXH3_64bits(node, length) << 32
  }

  /// The checksum of the descriptors, in clean slots.
  static func records(_ file: inout [UInt8]) {
    file.withUnsafeMutableBytes { bytes in
      guard let base = bytes.baseAddress, bytes.count >= DataLayout.extentSize else { return }
      for at in slots.prefix(2) {
        guard var slot = RootSlot(at: base + at), slot.isClean else { continue }
        let extents = min(Int(truncatingIfNeeded: slot.extents & 0xffff), DataLayout.inlineDescriptors)
        let sum = XXH3_64bits(base + DataLayout.inlineDescriptorsOffset, extents * DataLayout.Descriptor.size)
        slot.flags = slot.flags & 0xffff_ffff | max(1, sum & 0xffff_ffff) << DataLayout.SlotFlag.sumShift
        slot.write(to: base + at)
      }
    }
  }

  static func slot(_ file: inout [UInt8], _ index: Int, word: Int, _ value: UInt64) {
    let at = slots[index]
    FuzzBytes.put(&file, at + 8 * word, value, size: 8)
    sum(&file, at, from: 0, to: DataLayout.Slot.checksum, into: DataLayout.Slot.checksum)
  }

  static func header(_ file: inout [UInt8], _ offset: Int, _ value: UInt64, size: Int) {
    FuzzBytes.put(&file, offset, value, size: size)
    typealias Header = DataLayout.Header
    sum(&file, 0, from: Header.formatVersion, to: Header.checksum, into: Header.checksum)
  }

  /// A record of the redo ring, and the chain of those behind it.
  static func record(
    _ file: inout [UInt8], _ records: [Int], _ index: Int, _ offset: Int, _ value: UInt64, size: Int
  ) {
    typealias Record = DataLayout.Record
    let length = FuzzBytes.word(file, records[index] + Record.length)
    guard length >= UInt64(Record.nodes), length <= UInt64(file.count) else { return }
    FuzzBytes.put(&file, records[index] + offset % Int(length), value, size: size)
    for (index, at) in records.enumerated().dropFirst(index) {
      let length = FuzzBytes.word(file, at + Record.length)
      guard length >= UInt64(Record.nodes), length <= UInt64(max(0, file.count - at)) else { return }
      sum(&file, at, from: Record.length, to: Int(length), into: Record.checksum)
      guard index + 1 < records.count else { return }
      FuzzBytes.put(&file, records[index + 1] + Record.chain, FuzzBytes.word(file, at + Record.checksum), size: 8)
    }
  }

  private static func sum(_ file: inout [UInt8], _ at: Int, from: Int, to: Int, into place: Int) {
    guard from < to, at + max(to, place + 8) <= file.count else { return }
    let sum = file.withUnsafeBytes { bytes in
      bytes.baseAddress.map { XXH3_64bits($0 + at + from, to - from) } ?? 0
    }
    FuzzBytes.put(&file, at + place, sum, size: 8)
  }
}

import CXXHash
import ReefEngine

/// The bytes of a data file, and where its nodes lie in them: what damage that knows the format needs.
struct StoreFile {
  struct Node {
    var offset: Int
    var kind: UInt8
    var length: Int
    /// Where the entry that leads here lies; −1 for the root.
    var place: Int
    var parent: Int
  }

  static func isChecked(_ file: [UInt8]) -> Bool {
    file.withUnsafeBytes {
      $0.loadUnaligned(fromByteOffset: DataLayout.Header.flags, as: UInt32.self) & DataLayout.HeaderFlag.checked != 0
    }
  }

  static func newestSlot(_ file: [UInt8]) -> RootSlot? {
    slots(file, [DataLayout.durableSlotOffset.0, DataLayout.durableSlotOffset.1]).max { $0.version < $1.version }
  }

  private static func slots(_ file: [UInt8], _ offsets: [Int]) -> [RootSlot] {
    file.withUnsafeBytes { bytes in
      offsets.compactMap { at in bytes.baseAddress.flatMap { RootSlot(at: $0 + at) } }
    }
  }

  /// All nodes of the newest durable version, parents before children.
  static func nodes(_ file: [UInt8]) -> [Node] {
    guard let slot = newestSlot(file) else { return [] }
    var nodes: [Node] = []
    file.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      func add(_ entry: UInt64, place: Int, parent: Int) {
        let offset = Int(entry & 0xffff_ffff) << DataLayout.grainShift
        guard offset + 16 <= bytes.count else { return }
        let length = Int(bytes.load(fromByteOffset: offset + DataLayout.Node.length, as: UInt32.self))
        guard length >= 16, offset + length <= bytes.count else { return }
        nodes.append(Node(offset: offset, kind: bytes[offset], length: length, place: place, parent: parent))
      }
      add(slot.root, place: -1, parent: -1)
      var next = 0
      while next < nodes.count {
        let node = nodes[next]
        _ = NodeChildren.forEach(base + node.offset) { place in
          add(place.loadUnaligned(as: UInt64.self), place: place - base, parent: next)
        }
        next += 1
      }
    }
    return nodes
  }

  /// Makes all checksums fit again above a node that was changed: what an attacker would do.
  static func reseal(_ file: inout [UInt8], _ nodes: [Node], from index: Int) {
    var index = index
    file.withUnsafeMutableBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      while index >= 0 {
        let node = nodes[index]
        let length = Int(bytes.load(fromByteOffset: node.offset + DataLayout.Node.length, as: UInt32.self))
        guard length >= 0, node.offset + length <= bytes.count else { return }
        let sum = XXH3_64bits(base + node.offset, length) & 0xffff_ffff
        let slots = [
          DataLayout.durableSlotOffset.0, DataLayout.durableSlotOffset.1, DataLayout.headSlotOffset.0,
          DataLayout.headSlotOffset.1,
        ]
        if node.place >= 0 {
          let entry = bytes.loadUnaligned(fromByteOffset: node.place, as: UInt64.self)
          bytes.storeBytes(of: entry & 0xffff_ffff | sum << 32, toByteOffset: node.place, as: UInt64.self)
        } else {
          for at in slots {
            guard var slot = RootSlot(at: base + at), slot.root & 0xffff_ffff == UInt64(node.offset >> 4) else {
              continue
            }
            slot.root = slot.root & 0xffff_ffff | sum << 32
            slot.write(to: base + at)
          }
        }
        index = node.parent
      }
    }
  }
}

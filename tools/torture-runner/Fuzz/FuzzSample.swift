import Foundation
import ReefEngine

/// A whole store that inputs damage: its bytes, and where in them everything lies.
struct FuzzSample {
  let file: [UInt8]
  let lock: [UInt8]
  let nodes: [StoreFile.Node]
  /// Positions in `nodes` of each node's children.
  let children: [[Int]]
  /// Where the records of the redo ring begin, from the slot's position on.
  let records: [Int]
  /// Parts of the file that are not zero, pages each: what has to be written to make it.
  let filled: [Range<Int>]

  init(file: [UInt8], lock: [UInt8]) {
    self.file = file
    self.lock = lock
    nodes = StoreFile.nodes(file)
    var children = [[Int]](repeating: [], count: nodes.count)
    for (index, node) in nodes.enumerated() where node.parent >= 0 { children[node.parent].append(index) }
    self.children = children
    records = FuzzSample.records(of: file)
    filled = FuzzSample.filled(file)
  }

  /// Neighbouring pages that are not all zeros.
  static func filled(_ file: [UInt8]) -> [Range<Int>] {
    let page = DataLayout.pageSize
    let zeros = [UInt8](repeating: 0, count: page)
    var found: [Range<Int>] = []
    file.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      for at in stride(from: 0, to: bytes.count, by: page) {
        let end = min(at + page, bytes.count)
        // Comparing bytes one by one would be most of what this program does: it is instrumented.
        guard memcmp(base + at, zeros, end - at) != 0 else { continue }
        if let last = found.last, last.upperBound == at {
          found[found.count - 1] = last.lowerBound..<end
        } else {
          found.append(at..<end)
        }
      }
    }
    return found
  }

  private static func records(of file: [UInt8]) -> [Int] {
    guard let slot = StoreFile.newestSlot(file), slot.ringLength != 0, !slot.isClean else { return [] }
    let (start, length) = (Int(slot.ringStart), Int(slot.ringLength))
    var found: [Int] = []
    var position = Int(slot.ringPosition)
    while found.count < 64 {
      let at = start + position % length
      let bytes = Int(FuzzBytes.word(file, at + DataLayout.Record.length))
      guard bytes >= DataLayout.Record.nodes, at + bytes <= start + length,
        FuzzBytes.word(file, at + DataLayout.Record.position) == UInt64(position)
      else { break }
      found.append(at)
      position += (bytes + DataLayout.redoBlock - 1) / DataLayout.redoBlock * DataLayout.redoBlock
    }
    return found
  }

  // MARK: All of them

  /// Closed, killed, killed with its power lost, and without checksums; small ones first, then the full ones.
  static let count = 8

  /// Kept in `folder` from the first run on: they hold random words, and inputs name bytes of them.
  static func all(_ folder: String) throws -> [FuzzSample] {
    try [16, 1].flatMap { parts in
      let checked = try made(parts: parts, isChecked: true, folder)
      let plain = try made(parts: parts, isChecked: false, folder)
      var powerless = checked.killed
      for at in DataLayout.headSlotOffset.0..<DataLayout.headSlotOffset.1 + DataLayout.Slot.size { powerless[at] = 0 }
      return [plain.closed, checked.closed, checked.killed, powerless].map {
        FuzzSample(file: $0, lock: checked.lock)
      }
    }
  }

  private typealias Files = (closed: [UInt8], killed: [UInt8], lock: [UInt8])

  private static func made(parts: Int, isChecked: Bool, _ folder: String) throws -> Files {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let places = ["closed", "killed", "lock"].map { "\(folder)/\(parts)-\(isChecked ? "checked" : "plain").\($0)" }
    if !FileManager.default.fileExists(atPath: places[2]) {
      let made = try SampleStore(
        seed: 1, folder: isChecked ? Torture.diskFolder + "-fuzz" : "/dev/shm/reef-fuzz-sample-\(getpid())",
        parts: parts,
        isChecked: isChecked)
      for (place, bytes) in zip(places, [made.closed, made.killed, made.lock]) {
        try Data(bytes).write(to: URL(fileURLWithPath: place), options: .atomic)
      }
    }
    let read = try places.map { [UInt8](try Data(contentsOf: URL(fileURLWithPath: $0))) }
    return (read[0], read[1], read[2])
  }
}

/// Words in an array of bytes; what lies outside is 0, or not stored.
enum FuzzBytes {
  static func word(_ bytes: [UInt8], _ at: Int) -> UInt64 {
    guard at >= 0, at <= bytes.count - 8 else { return 0 }
    return bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: at, as: UInt64.self) }
  }

  /// Stores the lower `size` bytes of a number.
  static func put(_ bytes: inout [UInt8], _ at: Int, _ value: UInt64, size: Int) {
    guard at >= 0, at <= bytes.count - size else { return }
    for index in 0..<size { bytes[at + index] = UInt8(truncatingIfNeeded: value >> UInt64(8 * index)) }
  }
}

import ReefEngine

/// What is done to a file.
enum Damage: Int, CaseIterable {
  case flip, run, truncate, extend, zero, swap, torn, replay, structure, hostile, lock

  var name: String {
    switch self {
    case .flip: "bit flips"
    case .run: "byte runs"
    case .truncate: "truncated"
    case .extend: "extended"
    case .zero: "zeroed pages"
    case .swap: "swapped pages"
    case .torn: "torn headers"
    case .replay: "old pages"
    case .structure: "structure"
    case .hostile: "hostile"
    case .lock: "lock file"
    }
  }

  /// Damages the files of a store. Says what it did.
  func apply(
    to file: inout [UInt8], lock: inout [UInt8]?, sample: SampleStore, nodes: [StoreFile.Node], random: inout Mix
  ) -> String {
    let page = 4096
    func pages(_ file: [UInt8]) -> Int { max(1, file.count / page) }
    /// Half of the damage goes where nodes are, a quarter to the first extent, the rest anywhere.
    func somewhere(_ random: inout Mix) -> Int {
      switch random.below(4) {
      case 0 where file.count > 65536: return random.below(20_480 + 32 * (file.count >> 16))
      case 1, 2:
        let node = random.pick(nodes)
        return min(file.count - 1, node.offset + random.below(node.length))
      default: return random.below(file.count)
      }
    }
    func slots(_ at: Int) -> Int { at / page }
    switch self {
    case .flip:
      let count = 1 + random.below(random.chance(3) ? 64 : 3)
      var places: [Int] = []
      for _ in 0..<count {
        let at = somewhere(&random)
        file[at] ^= 1 << UInt8(random.below(8))
        places.append(at)
      }
      return "bits in bytes \(places.prefix(8))"
    case .run:
      let at = somewhere(&random)
      let length = min(file.count - at, 1 + random.below(random.chance(3) ? 4096 : 100))
      let fill: UInt8? = random.chance(3) ? 0xff : random.chance(3) ? 0 : nil
      for index in at..<(at + length) { file[index] = fill ?? random.byte() }
      return "\(length) bytes from \(at)"
    case .truncate:
      // Cut to nothing it is a new store, as any empty file is.
      let size = max(1, random.chance(2) ? random.below(file.count) : random.below(pages(file)) * page)
      file.removeLast(file.count - size)
      return "cut to \(size)"
    case .extend:
      let length = random.chance(2) ? 1 + random.below(70_000) : 65536 * (1 + random.below(8))
      let zeros = random.chance(2)
      file += (0..<length).map { _ in zeros ? 0 : random.byte() }
      return "\(length) bytes \(zeros ? "of zeros" : "") added"
    case .zero:
      var places: [Int] = []
      for _ in 0..<(1 + random.below(3)) {
        let at = slots(somewhere(&random)) * page
        for index in at..<min(file.count, at + page) { file[index] = 0 }
        places.append(at)
      }
      return "pages at \(places)"
    case .swap:
      let one = slots(somewhere(&random)) * page
      let two = slots(somewhere(&random)) * page
      guard one + page <= file.count, two + page <= file.count, one != two else { return "nothing" }
      for index in 0..<page { file.swapAt(one + index, two + index) }
      return "pages at \(one) and \(two)"
    case .torn:
      // A write of a slot, the header or descriptors that did not arrive as a whole: the rest is of before, or nothing.
      let places = [0, 4096, 8192, 12288, 12800, 16384, 20480]
      let at = random.pick(places)
      let length = at < 20480 ? 128 : 32 * (file.count >> 16)
      let from = random.below(length)
      let old = random.chance(2)
      for index in (at + from)..<(at + length) { file[index] = old ? sample.earlier[index] : 0 }
      return "structure at \(at) from byte \(from) on \(old ? "is of before" : "is zero")"
    case .replay:
      var places: [Int] = []
      for _ in 0..<(1 + random.below(4)) {
        let at = slots(somewhere(&random)) * page
        // Both durable slots of before would be the whole store of before.
        if at == 4096 || at == 8192, places.contains(4096) || places.contains(8192) { continue }
        guard at + page <= min(file.count, sample.earlier.count) else { continue }
        for index in at..<(at + page) { file[index] = sample.earlier[index] }
        places.append(at)
      }
      return "pages at \(places) are of before"
    case .structure: return Structure.damage(&file, nodes, &random, reseal: false)
    case .hostile: return Structure.damage(&file, nodes, &random, reseal: true)
    case .lock:
      var bytes = sample.lock
      let what = random.below(4)
      switch what {
      case 0: for _ in 0..<(1 + random.below(100)) { bytes[random.below(bytes.count)] = random.byte() }
      case 1: bytes.removeLast(bytes.count - random.below(bytes.count))
      case 2:
        let at = random.below(bytes.count)
        for index in at..<min(bytes.count, at + 1 + random.below(8192)) { bytes[index] = random.byte() }
      default: bytes += (0..<random.below(100_000)).map { _ in random.byte() }
      }
      lock = bytes
      return "lock file: \(["bytes", "cut to \(bytes.count)", "a run of bytes", "extended"][what])"
    }
  }
}

/// Damage that knows the format: refs, counts, widths, lengths, depths and cycles.
enum Structure {
  static func damage(_ file: inout [UInt8], _ nodes: [StoreFile.Node], _ random: inout Mix, reseal: Bool) -> String {
    var said: [String] = []
    for _ in 0..<(random.chance(3) ? 1 + random.below(4) : 1) {
      let index = random.below(nodes.count)
      let node = nodes[index]
      let what = change(&file, node, index, nodes, &random)
      said.append("kind \(node.kind) at \(node.offset): \(what)")
      if reseal { StoreFile.reseal(&file, nodes, from: index) }
    }
    return said.joined(separator: "; ")
  }

  private static func change(
    _ file: inout [UInt8], _ node: StoreFile.Node, _ index: Int, _ nodes: [StoreFile.Node], _ random: inout Mix
  ) -> String {
    func put<Word: FixedWidthInteger>(_ offset: Int, _ value: Word) {
      guard offset >= 0, offset + MemoryLayout<Word>.size <= file.count else { return }
      file.withUnsafeMutableBytes { $0.storeBytes(of: value, toByteOffset: offset, as: Word.self) }
    }
    func word(_ offset: Int) -> UInt64 {
      guard offset + 8 <= file.count else { return 0 }
      return file.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
    }
    func odd(_ random: inout Mix, _ old: UInt64) -> UInt64 {
      switch random.below(7) {
      case 0: 0
      case 1: .max
      case 2: old &+ 1
      case 3: old &- 1
      case 4: old ^ 1 << UInt64(random.below(64))
      case 5: 1 << UInt64(random.below(64))
      default: random.next()
      }
    }
    // A ref: to another node, of the same kind or any, to itself or above (a cycle), nowhere, or out of the file.
    let children = nodes.indices.filter { nodes[$0].parent == index }
    if !children.isEmpty, random.chance(2) {
      let child = nodes[random.pick(children)]
      let target: Int
      let what: String
      switch random.below(6) {
      case 0: (target, what) = (node.offset, "itself")
      case 1: (target, what) = (nodes[max(0, node.parent)].offset, "its parent")
      case 2:
        (target, what) = (
          nodes.filter { $0.kind == child.kind }[random.below(nodes.count { $0.kind == child.kind })].offset,
          "another of its kind"
        )
      case 3: (target, what) = (random.pick(nodes).offset, "another node")
      case 4: (target, what) = (Int(random.next() & 0xffff_ffff) << 4, "anywhere")
      default: (target, what) = (child.offset + 16 * (1 + random.below(4)), "beside it")
      }
      let old = word(child.place)
      // The checksum of what it now leads to, or as it was.
      put(child.place, old & ~0xffff_ffff | UInt64(target >> 4) & 0xffff_ffff)
      return "the entry at \(child.place) leads to \(what)"
    }
    switch random.below(7) {
    case 0:
      put(node.offset, UInt8(random.below(11)))
      return "kind"
    case 1:
      put(node.offset + 1, random.byte())
      return "form"
    case 2:
      put(node.offset + 2, UInt16(truncatingIfNeeded: odd(&random, word(node.offset + 2) & 0xffff)))
      return "count or width"
    case 3:
      put(node.offset + 4, UInt32(truncatingIfNeeded: odd(&random, word(node.offset + 4) & 0xffff_ffff)))
      return "length"
    case 4:
      put(node.offset + 8, odd(&random, word(node.offset + 8)))
      return "stamp"
    default:
      // A word of what the kind keeps in front: base keys, depths, counts, prefix lengths, end offsets.
      let places = max(1, min(node.length - 16, 96) / 4)
      let at = node.offset + 16 + 4 * random.below(places)
      put(at, UInt32(truncatingIfNeeded: odd(&random, word(at) & 0xffff_ffff)))
      return "word at \(at - node.offset)"
    }
  }
}

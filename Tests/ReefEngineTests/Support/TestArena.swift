import ReefEngine

/// A data file in memory, written by the plainest code that obeys the format. Nodes with equal bytes are one node, so
/// that two versions built from nearly equal rows share most of their trees.
final class TestArena {
  let base: UnsafeMutableRawPointer
  let capacity: Int
  private(set) var used = 64
  private var known: [[UInt8]: UInt64] = [:]

  init(capacity: Int = 64 << 20) {
    self.capacity = capacity
    base = .allocate(byteCount: capacity, alignment: 4096)
    base.initializeMemory(as: UInt8.self, repeating: 0, count: 64)
  }
  deinit { base.deallocate() }

  func node(kind: UInt8, form: UInt8 = 0, count: Int = 0, valueLength: Int = 0, payload: [UInt8]) -> UInt64 {
    var bytes: [UInt8] = [kind, form]
    bytes += le(UInt16(count | valueLength << 9)) + le(UInt32(16 + payload.count)) + le(UInt64(1)) + payload
    if let entry = known[bytes] { return entry }
    precondition(used + bytes.count + 16 <= capacity, "the test's arena is too small")
    bytes.withUnsafeBytes { (base + used).copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
    // A checksum in the high half: readers must ignore it.
    let entry = UInt64(used / 16) | UInt64(truncatingIfNeeded: bytes.hashValue) << 32
    used += (bytes.count + 15) / 16 * 16
    known[bytes] = entry
    return entry
  }

  func le<T: FixedWidthInteger>(_ value: T) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { [UInt8]($0) } }

  func table(rows: Int, root: UInt64, depth: Int, columns: Int) -> UInt64 {
    var payload = le(UInt64(rows)) + le(UInt64(1)) + le(root)
    payload += le(UInt32(depth)) + le(UInt32(columns)) + le(UInt64(0)) + le(UInt32(0)) + le(UInt32(0))
    return node(kind: NodeKind.table, payload: payload)
  }

  func root(version: UInt64, tables: [UInt64]) -> ReadView {
    var payload = le(version) + le(UInt64(0)) + le(UInt32(0)) + le(UInt32(tables.count))
    payload += le(UInt64(0)) + le(UInt64(0)) + le(UInt64(0))
    for table in tables { payload += le(table) }
    let entry = node(kind: NodeKind.root, payload: payload)
    return ReadView(base: base, limit: UInt64(used), root: entry, version: version)
  }
}

// Columns
extension TestArena {
  /// A column node, in the narrowest form or a wider one by chance; 0 where all values are zero, by chance.
  func column(_ values: [Value], _ property: PropertySchema, _ random: inout TestRandom) -> UInt64 {
    let zero = property.isOptional ? Value.null : Self.zero(property.type)
    if values.allSatisfy({ Self.isIdentical($0, zero) }), !random.chance(3) { return 0 }
    let hasNulls = values.contains(.null) || (property.isOptional && random.chance(3))
    var flags: UInt8 = hasNulls ? ColumnForm.hasNulls : 0
    var payload: [UInt8] = hasNulls ? bitmap(values.map { $0 == .null }) : []
    switch property.type {
    case .bool:
      let bits = bitmap(values.map { $0 == .bool(true) })
      payload += bits.prefix((values.count + 63) / 64 * 8)
      return node(kind: NodeKind.column, form: ColumnForm.bits | flags, count: values.count, payload: payload)
    case .string, .data:
      var cells = values.map(Self.bytes)
      let long = cells.map { $0.count > (property.type == .string ? 512 : 256) }
      if long.contains(true) || random.chance(10) {
        flags |= ColumnForm.hasBlobs
        payload += bitmap(long)
        for i in cells.indices where long[i] { cells[i] = le(blob(cells[i])) + le(UInt64(cells[i].count)) }
      }
      let total = cells.reduce(0) { $0 + $1.count }
      if Set(cells.map(\.count)).count == 1, cells[0].count < 128, !random.chance(4) {
        payload += cells.flatMap { $0 }
        return node(
          kind: NodeKind.column, form: ColumnForm.fixed | flags, count: values.count, valueLength: cells[0].count,
          payload: payload)
      }
      var end = 0
      let isLong = total > 65535 || random.chance(4)
      for cell in cells {
        end += cell.count
        payload += isLong ? le(UInt32(end)) : le(UInt16(end))
      }
      payload += cells.flatMap { $0 }
      let form = isLong ? ColumnForm.long : ColumnForm.short
      return node(kind: NodeKind.column, form: form | flags, count: values.count, payload: payload)
    case .uuid:
      for value in values {
        if case .uuid(let bytes) = value {
          payload += le(bytes.high.bigEndian) + le(bytes.low.bigEndian)
        } else {
          payload += [UInt8](repeating: 0, count: 16)
        }
      }
      return node(kind: NodeKind.column, form: ColumnForm.uuid | flags, count: values.count, payload: payload)
    case .float:
      for value in values {
        if case .float(let float) = value { payload += le(float.bitPattern) } else { payload += le(UInt32(0)) }
      }
      return node(kind: NodeKind.column, form: ColumnForm.float | flags, count: values.count, payload: payload)
    default:
      let words = values.map(Self.word)
      var width = 0
      if [.double, .date, .uint64].contains(property.type) {
        width = 3
      } else {
        while width < 3, !words.allSatisfy({ Self.fits($0, width) }) { width += 1 }
        if width < 3, random.chance(4) { width += 1 }
      }
      for word in words { payload += le(word).prefix(1 << width) }
      return node(
        kind: NodeKind.column, form: UInt8(width + 1) | flags, count: values.count, payload: payload)
    }
  }

  func blob(_ bytes: [UInt8]) -> UInt64 { node(kind: NodeKind.blob, payload: le(UInt64(bytes.count)) + bytes) }

  func bitmap(_ bits: [Bool]) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: 32)
    for (i, bit) in bits.enumerated() where bit { result[i / 8] |= 1 << (i % 8) }
    return result
  }

  static func fits(_ word: Int64, _ width: Int) -> Bool {
    let shift = 64 - 8 << width
    return (word << shift) >> shift == word
  }

  static func word(_ value: Value) -> Int64 {
    switch value {
    case .int(let int): int
    case .uint(let uint): Int64(bitPattern: uint)
    case .double(let double), .date(let double): Int64(bitPattern: double.bitPattern)
    default: 0
    }
  }

  static func bytes(_ value: Value) -> [UInt8] {
    switch value {
    case .string(let string): [UInt8](string.utf8)
    case .data(let data): data
    default: []
    }
  }

  static func zero(_ type: ValueType) -> Value {
    switch type {
    case .bool: .bool(false)
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32: .int(0)
    case .uint64: .uint(0)
    case .float: .float(0)
    case .double: .double(0)
    case .string: .string("")
    case .data: .data([])
    case .date: .date(0)
    case .uuid: .uuid(UUIDBytes(high: 0, low: 0))
    }
  }

  /// Equal to the bit: NaN is itself, -0.0 is not 0.0, strings by scalars.
  static func isIdentical(_ a: Value, _ b: Value) -> Bool {
    switch (a, b) {
    case (.double(let x), .double(let y)), (.date(let x), .date(let y)): x.bitPattern == y.bitPattern
    case (.float(let x), .float(let y)): x.bitPattern == y.bitPattern
    case (.string(let x), .string(let y)): x.utf8.elementsEqual(y.utf8)
    default: a == b
    }
  }
}

/// Bytes of strings and data on their way into a leaf.
@usableFromInline
package struct ByteArena {
  @usableFromInline package var base: UnsafeMutableRawPointer
  @usableFromInline package var used: Int
  @usableFromInline package var capacity: Int
  /// More than 4 GiB were asked for: what follows is cut off, and the insert throws.
  @usableFromInline package var overflowed = false

  package init(capacity: Int) {
    base = .allocate(byteCount: capacity, alignment: 16)
    used = 0
    self.capacity = capacity
  }

  /// Room for `count` more bytes; the caller advances `used`.
  @usableFromInline @inline(never)
  mutating func grow(_ count: Int) {
    let wanted = max(capacity * 2, used + count)
    let bigger = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 16)
    bigger.copyMemory(from: base, byteCount: used)
    base.deallocate()
    base = bigger
    capacity = wanted
  }

  @inlinable @inline(__always)
  package mutating func append(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    let count = bytes.count
    guard count <= Int(Int32.max), used &+ count <= Int(UInt32.max) else {
      overflowed = true
      return 0
    }
    if used &+ count > capacity { grow(count) }
    if let from = bytes.baseAddress { (base + used).copyMemory(from: from, byteCount: count) }
    let cell = UInt64(truncatingIfNeeded: used) | UInt64(truncatingIfNeeded: count) &<< 32
    used &+= count
    return cell
  }
}

/// Takes the property values of one new object, straight into the columns of the leaf that it will lie in.
///
/// What `@Model` generates calls one setter per property; properties left out get nil, or zero where they are not
/// optional. `column` is the property's position in `TypeSchema.properties`, the key included. A value of the wrong
/// kind for its column makes the insert throw `invalidArgument`.
public struct RowEncoder {
  @usableFromInline let cells: UnsafeMutablePointer<UInt64>
  @usableFromInline let nulls: UnsafeMutablePointer<UInt64>
  @usableFromInline let kinds: UnsafePointer<UInt8>
  @usableFromInline let arena: UnsafeMutablePointer<ByteArena>
  @usableFromInline let columns: Int
  @usableFromInline let word: Int
  @usableFromInline let bit: UInt64
  /// Columns set so far, of the first 64.
  @usableFromInline package var written: UInt64 = 0
  @usableFromInline package var isInvalid = false
  /// A value does not fit into a leaf, or may not: the row takes the long way.
  @usableFromInline package var isLong = false

  @usableFromInline static var stride: Int { @inline(__always) get { 264 } }
  @usableFromInline static var nullWords: Int { @inline(__always) get { 5 } }
  @usableFromInline static var longestInline: Int { @inline(__always) get { 512 } }

  @inlinable @inline(__always)
  package init(
    cells: UnsafeMutablePointer<UInt64>, nulls: UnsafeMutablePointer<UInt64>, kinds: UnsafePointer<UInt8>,
    arena: UnsafeMutablePointer<ByteArena>, columns: Int, row: Int
  ) {
    self.cells = cells + row
    self.nulls = nulls
    self.kinds = kinds
    self.arena = arena
    self.columns = columns
    word = row &>> 6
    bit = 1 &<< UInt64(truncatingIfNeeded: row & 63)
  }

  @inlinable @inline(__always)
  mutating func put(_ column: Int, _ kind: UInt8, _ value: UInt64) {
    guard UInt(bitPattern: column) < UInt(bitPattern: columns), kinds[column] & 1 == kind else {
      isInvalid = true
      return
    }
    cells[column &* RowEncoder.stride] = value
    written |= 1 &<< UInt64(truncatingIfNeeded: column & 63)
  }

  /// Bool, Int, Int8…Int64, UInt8…UInt32.
  @inlinable @inline(__always)
  public mutating func set(column: Int, int value: Int64) { put(column, 0, UInt64(bitPattern: value)) }
  /// UInt64 and UInt.
  @inlinable @inline(__always)
  public mutating func set(column: Int, uint value: UInt64) { put(column, 0, value) }
  @inlinable @inline(__always)
  public mutating func set(column: Int, bool value: Bool) { put(column, 0, value ? 1 : 0) }
  /// Double, and Date as seconds since the reference date.
  @inlinable @inline(__always)
  public mutating func set(column: Int, double value: Double) { put(column, 0, value.bitPattern) }
  @inlinable @inline(__always)
  public mutating func set(column: Int, float value: Float) { put(column, 0, UInt64(value.bitPattern)) }

  /// The string's UTF-8 bytes are copied.
  @inlinable @inline(__always)
  public mutating func set(column: Int, string value: String) {
    // Native strings are contiguous: no copy of the string, and nothing retained.
    let wasContiguous: Void? = value.utf8.withContiguousStorageIfAvailable {
      set(column: column, bytes: UnsafeRawBufferPointer($0))
    }
    if wasContiguous == nil { set(column: column, foreign: value) }
  }
  @inline(never) @usableFromInline
  mutating func set(column: Int, foreign value: String) {
    var value = value
    value.withUTF8 { set(column: column, bytes: UnsafeRawBufferPointer($0)) }
  }
  /// String or Data, as bytes, which are copied.
  @inlinable @inline(__always)
  public mutating func set(column: Int, bytes: UnsafeRawBufferPointer) {
    if bytes.count > RowEncoder.longestInline { isLong = true }
    put(column, 1, arena.pointee.append(bytes))
  }
  /// The two halves of a UUID as big-endian numbers.
  @inlinable @inline(__always)
  public mutating func set(column: Int, uuidHigh high: UInt64, low: UInt64) {
    var bytes = (high.bigEndian, low.bigEndian)
    let cell = withUnsafeBytes(of: &bytes) { arena.pointee.append($0) }
    put(column, 1, cell)
  }
  @inlinable @inline(__always)
  public mutating func setNull(column: Int) {
    put(column, UInt(bitPattern: column) < UInt(bitPattern: columns) ? kinds[column] & 1 : 0, 0)
    if isInvalid { return }
    nulls[column &* RowEncoder.nullWords &+ word] |= bit
  }

  /// A boxed value of any type.
  public mutating func set(column: Int, value: Value) {
    switch value {
    case .null: setNull(column: column)
    case .bool(let value): set(column: column, bool: value)
    case .int(let value): set(column: column, int: value)
    case .uint(let value): set(column: column, uint: value)
    case .float(let value): set(column: column, float: value)
    case .double(let value), .date(let value): set(column: column, double: value)
    case .string(let value): set(column: column, string: value)
    case .data(let value): value.withUnsafeBytes { set(column: column, bytes: $0) }
    case .uuid(let value): set(column: column, uuidHigh: value.high, low: value.low)
    }
  }
}

import CXXHash

extension IndexKey {
  /// nil: below every value of an optional property.
  package mutating func encodeNil() {
    words[0] = 0
    words[1] = 0
    length = 1
  }

  /// Not above any value: the lower bound that leaves out nil.
  package mutating func encodeFirstValue(isOptional: Bool) {
    words[0] = isOptional ? UInt64(1) : 0
    words[1] = 0
    length = isOptional ? 1 : 0
  }

  /// Integers of every width but UInt64.
  @inline(__always)
  package mutating func encode(int value: Int64, isOptional: Bool = false) {
    put(UInt64(bitPattern: value) ^ 1 &<< 63, 8, isOptional)
  }

  @inline(__always)
  package mutating func encode(uint value: UInt64, isOptional: Bool = false) { put(value, 8, isOptional) }

  package mutating func encode(bool value: Bool, isOptional: Bool = false) {
    put(value ? 1 &<< 56 : 0, 1, isOptional)
  }

  /// Doubles and dates.
  @inline(__always)
  package mutating func encode(double value: Double, isOptional: Bool = false) {
    put(IndexKey.ordered(value), 8, isOptional)
  }

  package mutating func encode(float value: Float, isOptional: Bool = false) {
    put(UInt64(IndexKey.ordered(value)) &<< 32, 4, isOptional)
  }

  package mutating func encode(uuid value: UUIDBytes, isOptional: Bool = false) {
    if isOptional {
      words[0] = (1 &<< 56 | value.high &>> 8).bigEndian
      words[1] = (value.high &<< 56 | value.low &>> 8).bigEndian
      words[2] = (value.low &<< 56).bigEndian
      length = 17
    } else {
      words[0] = value.high.bigEndian
      words[1] = value.low.bigEndian
      words[2] = 0
      length = 16
    }
    words[3] = 0
  }

  /// The bytes of a Data or the UTF-8 of a String.
  package mutating func encode(bytes value: UnsafeRawBufferPointer, isOptional: Bool = false) {
    let tag = isOptional ? 1 : 0
    let full = tag &+ value.count
    let cut = full >= DataLayout.Index.maximumKey
    let own = cut ? DataLayout.Index.orderedKey : full
    withBuffer { buffer in
      if isOptional { buffer.storeBytes(of: 1, as: UInt8.self) }
      if let start = value.baseAddress { (buffer + tag).copyMemory(from: start, byteCount: own &- tag) }
      if cut {
        let hash = XXH3_64bits(value.baseAddress, value.count)
        (buffer + own).storeBytes(of: hash.bigEndian, as: UInt64.self)
        buffer.storeZeros(at: DataLayout.Index.maximumKey)
      } else {
        buffer.storeZeros(at: own)
      }
    }
    length = cut ? DataLayout.Index.maximumKey : own
  }

  package mutating func encode(string value: String, isOptional: Bool = false) {
    var value = value
    value.withUTF8 { encode(bytes: UnsafeRawBufferPointer($0), isOptional: isOptional) }
  }

  /// A boxed value of a property of `type`. False where the value is of another kind, or nil where that cannot be.
  package mutating func encode(_ value: Value, type: ValueType, isOptional: Bool) -> Bool {
    switch (value, type) {
    case (.null, _):
      if isOptional { encodeNil() }
      return isOptional
    case (.bool(let value), .bool): encode(bool: value, isOptional: isOptional)
    case (.int(let value), .int8), (.int(let value), .int16), (.int(let value), .int32), (.int(let value), .int64),
      (.int(let value), .uint8), (.int(let value), .uint16), (.int(let value), .uint32):
      encode(int: value, isOptional: isOptional)
    case (.uint(let value), .uint64): encode(uint: value, isOptional: isOptional)
    case (.float(let value), .float): encode(float: value, isOptional: isOptional)
    case (.double(let value), .double), (.date(let value), .date): encode(double: value, isOptional: isOptional)
    case (.string(let value), .string): encode(string: value, isOptional: isOptional)
    case (.data(let value), .data): value.withUnsafeBytes { encode(bytes: $0, isOptional: isOptional) }
    case (.uuid(let value), .uuid): encode(uuid: value, isOptional: isOptional)
    default: return false
    }
    return true
  }

  /// Above nil and below NaN … everything; NaN first, −0.0 as 0.0.
  @inline(__always)
  static func ordered(_ value: Double) -> UInt64 {
    let bits = value.bitPattern
    if value.isNaN { return 0 }
    if value == 0 { return 1 &<< 63 }
    return bits &>> 63 != 0 ? ~bits : bits | 1 &<< 63
  }

  static func ordered(_ value: Float) -> UInt32 {
    let bits = value.bitPattern
    if value.isNaN { return 0 }
    if value == 0 { return 1 &<< 31 }
    return bits &>> 31 != 0 ? ~bits : bits | 1 &<< 31
  }

  /// Writes the first `count` bytes of a word that is already in order.
  @inline(__always)
  private mutating func put(_ word: UInt64, _ count: Int, _ isOptional: Bool) {
    if isOptional {
      words[0] = (1 &<< 56 | word &>> 8).bigEndian
      words[1] = (word &<< 56).bigEndian
    } else {
      words[0] = word.bigEndian
      words[1] = 0
    }
    words[2] = 0
    length = isOptional ? count &+ 1 : count
  }
}

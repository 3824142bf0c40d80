/// The stored form of a schema: JSON, keys in alphabetical order, no spaces, as `docs/format.md` draws it.
///
/// Written and read by hand: a store is opened in microseconds, a general decoder takes a millisecond to find its way
/// and brings megabytes of libraries into every process that has a store open.
enum SchemaText {
  // MARK: Writing

  static func bytes(of schema: Schema) -> [UInt8] {
    var out: [UInt8] = []
    out.append(contentsOf: #"{"types":["#.utf8)
    for (index, type) in schema.types.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      append(type, to: &out)
    }
    out.append(contentsOf: "]}".utf8)
    return out
  }

  private static func append(_ type: TypeSchema, to out: inout [UInt8]) {
    out.append(UInt8(ascii: "{"))
    if let key = type.key { out.append(contentsOf: #""key":\#(key),"#.utf8) }
    out.append(contentsOf: #""name":"#.utf8)
    append(type.name, to: &out)
    out.append(contentsOf: #","properties":["#.utf8)
    for (index, property) in type.properties.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      out.append(contentsOf: #"{"isIndexed":\#(property.isIndexed),"isOptional":\#(property.isOptional),"name":"#.utf8)
      append(property.name, to: &out)
      out.append(contentsOf: #","type":\#(property.type.rawValue)}"#.utf8)
    }
    out.append(contentsOf: "]}".utf8)
  }

  private static func append(_ text: String, to out: inout [UInt8]) {
    let digits = Array("0123456789abcdef".utf8)
    out.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"):
        out.append(contentsOf: [UInt8(ascii: "\\"), byte])
      case 8: out.append(contentsOf: #"\b"#.utf8)
      case 9: out.append(contentsOf: #"\t"#.utf8)
      case 10: out.append(contentsOf: #"\n"#.utf8)
      case 12: out.append(contentsOf: #"\f"#.utf8)
      case 13: out.append(contentsOf: #"\r"#.utf8)
      case 0..<32: out.append(contentsOf: #"\u00"#.utf8 + [digits[Int(byte >> 4)], digits[Int(byte & 15)]])
      default: out.append(byte)
      }
    }
    out.append(UInt8(ascii: "\""))
  }

  // MARK: Reading

  /// Nil where the bytes are not a schema. Members that are not known are passed over.
  static func schema(from bytes: UnsafeRawBufferPointer) -> Schema? {
    var reader = Reader(bytes: bytes)
    var types: [TypeSchema]?
    let isRead = reader.members { name, reader in
      guard name == "types" else { return reader.skip(0) }
      types = reader.list { type(&$0) }
      return types != nil
    }
    guard isRead, reader.isAtEnd, let types else { return nil }
    return Schema(types)
  }

  private static func type(_ reader: inout Reader) -> TypeSchema? {
    var name: String?
    var properties: [PropertySchema]?
    var key: Int?
    let isRead = reader.members { member, reader in
      switch member {
      case "name":
        name = reader.string()
        return name != nil
      case "properties":
        properties = reader.list { property(&$0) }
        return properties != nil
      case "key":
        if reader.takes("null") { return true }
        key = reader.integer()
        return key != nil
      default: return reader.skip(0)
      }
    }
    guard isRead, let name, let properties else { return nil }
    return TypeSchema(name, properties, key: key)
  }

  private static func property(_ reader: inout Reader) -> PropertySchema? {
    var name: String?
    var type: ValueType?
    var isOptional: Bool?
    var isIndexed: Bool?
    let isRead = reader.members { member, reader in
      switch member {
      case "name":
        name = reader.string()
        return name != nil
      case "type":
        type = reader.integer().flatMap { UInt8(exactly: $0) }.flatMap { ValueType(rawValue: $0) }
        return type != nil
      case "isOptional":
        isOptional = reader.truth()
        return isOptional != nil
      case "isIndexed":
        isIndexed = reader.truth()
        return isIndexed != nil
      default: return reader.skip(0)
      }
    }
    guard isRead, let name, let type, let isOptional, let isIndexed else { return nil }
    return PropertySchema(name, type, isOptional: isOptional, isIndexed: isIndexed)
  }
}

extension SchemaText {
  /// Goes through JSON that may be damaged: every step says whether there was what was asked for.
  fileprivate struct Reader {
    let bytes: UnsafeRawBufferPointer
    private var next = 0
    private static let deepest = 32

    init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    private mutating func skipSpaces() {
      while next < bytes.count {
        switch bytes[next] {
        case 9, 10, 13, 32: next += 1
        default: return
        }
      }
    }

    var isAtEnd: Bool {
      mutating get {
        skipSpaces()
        return next == bytes.count
      }
    }

    mutating func takes(_ text: StaticString) -> Bool {
      skipSpaces()
      let count = text.utf8CodeUnitCount
      guard bytes.count - next >= count else { return false }
      for offset in 0..<count where bytes[next + offset] != text.utf8Start[offset] { return false }
      next += count
      return true
    }

    /// An object; `each` reads the value of one member.
    mutating func members(_ each: (String, inout Reader) -> Bool) -> Bool {
      guard takes("{") else { return false }
      if takes("}") { return true }
      repeat {
        guard let name = string(), takes(":"), each(name, &self) else { return false }
      } while takes(",")
      return takes("}")
    }

    mutating func list<Element>(_ each: (inout Reader) -> Element?) -> [Element]? {
      guard takes("[") else { return nil }
      var list: [Element] = []
      if takes("]") { return list }
      repeat {
        guard let element = each(&self) else { return nil }
        list.append(element)
      } while takes(",")
      return takes("]") ? list : nil
    }

    mutating func truth() -> Bool? { takes("true") ? true : takes("false") ? false : nil }

    mutating func integer() -> Int? {
      let isNegative = takes("-")
      skipSpaces()
      var value: Int?
      while next < bytes.count, bytes[next] >= 48, bytes[next] <= 57 {
        let (product, tooLarge) = (value ?? 0).multipliedReportingOverflow(by: 10)
        if tooLarge { return nil }
        let (sum, overflows) = product.addingReportingOverflow(Int(bytes[next] - 48))
        if overflows { return nil }
        value = sum
        next += 1
      }
      return value.map { isNegative ? -$0 : $0 }
    }

    mutating func string() -> String? {
      guard takes("\"") else { return nil }
      var text: [UInt8] = []
      while next < bytes.count {
        let byte = bytes[next]
        next += 1
        switch byte {
        case UInt8(ascii: "\""):
          // Bytes that are not UTF-8 would come out as others.
          let string = String(decoding: text, as: UTF8.self)
          return string.utf8.elementsEqual(text) ? string : nil
        case UInt8(ascii: "\\"):
          guard escape(into: &text) else { return nil }
        case 0..<32: return nil
        default: text.append(byte)
        }
      }
      return nil
    }

    private mutating func escape(into text: inout [UInt8]) -> Bool {
      guard next < bytes.count else { return false }
      let byte = bytes[next]
      next += 1
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
      case UInt8(ascii: "b"): text.append(8)
      case UInt8(ascii: "t"): text.append(9)
      case UInt8(ascii: "n"): text.append(10)
      case UInt8(ascii: "f"): text.append(12)
      case UInt8(ascii: "r"): text.append(13)
      case UInt8(ascii: "u"):
        guard var code = hexadecimal() else { return false }
        if code & 0xfc00 == 0xd800 {
          guard takes("\\u"), let low = hexadecimal(), low & 0xfc00 == 0xdc00 else { return false }
          code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff)
        }
        guard let scalar = Unicode.Scalar(code) else { return false }
        text.append(contentsOf: Array(String(Character(scalar)).utf8))
      default: return false
      }
      return true
    }

    private mutating func hexadecimal() -> UInt32? {
      guard bytes.count - next >= 4 else { return nil }
      var code: UInt32 = 0
      for _ in 0..<4 {
        guard let digit = Character(Unicode.Scalar(bytes[next])).hexDigitValue else { return nil }
        code = code << 4 | UInt32(digit)
        next += 1
      }
      return code
    }

    /// Any value at all.
    mutating func skip(_ depth: Int) -> Bool {
      guard depth < Reader.deepest else { return false }
      skipSpaces()
      guard next < bytes.count else { return false }
      switch bytes[next] {
      case UInt8(ascii: "{"): return members { _, reader in reader.skip(depth + 1) }
      case UInt8(ascii: "["): return list { $0.skip(depth + 1) ? true : nil } != nil
      case UInt8(ascii: "\""): return string() != nil
      case UInt8(ascii: "t"), UInt8(ascii: "f"): return truth() != nil
      case UInt8(ascii: "n"): return takes("null")
      default:
        let first = next
        while next < bytes.count, "+-.eE0123456789".utf8.contains(bytes[next]) { next += 1 }
        return next > first
      }
    }
  }
}

/// A word of a text condition, with where it began, for messages.
struct ConditionToken: Equatable {
  enum Kind: Equatable {
    case word(String)
    case text(String)
    case number(String)
    case symbol(String)
  }
  var kind: Kind
  var offset: Int
}

/// What is wrong with a text condition, and where.
struct ConditionError: Error, CustomStringConvertible {
  var message: String
  var source: String
  var offset: Int

  var description: String {
    let place = source.utf8.prefix(offset).count
    let column = String(decoding: source.utf8.prefix(place), as: UTF8.self).count
    return "\(message)\n  \(source)\n  \(String(repeating: " ", count: column))^"
  }
}

/// Splits a text condition into words.
struct ConditionLexer {
  let source: String
  private let bytes: [UInt8]
  private var at = 0

  init(_ source: String) {
    self.source = source
    bytes = Array(source.utf8)
  }

  static func tokens(of source: String) throws(ConditionError) -> [ConditionToken] {
    var lexer = ConditionLexer(source)
    var tokens: [ConditionToken] = []
    while let token = try lexer.next() { tokens.append(token) }
    return tokens
  }

  private mutating func next() throws(ConditionError) -> ConditionToken? {
    while at < bytes.count, [UInt8(ascii: " "), 9, 10, 13].contains(bytes[at]) { at += 1 }
    guard at < bytes.count else { return nil }
    let start = at
    let byte = bytes[at]
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "'"):
      return ConditionToken(kind: .text(try quoted(byte)), offset: start)
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"):
      // Numbers, and also dates and UUIDs: the property's type decides what they mean.
      take { Self.isWord($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: ":") }
      return ConditionToken(kind: .number(text(from: start)), offset: start)
    case _ where Self.isWord(byte):
      take { Self.isWord($0) || $0 == UInt8(ascii: "-") }
      return ConditionToken(kind: .word(text(from: start)), offset: start)
    default:
      for symbol in ["==", "!=", "<>", "<=", ">=", "&&", "||", "=", "<", ">", "!", "(", ")", ","]
      where bytes[at...].starts(with: symbol.utf8) {
        at += symbol.utf8.count
        return ConditionToken(kind: .symbol(symbol), offset: start)
      }
      throw ConditionError(message: "this is not part of a condition", source: source, offset: start)
    }
  }

  private mutating func quoted(_ mark: UInt8) throws(ConditionError) -> String {
    let start = at
    at += 1
    var content: [UInt8] = []
    while at < bytes.count {
      let byte = bytes[at]
      at += 1
      if byte == mark { return String(decoding: content, as: UTF8.self) }
      if byte == UInt8(ascii: "\\"), at < bytes.count {
        let escaped = bytes[at]
        at += 1
        switch escaped {
        case UInt8(ascii: "n"): content.append(10)
        case UInt8(ascii: "t"): content.append(9)
        default: content.append(escaped)
        }
      } else {
        content.append(byte)
      }
    }
    throw ConditionError(message: "this text has no end", source: source, offset: start)
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), 0x80...0xff:
      true
    default: false
    }
  }

  private mutating func take(_ condition: (UInt8) -> Bool) {
    while at < bytes.count, condition(bytes[at]) { at += 1 }
  }

  private func text(from start: Int) -> String { String(decoding: bytes[start..<at], as: UTF8.self) }
}

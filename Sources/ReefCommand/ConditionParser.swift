import ReefEngine

/// Text conditions over the properties of one stored type:
///
///     section = "libs" and not (installedSize < 1000 or name hasPrefix "lib")
///     priority in ("required", "important") and homepage != null and installedSize between 10 and 20
///
/// `and` binds closer than `or`; `not`, `&&`, `||` and `!` work too. A Bool property may stand alone.
struct ConditionParser {
  private let source: String
  private let type: TypeSchema
  private let tokens: [ConditionToken]
  private var at = 0
  private var depth = 0
  private static let maximumDepth = 100

  static func parse(_ source: String, type: TypeSchema) throws(ConditionError) -> ReefEngine.Predicate {
    var parser = ConditionParser(
      source: source, type: type, tokens: try ConditionLexer.tokens(of: source))
    let predicate = try parser.either()
    if parser.at < parser.tokens.count {
      throw parser.problem("the condition should end here, or go on with 'and' or 'or'")
    }
    return predicate
  }

  private init(source: String, type: TypeSchema, tokens: [ConditionToken]) {
    self.source = source
    self.type = type
    self.tokens = tokens
  }

  // MARK: Structure

  private mutating func either() throws(ConditionError) -> ReefEngine.Predicate {
    var parts = [try both()]
    while accept(word: "or") || accept("||") { parts.append(try both()) }
    return parts.count == 1 ? parts[0] : .or(parts)
  }

  private mutating func both() throws(ConditionError) -> ReefEngine.Predicate {
    var parts = [try negation()]
    while accept(word: "and") || accept("&&") { parts.append(try negation()) }
    return parts.count == 1 ? parts[0] : .and(parts)
  }

  private mutating func negation() throws(ConditionError) -> ReefEngine.Predicate {
    depth += 1
    defer { depth -= 1 }
    if depth > Self.maximumDepth { throw problem("the condition is nested too deeply") }
    if accept(word: "not") || accept("!") { return .not(try negation()) }
    if accept("(") {
      let inner = try either()
      try expect(")")
      return inner
    }
    return try term()
  }

  // MARK: One property

  private mutating func term() throws(ConditionError) -> ReefEngine.Predicate {
    guard at < tokens.count else { throw problem("a property's name is missing") }
    guard case .word(let name) = tokens[at].kind else { throw problem("this should be a property's name") }
    guard let column = type.properties.firstIndex(where: { $0.name == name }) else {
      let names = type.properties.map(\.name).joined(separator: ", ")
      throw problem("\(type.name) has no property '\(name)'; it has \(names)")
    }
    at += 1
    for (symbols, comparison) in Self.comparisons where symbols.contains(where: { accept($0) }) {
      return .compare(column: column, comparison, try value(column))
    }
    for (words, match) in Self.matches where words.contains(where: { accept(word: $0) }) {
      guard [.string, .data].contains(type.properties[column].type) else {
        throw problem("\(name) is not text", back: 1)
      }
      return .text(column: column, match, try value(column))
    }
    if accept(word: "in") {
      try expect("(")
      var values = [try value(column)]
      while accept(",") { values.append(try value(column)) }
      try expect(")")
      return .within(column: column, values)
    }
    if accept(word: "between") {
      let lower = try value(column)
      if !accept(word: "and") { throw problem("'between' needs 'and' and a second value") }
      return .between(column: column, lower: lower, upper: try value(column), includesUpper: true)
    }
    if accept(word: "is") {
      let isNot = accept(word: "not")
      return .compare(column: column, isNot ? .notEqual : .equal, try value(column))
    }
    if type.properties[column].type == .bool { return .compare(column: column, .equal, .bool(true)) }
    throw problem("'\(name)' needs a comparison: = != < <= > >= in between contains hasPrefix hasSuffix is")
  }

  private static let comparisons: [([String], ReefEngine.Predicate.Comparison)] = [
    (["==", "="], .equal), (["!=", "<>"], .notEqual), (["<="], .lessOrEqual), ([">="], .greaterOrEqual),
    (["<"], .less), ([">"], .greater),
  ]
  private static let matches: [([String], ReefEngine.Predicate.TextMatch)] = [
    (["contains"], .contains), (["hasPrefix", "beginsWith"], .prefix), (["hasSuffix", "endsWith"], .suffix),
  ]

  private mutating func value(_ column: Int) throws(ConditionError) -> Value {
    guard at < tokens.count else { throw problem("a value is missing") }
    let property = type.properties[column]
    let token = tokens[at]
    let text: String
    switch token.kind {
    case .word(let word) where ["null", "nil"].contains(word.lowercased()):
      if !property.isOptional { throw problem("\(property.name) is never null") }
      at += 1
      return .null
    case .word(let word): text = word
    case .number(let number): text = number
    case .text(let quoted): text = quoted
    case .symbol: throw problem("this should be a value")
    }
    guard let value = Value(text: text, type: property.type) else {
      throw problem("'\(text)' is not a value of \(property.name), which is \(property.type.article)")
    }
    at += 1
    return value
  }

  // MARK: Words

  private mutating func accept(_ symbol: String) -> Bool {
    guard at < tokens.count, tokens[at].kind == .symbol(symbol) else { return false }
    at += 1
    return true
  }

  private mutating func accept(word: String) -> Bool {
    guard at < tokens.count, case .word(let found) = tokens[at].kind, found.lowercased() == word.lowercased() else {
      return false
    }
    at += 1
    return true
  }

  private mutating func expect(_ symbol: String) throws(ConditionError) {
    if !accept(symbol) { throw problem("'\(symbol)' is missing") }
  }

  private func problem(_ message: String, back: Int = 0) -> ConditionError {
    let index = at - back
    let offset = tokens.indices.contains(index) ? tokens[index].offset : source.utf8.count
    return ConditionError(message: message, source: source, offset: offset)
  }
}

/// The words after a command's name: places in order, and options with or without a value.
struct Arguments {
  var places: [String] = []
  private var options: [String: String] = [:]

  struct Wrong: Error { var message: String }

  /// `flags` take no value, `valued` take one, as the next word or after `=`.
  init(_ words: some Sequence<String>, flags: Set<String> = [], valued: Set<String> = []) throws(Wrong) {
    var rest = Array(words)[...]
    var isOver = false
    while let word = rest.popFirst() {
      if isOver || !word.hasPrefix("-") || word == "-" {
        places.append(word)
        continue
      }
      if word == "--" {
        isOver = true
        continue
      }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      if flags.contains(parts[0]) {
        if parts.count > 1 { throw Wrong(message: "\(parts[0]) takes no value") }
        options[parts[0]] = ""
      } else if valued.contains(parts[0]) {
        guard let value = parts.count > 1 ? parts[1] : rest.popFirst() else {
          throw Wrong(message: "\(parts[0]) needs a value")
        }
        options[parts[0]] = value
      } else {
        throw Wrong(message: "unknown option \(word)")
      }
    }
  }

  func has(_ flag: String) -> Bool { options[flag] != nil }
  subscript(option: String) -> String? { options[option] }

  func number(_ option: String) throws(Wrong) -> Int? {
    guard let text = options[option] else { return nil }
    guard let number = Int(text), number >= 0 else { throw Wrong(message: "\(option): '\(text)' is not a number") }
    return number
  }

  func expect(_ count: ClosedRange<Int>, _ names: String) throws(Wrong) {
    if places.count < count.lowerBound { throw Wrong(message: "missing: \(names)") }
    if places.count > count.upperBound { throw Wrong(message: "unexpected '\(places[count.upperBound])'") }
  }
}

import ReefEngine

enum GetCommand: Command {
  static let name = "get"
  static let summary = "one object"
  static let help = """
    USE  reef get STORE TYPE KEY [--property NAME]

    Prints the object with this primary key as JSON. With --property, the one value alone: text as it is, the rest as in
    JSON. The exit status is 1 where there is no such object.
    """

  static func run(_ words: ArraySlice<String>) throws {
    let arguments = try Arguments(words, valued: ["--property"])
    try arguments.expect(3...3, "STORE TYPE KEY")
    let store = try OpenedStore(arguments.places[0])
    defer { store.close() }
    let snapshot = try store.snapshot()
    let type = try snapshot.type(named: arguments.places[1])
    let text = arguments.places[2]
    let key: Value
    if let position = type.key {
      guard let value = Value(text: text, type: type.properties[position].type) else {
        throw CommandFailure.usage(
          "'\(text)' is not a key of \(type.name), which is \(type.properties[position].type.article)")
      }
      key = value
    } else {
      guard let number = Int64(text) else {
        throw CommandFailure.usage("\(type.name) has no key: give the object's number")
      }
      key = .int(number)
    }
    guard let values = try snapshot.object(of: type, key: key) else {
      throw CommandFailure.error("there is no \(type.name) with the key \(text)")
    }
    guard let name = arguments["--property"] else {
      print(jsonObject(values, type))
      return
    }
    guard let column = type.properties.firstIndex(where: { $0.name == name }) else {
      throw CommandFailure.usage("\(type.name) has no property '\(name)'")
    }
    if case .string(let text) = values[column] { print(text) } else { print(values[column].json) }
  }
}

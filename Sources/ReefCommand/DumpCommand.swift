import ReefEngine

enum DumpCommand: Command {
  static let name = "dump"
  static let summary = "every object as JSON, one a line"
  static let help = """
    USE  reef dump STORE [TYPE …]

    Prints every object, of all types or of those named, one JSON object a line: {"type":"Package","object":{…}}. All are
    from one version. Bytes are hex digits, dates are ISO 8601.
    """

  static func run(_ words: ArraySlice<String>) throws {
    let arguments = try Arguments(words)
    try arguments.expect(1...Int.max, "STORE")
    let store = try OpenedStore(arguments.places[0])
    defer { store.close() }
    let snapshot = try store.snapshot()
    let names = arguments.places.dropFirst()
    let types = names.isEmpty ? snapshot.types : try names.map { try snapshot.type(named: $0) }
    for type in types {
      let head = "{\"type\":\(Value.quoted(type.name)),\"object\":"
      try snapshot.forEach(of: type, where: .always(true)) { values in
        print("\(head)\(jsonObject(values, type))}")
        return true
      }
    }
  }
}

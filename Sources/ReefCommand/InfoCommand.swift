import ReefEngine

enum InfoCommand: Command {
  static let name = "info"
  static let summary = "what the store holds: types, objects, versions, space"
  static let help = """
    USE  reef info STORE

    Says what the store holds: version, size, each type with its objects and properties, who has it open, and the session's
    counters. A key is marked *, an indexed property +, an optional one ?.
    """

  static func run(_ words: ArraySlice<String>) throws {
    let arguments = try Arguments(words)
    try arguments.expect(1...1, "STORE")
    let store = try OpenedStore(arguments.places[0])
    defer { store.close() }
    let snapshot = try store.snapshot()
    let peers = try store.peers()
    var rows = [
      ["store", store.path],
      ["version", grouped(snapshot.version)],
      ["file", bytes(store.fileSize)],
      ["open in", "\(peers.count) \(peers.count == 1 ? "process" : "processes"), this one included"],
    ]
    for (name, value) in store.counters where value > 0 { rows.append([name, grouped(value)]) }
    print(aligned(rows))
    if snapshot.types.isEmpty { print("\nIt has no types yet.") }
    for type in snapshot.types {
      print("\n\(type.name): \(grouped(try snapshot.count(of: type))) objects")
      print(
        aligned(
          type.properties.enumerated().map { index, property in
            [
              property.name + (index == type.key ? " *" : property.isIndexed ? " +" : ""),
              "\(property.type)" + (property.isOptional ? "?" : ""),
            ]
          }, indent: "  "))
    }
  }
}

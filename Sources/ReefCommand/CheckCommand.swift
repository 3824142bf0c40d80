import ReefEngine

enum CheckCommand: Command {
  static let name = "check"
  static let summary = "verifies everything in the store, and says what is damaged"
  static let help = """
    USE  reef check FILE

    Reads everything that the newest version reaches: each node against its checksum and its own counts, each type's objects
    and their order, each index against its objects, and, where nobody else has the store open, the records of free space. The
    file is not changed; others may use it meanwhile. A file that does not open as a store is looked at all the same: for
    each version that it still names, what can be read of it.

    EXIT  0 sound · 1 damaged · 2 wrong use, or there is no such store
    """

  static func run(_ words: ArraySlice<String>) throws {
    let arguments = try Arguments(words)
    try arguments.expect(1...1, "FILE")
    let path = arguments.places[0]
    let store: OpenedStore
    do {
      store = try OpenedStore(path)
    } catch let error as StoreError {
      switch error {
      case .damaged, .readOnly: return try checkImage(path, error)
      default: throw CommandFailure(message: "\(error)", status: 2)
      }
    }
    defer { store.close() }
    let report = try store.engine.check()
    say(report, path)
    if !report.isSound { throw CommandFailure.error("\(path) is damaged: \(report.problemCount) problems") }
    print("\(path) is sound.")
  }

  /// It does not open: what its bytes say.
  private static func checkImage(_ path: String, _ error: StoreError) throws {
    let image: StoreImage
    do { image = try StoreImage(path) } catch { throw CommandFailure(message: "\(error)", status: 2) }
    print("It does not open: \(error)")
    if image.versions.isEmpty { print("No slot names a version any more.") }
    var isSound = false
    for (slot, name) in image.versions {
      let report = StoreCheck.run(image.view(slot), isChecked: image.isChecked)
      print("\n\(name) names version \(slot.version):")
      say(report, path)
      isSound = isSound || report.isSound
    }
    if case .readOnly = error, isSound {
      print("\nIts newest commits are in the redo ring: open it for writing once, and check it again.")
    }
    throw CommandFailure.error("\(path) does not open; 'reef salvage' takes out what can be read")
  }

  private static func say(_ report: CheckReport, _ path: String) {
    var rows = [
      ["version", grouped(report.version)], ["nodes", grouped(UInt64(report.nodes))], ["bytes", bytes(report.bytes)],
    ]
    for type in report.types {
      rows.append([
        type.name,
        "\(grouped(UInt64(type.rows))) objects in \(grouped(UInt64(type.leaves))) leaves"
          + (type.indexEntries > 0 ? ", \(grouped(UInt64(type.indexEntries))) index entries" : ""),
      ])
    }
    print(aligned(rows))
    for problem in report.problems { print("damaged: \(problem)") }
    if report.problemCount > report.problems.count {
      print("… and \(report.problemCount - report.problems.count) more")
    }
  }
}

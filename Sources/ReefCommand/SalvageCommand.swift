import Foundation
import ReefEngine

enum SalvageCommand: Command {
  static let name = "salvage"
  static let summary = "takes all that can be read out of a damaged store"
  static let help = """
    USE  reef salvage FILE OUT

    Makes a new store at OUT of all objects in FILE that can be read. The newest version counts; where a part of it is lost,
    objects are taken as an older version that the file still names has them. FILE is not changed, and should not be open
    anywhere. OUT must not be there. Says of each type how many objects were taken, how many of these lost properties or are
    older, and how many are lost as far as can be told.

    EXIT  0 nothing is lost · 1 something is, or nothing can be read · 2 wrong use
    """

  static func run(_ words: ArraySlice<String>) throws {
    let arguments = try Arguments(words)
    try arguments.expect(2...2, "FILE OUT")
    let (path, out) = (arguments.places[0], arguments.places[1])
    if FileManager.default.fileExists(atPath: out) {
      throw CommandFailure.usage("\(out) is there already: salvage makes a new store")
    }
    let image: StoreImage
    do { image = try StoreImage(path) } catch { throw CommandFailure(message: "\(error)", status: 2) }
    guard let schema = Salvage.schema(of: image) else {
      throw CommandFailure.error(
        "nothing can be read from \(path): no version that it names says which types there are")
    }
    var options = Session.Options(location: .file(out))
    options.peerName = "reef command"
    let engine = try Engine.open(EngineConfiguration(session: options, durability: .memory), schema)
    let types: [Salvage.TypeResult]
    let report: CheckReport
    do {
      defer { engine.close() }
      types = try Salvage.run(image, schema: schema, into: engine)
      report = try engine.check()
    }
    print(
      aligned(
        [["type", "taken", "with lost properties", "from older versions", "lost"]]
          + types.map { type in
            [type.name] + [type.taken, type.incomplete, type.older, type.lost].map { grouped(UInt64($0)) }
          }))
    guard report.isSound else { throw CommandFailure.error("\(out) is not sound: \(report.problems[0])") }
    if types.contains(where: { $0.lost + $0.incomplete + $0.older > 0 }) {
      throw CommandFailure.error("some of \(path) is lost; \(out) has the rest, and is sound")
    }
    print("Nothing is lost; \(out) has all of it, and is sound.")
  }
}

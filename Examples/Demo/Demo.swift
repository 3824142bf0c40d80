import Foundation
import Reef

/// Opens the demo's store under a name that `peers` shows.
func openStore(_ path: String, as name: String) throws -> Store {
  var configuration = Store.Configuration(
    location: .file(path), models: [Package.self, Pulse.self], durability: .memory)
  configuration.name = name
  return try Store(configuration)
}

/// One program in four roles: without arguments it conducts, and starts itself as loader and as workers.
@main enum Demo {
  static let help = """
    Several real processes share one store: a loader fills it with this machine's Debian package catalogue and lets it
    live; three workers follow live queries; one of them is killed and replaced.

    USE  tools/demo [--quick]

    """

  static func main() async {
    signal(SIGPIPE, SIG_IGN)
    let arguments = Array(CommandLine.arguments.dropFirst())
    do {
      switch arguments.first {
      case "loader" where arguments.count == 3: try loader(path: arguments[1], quick: arguments[2] == "quick")
      case "worker" where arguments.count == 3:
        guard let query = LiveQuery(rawValue: arguments[2]) else { exit(2) }
        let name = "worker \(query.rawValue)"
        try await Worker(query: query, name: name, store: openStore(arguments[1], as: name)).run()
      case nil, "--quick": exit(conduct(quick: arguments.first == "--quick"))
      case "--help", "-h": print(help, terminator: "")
      default:
        FileHandle.standardError.write(
          Data("demo: unexpected '\(arguments.joined(separator: " "))' (see --help)\n".utf8))
        exit(2)
      }
    } catch {
      FileHandle.standardError.write(Data("demo: \(arguments.first ?? ""): \(error)\n".utf8))
      exit(1)
    }
  }

  private static func loader(path: String, quick: Bool) throws {
    let loader = Loader(try openStore(path, as: "loader"))
    try loader.load()
    let orders = Orders()
    orders.wait(for: 1)
    try loader.live(rounds: quick ? 3 : 9, steps: quick ? 100 : 300, pause: quick ? 0.002 : 0.004) { orders.count >= 2 }
    // Stay until the conductor has counted everybody.
    orders.wait(for: 3)
  }

  private static func conduct(quick: Bool) -> Int32 {
    let memory = "/dev/shm"
    let place = FileManager.default.isWritableFile(atPath: memory) ? memory : NSTemporaryDirectory()
    let folder = "\(place)/reef-demo-\(getpid())"
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    } catch {
      print("demo: FAILED (\(folder) cannot be made: \(error))")
      return 1
    }
    return Conductor(path: "\(folder)/packages.reef", quick: quick).run()
  }
}

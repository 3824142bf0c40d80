import Foundation
import ReefEngine
import ReefSystem

/// What it costs to hold nodes against their checksums: the same reads of a store on a disk in the session that made it
/// (nothing to prove), in a later one at once, again in the same snapshot, and once the version is proven. And what a
/// snapshot costs that may be taken away, which is read from copies.
enum ProofSuite {
  static let suite = Suite(
    name: "proof", summary: "not a search: what proving nodes, and admitting revocation, costs readers", run: run)

  private static let type = TypeSchema(
    "Item", [PropertySchema("id", .int64), PropertySchema("quantity", .int64), PropertySchema("name", .string)], key: 0)

  static func run(_ request: Request) throws -> Report {
    let count = Int64(request.size.count(small: 200_000, night: 2_000_000))
    let folder = Torture.diskFolder + "-proof"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/jobs.reef"
    func open(_ retention: Retention? = nil) throws -> Engine {
      var configuration = EngineConfiguration(
        session: Session.Options(location: .file(path)), durability: .memory)
      configuration.retention = retention
      return try Engine.open(configuration, Schema([type]))
    }
    var report = Report(suite: suite.name, seed: "\(request.seed)", columns: ["scan µs", "lookup ns", "open µs"])
    report.hasTotal = false
    var random = Mix(request.seed)
    let keys = (0..<100_000).map { _ in Int64(random.below(Int(count))) }

    func row(_ name: String, _ view: ReadView, open: UInt64 = 0) throws {
      let table = try view.table(0)
      let began = Board.now
      let sum = try table.aggregate(column: 1, in: type).sum
      let scanned = Board.now
      var total: Int64 = 0
      for key in keys {
        guard let found = try table.find(key: key) else { throw TortureError("\(key) is not there") }
        total &+= try found.leaf.column(1).int(found.row)
      }
      let ended = Board.now
      guard sum == .int((0..<count).reduce(0) { $0 + $1 % 1000 }), total == keys.reduce(0, { $0 + $1 % 1000 }) else {
        throw TortureError("\(name): wrong sums")
      }
      report.rows.append(
        Report.Row(
          name: name,
          counts: [
            "scan µs": Int(scanned - began) / 1000, "lookup ns": Int(ended - scanned) / keys.count,
            "open µs": Int(open) / 1000,
          ]))
    }

    let made = try open()
    let transaction = try made.write(.after(.seconds(10)))
    for key in 0..<count {
      _ = try transaction.insert(table: 0) {
        $0.set(column: 0, int: key)
        $0.set(column: 1, int: key % 1000)
        $0.set(column: 2, string: "item \(key)")
      }
    }
    try transaction.commit()
    do {
      let pin = try made.pin()
      try row("warm-up", pin.view)
      try row("made in this session", pin.view)
    }
    made.close()
    let began = Board.now
    let engine = try open()
    let opened = Board.now - began
    do {
      let pin = try engine.pin()
      try row("reopened, first time", pin.view, open: opened)
      try row("the same snapshot", pin.view)
    }
    let limit = Board.now + 20_000_000_000
    while let verification = engine.session.verification, !verification.isProven, Board.now < limit { usleep(2000) }
    let pin = try engine.pin()
    try row("once proven", pin.view)
    let revocable = try open(Retention(policy: .revoke))
    defer { revocable.close() }
    let slot = try revocable.claimSlot()
    defer { revocable.closeSlot(slot) }
    var view = pin.view
    try revocable.pinNewest(slot, &view)
    try row("revocable, first time", view)
    try row("revocable, again", view)
    return report
  }
}

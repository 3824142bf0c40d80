import Foundation
import ReefEngine
import ReefSystem
import Testing

/// The first to open a store only reads; a writer joins the session, and everyone is killed or leaves.
@Suite(.serialized) struct ReadOnlyFirstTests {
  @Test(arguments: [Place.Kind.tmpfs, .disk]) func writerJoins(_ kind: Place.Kind) throws {
    let place = try Place(kind)
    let first = try place.engine(.memory)
    try first.set(Dictionary(uniqueKeysWithValues: (0..<10).map { (Int64($0), 0) }))
    first.close()
    for round in 0..<4 {
      var options = Session.Options(location: .file(place.store))
      options.readOnly = true
      let reader = try Engine.open(EngineConfiguration(session: options, durability: .memory))
      let worker = try place.worker(
        "commit", "300", "memory", environment: round % 2 == 0 ? ["REEF_KILL": "commit.tip:200"] : [:])
      let lines = worker.rest()
      let acknowledged = try #require(lines.compactMap { Int64($0) }.last, "\(lines)")
      let seen = Set(try reader.counters().values)
      reader.close()
      let again = try place.engine(.memory)
      let found = Set(try again.counters().values)
      #expect(
        found.count == 1 && (found.first ?? 0) >= acknowledged,
        "round \(round): \(found) after \(acknowledged), reader saw \(seen)")
      try Invariants.check(again, "round \(round)")
      again.close()
    }
  }
}

import Foundation
import Reef

/// Follows one live query until the loader's last commit, then compares its picture with a fresh query.
struct Worker {
  let query: LiveQuery
  let name: String
  let store: Store

  func run() async throws {
    var picture = Picture()
    var latencies: [Double] = []
    var notices = 0
    for try await changes in query.live(store).changes {
      let pulse = changes.snapshot[Pulse.self, key: 0]
      if !changes.isInitial, let pulse {
        latencies.append(Double(clockNow() - pulse.committedAt) / 1000)
        notices += 1
      }
      picture.apply(changes)
      if changes.isInitial { Message(kind: .ready, text: query.title, objects: picture.entries.count).send() }
      if pulse?.isLast == true {
        let fresh = Picture(query.results(try store.snapshot()))
        Message(
          kind: .picture, text: query.title, objects: picture.entries.count, notices: notices,
          version: Int(clamping: changes.snapshot.version), isEqual: picture.entries == fresh.entries,
          digest: picture.digest, latencies: latencies
        ).send()
        // Stay until the conductor has counted everybody and closes the pipe.
        _ = readLine()
        return
      }
    }
  }
}

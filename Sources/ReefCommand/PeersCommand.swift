import Foundation
import ReefEngine

enum PeersCommand: Command {
  static let name = "peers"
  static let summary = "who has it open, which versions each one holds, for how long"
  static let help = """
    USE  reef peers STORE [--json]

    Lists the processes that have the store open, and the versions that each one holds. An old version that somebody holds
    keeps its space: "for" says since when. A process in another container may show another number than outside.
    """

  static func run(_ words: ArraySlice<String>) throws {
    let arguments = try Arguments(words, flags: ["--json"])
    try arguments.expect(1...1, "STORE")
    let store = try OpenedStore(arguments.places[0])
    defer { store.close() }
    let newest = store.newestVersion
    let peers = try store.peers()
    if arguments.has("--json") {
      for peer in peers { print(json(peer)) }
      return
    }
    var rows = [["PEER", "PROCESS", "OPEN FOR", "HOLDS", "FOR", ""]]
    for peer in peers {
      let mark = (peer.isSelf ? ["this command"] : []) + (peer.isWriting ? ["writing"] : [])
      let first = [peer.name, String(peer.process), age(since: peer.joined)]
      if peer.held.isEmpty { rows.append(first + ["–", "", mark.joined(separator: ", ")]) }
      for (index, held) in peer.held.enumerated() {
        let behind = newest > held.version ? ", \(grouped(newest - held.version)) behind" : ", the newest"
        rows.append(
          (index == 0 ? first : ["", "", ""]) + [
            "version \(held.version)\(behind)\(held.holdsLater ? " and later" : "")",
            held.since.map { age(since: $0) } ?? "", index == 0 ? mark.joined(separator: ", ") : "",
          ])
      }
    }
    for line in aligned(rows).split(separator: "\n") {
      print(String(line.reversed().drop { $0 == " " }.reversed()))
    }
  }

  private static func json(_ peer: PeerInfo) -> String {
    let held = peer.held.map { held in
      "{\"version\":\(held.version),\"holdsLater\":\(held.holdsLater),\"since\":\(held.since.map { "\($0)" } ?? "null")}"
    }
    return "{\"name\":\(Value.quoted(peer.name)),\"process\":\(peer.process),\"joined\":\(peer.joined),"
      + "\"isSelf\":\(peer.isSelf),\"isWriting\":\(peer.isWriting),\"holds\":[\(held.joined(separator: ","))]}"
  }
}

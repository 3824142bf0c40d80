import Foundation
import Reef

/// Fills the store with the machine's catalogue, then lets it live: versions rise, packages go and come, one by one and
/// in bulk.
final class Loader {
  let store: Store
  private var catalogue: [Package] = []
  private var present: [String: Package] = [:]
  private var absent: [Package] = []
  private var names: [String] = []
  private var random = SplitMix(state: 20_260_131)
  private(set) var commits = 0
  private(set) var bulk = 0

  init(_ store: Store) { self.store = store }

  /// One transaction, with the pulse that listeners tell its age by.
  private func commit(isLast: Bool = false, _ body: (Transaction) throws -> Void) throws {
    commits += 1
    let sequence = commits
    try store.write { transaction in
      try body(transaction)
      try transaction.upsert(Pulse(id: 0, committedAt: clockNow(), sequence: sequence, isLast: isLast))
    }
  }

  func load() throws {
    let start = clockNow()
    catalogue = try Catalogue.read { Message.say($0) }
    let read = clockNow()
    // A few packages stay out, so that life has something new to bring.
    let held = catalogue.indices.filter { $0 % 40 == 7 }
    absent = held.map { catalogue[$0] }
    let first = catalogue.indices.filter { $0 % 40 != 7 }.map { catalogue[$0] }
    let portion = 4_000
    for from in stride(from: 0, to: first.count, by: portion) {
      let part = first[from..<min(from + portion, first.count)]
      try commit { transaction in for package in part { try transaction.insert(package) } }
      bulk += 1
    }
    present = Dictionary(uniqueKeysWithValues: first.map { ($0.name, $0) })
    names = first.map(\.name)
    let spent = Double(clockNow() - read) / 1e6
    Message.say(
      "\(grouped(first.count)) packages stored in \(commits) commits, \(Int(spent)) ms "
        + "(reading the catalogue took \(Int(Double(read - start) / 1e6)) ms)")
    Message(kind: .loaded, objects: first.count, commits: commits).send()
  }

  /// Lives for at least so many rounds, and two more after `mayEnd` says yes.
  func live(rounds: Int, steps: Int, pause: Double, mayEnd: () -> Bool) throws {
    var round = 0
    var left = 2
    while round < rounds || left > 0 {
      round += 1
      if mayEnd() { left -= 1 }
      for _ in 0..<steps {
        try step()
        Thread.sleep(forTimeInterval: pause)
      }
      let what = try bulkStep(round)
      Message.say("round \(round): \(steps) single commits, then \(what)")
    }
    // The last commit touches every query's result, so that every worker hears of it.
    let marked = ["libreef-demo": "libs", "reef-demo-large": "misc"]
    try commit(isLast: true) { transaction in
      for (name, section) in marked {
        try transaction.upsert(
          Package(
            [
              "Package": name, "Version": "1.0", "Section": section, "Installed-Size": String(LiveQuery.bound * 2),
              "Description": "the demo's last commit",
            ], isInstalled: false) ?? catalogue[0])
      }
    }
    Message(
      kind: .lived, objects: present.count + marked.count, commits: commits, bulk: bulk,
      version: Int(clamping: store.version)
    ).send()
  }

  // MARK: One by one

  private func step() throws {
    switch random.next(100) {
    case 0..<70: try bump(names[random.next(names.count)])
    case 70..<85: try remove(names[random.next(names.count)])
    default: try add()
    }
  }

  private func bump(_ name: String) throws {
    guard var package = present[name] else { return try add() }
    package.version = package.version.raised
    package.installedSize += random.next(64) - 24
    let changed = package
    try commit { transaction in
      try transaction.update(Package.self, key: name) {
        $0.version = changed.version
        $0.installedSize = changed.installedSize
      }
    }
    present[name] = changed
  }

  private func remove(_ name: String) throws {
    guard let package = present[name] else { return try add() }
    try commit { transaction in try transaction.delete(Package.self, key: name) }
    present[name] = nil
    absent.append(package)
  }

  private func add() throws {
    guard !absent.isEmpty else { return }
    let package = absent.swapRemove(at: random.next(absent.count))
    try commit { transaction in try transaction.insert(package) }
    present[package.name] = package
  }

  // MARK: In bulk

  private func bulkStep(_ round: Int) throws -> String {
    bulk += 1
    switch round % 3 {
    case 1:
      let section = ["libs", "utils", "net"][random.next(3)]
      let chosen = present.values.filter { $0.section == section }.map(\.name)
      for name in chosen {
        guard let version = present[name]?.version else { continue }
        present[name]?.version = version.raised
      }
      let now = present
      try commit { transaction in
        for name in chosen {
          try transaction.update(Package.self, key: name) { $0.version = now[name]?.version ?? "1" }
        }
      }
      return "a new version of all \(grouped(chosen.count)) packages in \(section) at once"
    case 2:
      let section = ["games", "haskell", "libs"][random.next(3)]
      let gone = present.values.filter { $0.section == section }
      try commit { transaction in try transaction.delete(Package.where { $0.section == section }) }
      for package in gone { present[package.name] = nil }
      absent.append(contentsOf: gone)
      return "all \(grouped(gone.count)) packages in \(section) removed at once"
    default:
      let back = absent
      absent.removeAll()
      try commit { transaction in for package in back { try transaction.insert(package) } }
      for package in back { present[package.name] = package }
      return "\(grouped(back.count)) packages added at once"
    }
  }
}

extension String {
  /// The version that would follow: its last number raised by one.
  var raised: String {
    guard let last = lastIndex(where: { $0.isASCII && $0.isNumber }) else { return self + "+1" }
    var first = last
    while first > startIndex, self[index(before: first)].isASCII, self[index(before: first)].isNumber {
      first = index(before: first)
    }
    guard let number = Int(self[first...last]), number < Int.max else { return self + "+1" }
    return String(self[..<first]) + String(number + 1) + self[index(after: last)...]
  }
}

extension Array {
  /// Takes an element out; the last one takes its place.
  mutating func swapRemove(at index: Int) -> Element {
    swapAt(index, count - 1)
    return removeLast()
  }
}

/// Repeatable chance.
struct SplitMix {
  var state: UInt64
  mutating func next(_ bound: Int) -> Int {
    state &+= 0x9e37_79b9_7f4a_7c15
    var x = state
    x = (x ^ (x >> 30)) &* 0xbf58_476d_1ce4_e5b9
    x = (x ^ (x >> 27)) &* 0x94d0_49bb_1331_11eb
    return Int((x ^ (x >> 31)) % UInt64(max(1, bound)))
  }
}

func grouped(_ number: Int) -> String {
  var text = ""
  for (offset, digit) in String(number).reversed().enumerated() {
    if offset > 0, offset % 3 == 0, digit != "-" { text.append(",") }
    text.append(digit)
  }
  return String(text.reversed())
}

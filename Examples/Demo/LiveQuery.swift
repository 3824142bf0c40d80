import Reef

/// The three live queries of the demo, one a worker.
enum LiveQuery: String, CaseIterable {
  case section, large, libraries

  static let bound = 30_000

  var title: String {
    switch self {
    case .section: "section is libs"
    case .large: "over \(Self.bound / 1000) MB installed, largest first"
    case .libraries: "name begins with lib"
    }
  }

  private var condition: Condition<Package> {
    switch self {
    case .section: Package.where { $0.section == "libs" }
    case .large: Package.where { $0.installedSize > Self.bound }
    case .libraries: Package.where { $0.name.hasPrefix("lib") }
    }
  }

  /// The query on one version.
  func results(_ snapshot: Snapshot) -> Results<Package> {
    let packages = snapshot.objects(Package.self).where(condition)
    return self == .large ? packages.sorted(by: .descending(\.installedSize)) : packages
  }

  /// The query on the store, to be followed.
  func live(_ store: Store) -> LiveResults<Package> {
    let packages = store.objects(Package.self).where(condition)
    return self == .large ? packages.sorted(by: .descending(\.installedSize)) : packages
  }
}

/// What a worker knows of its query's result. It is built from change sets alone.
struct Picture {
  struct Entry: Equatable {
    var name: String
    var version: String
    var installedSize: Int

    init(_ package: Package.View) {
      name = package.name
      version = package.version
      installedSize = package.installedSize
    }
  }
  private(set) var entries: [Entry] = []

  init() {}

  /// A fresh query's picture, to compare with.
  init(_ results: Results<Package>) { entries = results.map { Entry($0) } }

  /// Takes a change set: modified entries where they were, then the deleted ones out, then the inserted ones in.
  mutating func apply(_ changes: Changes<Package>) {
    for index in changes.modifications {
      if let package = changes.snapshot[Package.self, key: entries[index].name] { entries[index] = Entry(package) }
    }
    guard changes.deletions.count + changes.insertions.count > 16 else {
      for index in changes.deletions.reversed() { entries.remove(at: index) }
      for index in changes.insertions { entries.insert(Entry(changes.results[index]), at: index) }
      return
    }
    // Many at once: one pass instead of moving the rest for each.
    var deletions = changes.deletions[...]
    var kept = entries.enumerated().lazy.filter { index, _ in
      if deletions.first != index { return true }
      deletions.removeFirst()
      return false
    }.map(\.element).makeIterator()
    var insertions = changes.insertions[...]
    var next: [Entry] = []
    next.reserveCapacity(changes.results.count)
    while true {
      if insertions.first == next.count {
        insertions.removeFirst()
        next.append(Entry(changes.results[next.count]))
      } else if let entry = kept.next() {
        next.append(entry)
      } else {
        break
      }
    }
    entries = next
  }

  /// FNV-1a over everything, so that processes can compare pictures by one number.
  var digest: UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for entry in entries {
      for byte in "\(entry.name)\0\(entry.version)\0\(entry.installedSize)\n".utf8 {
        hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
      }
    }
    return hash
  }
}

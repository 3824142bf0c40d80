/// Whether a history is strictly serialisable, with versions as the order. It knows nothing of stores: lists, who appended
/// what and when, and what everyone saw.
///
/// Each list is known by its length, its last element and a hash of all its elements in order; elements are unique. So a
/// read tells exactly which appends it saw (Elle's idea), and a replay in the order of versions tells which it had to see.
struct HistoryChecker {
  struct List: Equatable {
    var count: Int64 = 0
    var last: Int64 = 0
    var chain: Int64 = 0

    mutating func append(_ element: Int64) {
      count += 1
      last = element
      chain = Self.mix(chain, element)
    }

    static func mix(_ chain: Int64, _ element: Int64) -> Int64 {
      var value = UInt64(bitPattern: chain) &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(bitPattern: element)
      value = (value ^ (value >> 29)) &* 0xBF58_476D_1CE4_E5B9
      return Int64(bitPattern: value ^ (value >> 32))
    }
  }

  /// The state that the last version checked has.
  private(set) var lists: [Int64: List] = [:]
  private(set) var version: UInt64
  /// Transaction that made it.
  private(set) var maker: Int64
  private(set) var transactions = 0
  private(set) var snapshots = 0
  private(set) var anomalies: [String] = []

  init(version: UInt64, maker: Int64) {
    self.version = version
    self.maker = maker
  }

  private mutating func report(_ what: String) { if anomalies.count < 50 { anomalies.append(what) } }

  /// Checks what processes did from the version checked last up to `end`, which `maker` made. `histories`: one for each
  /// process that there was, in its own order.
  mutating func check(_ histories: [[HistoryRecord]], upTo end: UInt64, madeBy lastMaker: Int64) {
    var intents: [Int64: HistoryRecord] = [:]
    var made: [UInt64: (record: HistoryRecord, ended: UInt64)] = [:]
    var candidates: [UInt64: [HistoryRecord]] = [:]
    var views: [UInt64: [HistoryRecord]] = [:]
    /// Who made a version, by those who saw it.
    var makers: [UInt64: Int64] = [end: lastMaker]
    var settled: Set<Int64> = []
    var acknowledged: [(ended: UInt64, version: UInt64)] = []

    for history in histories {
      var newest: UInt64 = 0
      for record in history {
        switch record.kind {
        case .transaction:
          intents[record.id] = record
          views[record.version, default: []].append(record)
        case .committed:
          settled.insert(record.id)
          transactions += 1
          guard let intent = intents[record.id] else {
            report("transaction \(record.id) was acknowledged, and never began")
            continue
          }
          if let other = made[record.version] {
            report("version \(record.version) was made twice: by \(other.record.id) and by \(record.id)")
          }
          if record.version != intent.version + 1 {
            report("transaction \(record.id) on version \(intent.version) made version \(record.version)")
          }
          if record.version > end { report("version \(record.version), acknowledged to \(record.id), is lost") }
          made[record.version] = (intent, record.ended)
          acknowledged.append((record.ended, record.version))
          newest = max(newest, record.version)
          continue
        case .rolledBack:
          settled.insert(record.id)
          views[record.version, default: []].append(record)
        case .failed: break
        case .snapshot:
          snapshots += 1
          views[record.version, default: []].append(record)
        }
        if record.kind != .failed {
          if record.version < newest {
            report("a process went back from version \(newest) to \(record.version)")
          }
          newest = max(newest, record.version)
          if let other = makers[record.version], other != record.maker {
            report("version \(record.version) was made by \(other) to some and by \(record.maker) to others")
          }
          makers[record.version] = record.maker
        }
      }
    }
    // Whoever died in its commit, or heard of an error, may have committed: right after what it had read.
    for (id, intent) in intents where !settled.contains(id) {
      candidates[intent.version + 1, default: []].append(intent)
    }
    checkTimes(acknowledged, histories)

    look(views[version] ?? [])
    while version < end {
      let next = version + 1
      let record: HistoryRecord
      if let known = made[next] {
        record = known.record
      } else {
        let choice = (candidates[next] ?? []).filter { makers[next] == nil || makers[next] == $0.id }
        guard let only = choice.first, choice.count == 1 || makers[next] != nil else {
          report("nobody can have made version \(next) (\(choice.count) may have, seen: \(makers[next] ?? 0))")
          return
        }
        record = only
        transactions += 1
      }
      if record.maker != maker { report("transaction \(record.id) follows \(record.maker), not \(maker)") }
      for append in record.appends { lists[append.key, default: List()].append(append.element) }
      version = next
      maker = record.id
      if let seen = makers[next], seen != maker { report("version \(next) says \(seen), not \(maker)") }
      look(views[next] ?? [])
    }
    for version in views.keys where version > end { report("version \(version) was seen, and is lost") }
  }

  /// What was read from a version must be that version, all of it.
  private mutating func look(_ records: [HistoryRecord]) {
    for record in records {
      for read in record.reads {
        let list = lists[read.key] ?? List()
        if list != List(count: read.count, last: read.last, chain: read.chain) {
          report(
            "in version \(version) the list \(read.key) has \(list.count) elements, the last \(list.last); "
              + "\(record.kind) \(record.id) saw \(read.count), the last \(read.last)")
        }
      }
    }
  }

  /// What was acknowledged is seen by everything that begins afterwards, in any process.
  private mutating func checkTimes(
    _ acknowledged: [(ended: UInt64, version: UInt64)], _ histories: [[HistoryRecord]]
  ) {
    let sorted = acknowledged.sorted { $0.ended < $1.ended }
    var newest: [UInt64] = []
    newest.reserveCapacity(sorted.count)
    var most: UInt64 = 0
    for entry in sorted {
      most = max(most, entry.version)
      newest.append(most)
    }
    for history in histories {
      for record in history where record.kind == .snapshot || record.kind == .transaction {
        var (low, high) = (0, sorted.count)
        while low < high {
          let middle = (low + high) / 2
          if sorted[middle].ended < record.began { low = middle + 1 } else { high = middle }
        }
        if low > 0, newest[low - 1] > record.version {
          report(
            "version \(newest[low - 1]) was acknowledged before \(record.kind) \(record.id) began, which saw "
              + "\(record.version)")
        }
      }
    }
  }
}

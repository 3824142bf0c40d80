/// Anomalies put into a true history: the checker must find each, or it proves nothing.
enum PlantedAnomalies {
  static let all: [(name: String, plant: @Sendable (inout [[HistoryRecord]], inout Mix) -> Bool)] = [
    (
      "lost update",
      { histories, random in
        // A transaction did not see the append of the one before it.
        change(&histories, &random, { $0.kind == .transaction && $0.reads.contains { $0.count > 1 } }) { record, _ in
          guard let at = record.reads.firstIndex(where: { $0.count > 1 }) else { return }
          record.reads[at].count -= 1
        }
      }
    ),
    (
      "stale read",
      { histories, random in
        change(&histories, &random, { $0.kind == .snapshot && $0.version > 100 }) { record, _ in record.version -= 40 }
      }
    ),
    (
      "fractured read",
      { histories, random in
        change(&histories, &random, { $0.kind == .snapshot && $0.reads.contains { $0.count > 0 } }) { record, _ in
          guard let at = record.reads.firstIndex(where: { $0.count > 0 }) else { return }
          record.reads[at].count += 1
          record.reads[at].last += 16
        }
      }
    ),
    (
      "order of elements",
      { histories, random in
        change(&histories, &random, { $0.kind == .snapshot && $0.reads.contains { $0.count > 2 } }) { record, _ in
          guard let at = record.reads.firstIndex(where: { $0.count > 2 }) else { return }
          record.reads[at].chain ^= 1
        }
      }
    ),
    (
      "version made twice",
      { histories, random in
        change(&histories, &random, { $0.kind == .committed && $0.version > 50 }) { record, _ in record.version -= 1 }
      }
    ),
    (
      "acknowledged and lost",
      { histories, random in
        change(&histories, &random, { $0.kind == .committed }) { record, _ in record.version += 1_000_000_000 }
      }
    ),
    (
      "append that nobody made",
      { histories, random in
        change(&histories, &random, { $0.kind == .transaction && $0.appends.count > 1 }) { record, _ in
          record.appends.removeLast()
        }
      }
    ),
    (
      "seen too late",
      { histories, random in
        change(&histories, &random, { $0.kind == .snapshot && $0.version > 100 }) { record, _ in
          record.began += 3_600_000_000_000
        }
      }
    ),
    (
      "going back",
      { histories, _ in
        guard let at = histories.indices.max(by: { histories[$0].count < histories[$1].count }) else { return false }
        let own = histories[at].indices.filter { histories[at][$0].kind == .snapshot }
        guard let first = own.first, let last = own.last,
          histories[at][first].version < histories[at][last].version
        else { return false }
        histories[at].swapAt(first, last)
        return true
      }
    ),
    (
      "another maker",
      { histories, random in
        change(&histories, &random, { $0.kind == .snapshot }) { record, _ in record.maker += 1 }
      }
    ),
  ]

  private static func change(
    _ histories: inout [[HistoryRecord]], _ random: inout Mix, _ fits: (HistoryRecord) -> Bool,
    _ body: (inout HistoryRecord, inout Mix) -> Void
  ) -> Bool {
    var places: [(Int, Int)] = []
    for (outer, history) in histories.enumerated() {
      for (inner, record) in history.enumerated() where fits(record) { places.append((outer, inner)) }
    }
    guard !places.isEmpty else { return false }
    let (outer, inner) = random.pick(places)
    body(&histories[outer][inner], &random)
    return true
  }
}

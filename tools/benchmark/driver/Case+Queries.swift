import CBench

/// W5 and W6: text, order and sums.
extension Case {
  /// A name that is there, and a piece of text that 13 names of a million have.
  static func wanted(n: Int) -> String {
    String(unsafeUninitializedCapacity: 16) { buffer in
      buffer.withMemoryRebound(to: CChar.self) { bench_hex(bench_mix(UInt64(n / 2)), $0.baseAddress) }
      return 16
    }
  }
  static let piece = "abcde"

  /// The measurement of one call, in ms or (for many calls) in ns each.
  private func timed(_ count: Int? = nil, _ body: () -> UInt64) -> [Measurement] {
    let start = bench_now()
    let found = body()
    let spent = Double(bench_now() - start)
    return [
      Measurement(
        variant: group, value: count.map { spent / Double($0) } ?? spent / 1e6, unit: count == nil ? "ms" : "ns",
        check: found)
    ]
  }

  /// Averages differ in their last digits with the order of additions.
  private func rounded(_ average: Double) -> UInt64 { UInt64((average * 1e6).rounded()) }

  func queries() -> Prepared {
    let store = loaded(memory, indexed: group == "equal-indexed")
    let name = Case.wanted(n: n)
    let finds = scaled(100_000)
    return Prepared(
      measure: {
        switch group {
        case "equal-scan": timed { store.equal(name) }
        case "equal-indexed": timed(finds) { store.findNames(n: n, count: finds) }
        case "contains": timed { store.contains(Case.piece) }
        case "sort": timed { store.sorted(n: n, limit: n) }
        case "first-100": timed { store.sorted(n: n, limit: 100) }
        case "sum": timed { UInt64(store.sum()) }
        case "average": timed { rounded(store.average()) }
        default: fail("no variant '\(group)' of \(workload)")
        }
      }, finish: { store.close() })
  }

  func flatQueries() -> Prepared {
    let data = items()
    let name = Case.wanted(n: n)
    var ids = [Int64](repeating: 0, count: n)
    return Prepared(measure: {
      withUnsafePointer(to: data) { data in
        func sorted(_ limit: Int) -> UInt64 {
          bench_floor_sort(data, Int64(limit), &ids)
          return digest(ids, of: limit, n: n)
        }
        return switch group {
        case "equal-scan": timed { bench_floor_equal(data, name) }
        case "contains": timed { bench_floor_contains(data, Case.piece) }
        case "sort": timed { sorted(n) }
        case "first-100": timed { sorted(100) }
        case "sum": timed { UInt64(bench_floor_sum(data)) }
        case "average": timed { rounded(bench_floor_average(data)) }
        default: fail("no floor for '\(group)'")
        }
      }
    })
  }
}

import CBench
import Foundation

/// One program's part in one trial, living in a process of its own: prepared once, then measured whenever told.
struct Case {
  var workload: String
  var group: String
  var program: String
  var n: Int
  var memory: String
  var disk: String
  /// What durations and numbers of samples are multiplied by: 1, or less for a quick look.
  var pace = 1.0
}

/// A prepared case: what to do for one measurement, and how to leave.
struct Prepared {
  var measure: () -> [Measurement]
  var finish: () -> Void = {}
}

extension Case {
  /// `reef-bench case WORKLOAD GROUP PROGRAM N MEMORY DISK PACE`: prepares, says "ready", measures once for each "run".
  static func main(_ arguments: ArraySlice<String>) {
    let words = Array(arguments)
    guard words.count == 7, let n = Int(words[3]), let pace = Double(words[6]) else {
      fail("wrong case arguments \(words)")
    }
    let request = Case(
      workload: words[0], group: words[1], program: words[2], n: n, memory: words[4], disk: words[5], pace: pace)
    let prepared = request.prepare()
    writeLine("ready")
    var orders = LineReader(0)
    let encoder = JSONEncoder()
    while let order = orders.next(), order == "run" {
      guard let json = try? encoder.encode(prepared.measure()) else { fail("a measurement that cannot be told") }
      writeLine(String(decoding: json, as: UTF8.self))
    }
    prepared.finish()
  }

  var arguments: [String] { ["case", workload, group, program, String(n), memory, disk, String(pace)] }

  /// A number of samples, at least 100.
  func scaled(_ count: Int) -> Int { max(100, Int(Double(count) * pace)) }

  func prepare() -> Prepared {
    switch workload {
    case "W1": insert()
    case "W2", "W3", "W4": program == "floor" ? flatReading() : reading()
    case "W5", "W6": program == "floor" ? flatQueries() : queries()
    case "W7": program.hasPrefix("floor") ? durableFloor() : smallCommits()
    case "W8": snapshots()
    case "W9": notice()
    case "W10": duet()
    case "W11": changeSets()
    case "W12": pins()
    case "W13": crowd()
    case "W14": scale()
    case "W15": start()
    case "MEMORY": memoryUse()
    default: fail("no workload '\(workload)'")
    }
  }

  func path(_ folder: String) -> String { "\(folder)/\(program)-\(workload)-\(group)-\(n)" }

  func items(_ key: bench_key = BENCH_KEY_DENSE, shuffled: Bool = false) -> bench_items {
    bench_make_items(Int64(n), key, shuffled ? 1 : 0)
  }

  /// A store of n items. Loading is off every clock but W1's.
  func loaded(
    _ folder: String, durability: bench_durability = BENCH_MEMORY, key: bench_key = BENCH_KEY_DENSE,
    indexed: Bool = false
  ) -> any Contender {
    let store = openContender(
      StoreRequest(program: program, path: path(folder), durability: durability, key: key, indexed: indexed))
    var data = items(key)
    _ = store.insert(data, append: key == BENCH_KEY_DENSE)
    bench_free_items(&data)
    return store
  }

  // MARK: W1

  private func insert() -> Prepared {
    let data = items(shuffled: group == "random")
    let file = path(memory)
    if program == "floor" {
      return Prepared(measure: {
        let spent = withUnsafePointer(to: data) { bench_floor_insert($0, file) }
        return [Measurement(variant: group, value: spent / Double(n), unit: "ns")]
      })
    }
    return Prepared(measure: {
      let store = openContender(StoreRequest(program: program, path: file))
      let spent = store.insert(data, append: group == "append")
      let size = Double(store.fileSize) / Double(n)
      var results = [
        Measurement(variant: group, value: spent / Double(n), unit: "ns", check: store.filter())
      ]
      if group == "append" {
        results.append(
          Measurement(
            variant: "bytes-per-object", value: store.compactedSize().map { Double($0) / Double(n) } ?? size, unit: "B",
            extra: ["file": size]))
      }
      store.close()
      return results
    })
  }

  // MARK: W2, W3, W4

  private var lookups: Int { scaled(1_000_000) }

  private func flatReading() -> Prepared {
    let data = items()
    return Prepared(measure: {
      withUnsafePointer(to: data) { data in
        let start = bench_now()
        switch workload {
        case "W2":
          let sum = bench_floor_scan(data)
          return [Measurement(variant: group, value: Double(bench_now() - start) / Double(n), unit: "ns", check: sum)]
        case "W3":
          let sum = bench_floor_lookup(data, Int64(lookups))
          return [
            Measurement(variant: group, value: Double(bench_now() - start) / Double(lookups), unit: "ns", check: sum)
          ]
        default:
          let found = bench_floor_filter(data)
          return [Measurement(variant: group, value: Double(bench_now() - start) / 1e6, unit: "ms", check: found)]
        }
      }
    })
  }

  private func reading() -> Prepared {
    let key =
      switch group {
      case "sparse": BENCH_KEY_SPARSE
      case "string": BENCH_KEY_STRING
      default: BENCH_KEY_DENSE
      }
    let store = loaded(memory, key: key)
    let partner =
      group == "two" ? Helper(["partner", "lookup", program, path(memory), String(n), String(lookups)]) : nil
    partner?.expect("ready")
    return Prepared(
      measure: {
        partner?.send("run")
        let start = bench_now()
        switch workload {
        case "W2":
          let sum = store.scan()
          return [Measurement(variant: group, value: Double(bench_now() - start) / Double(n), unit: "ns", check: sum)]
        case "W3":
          let sum = store.lookup(n: n, count: lookups)
          var each = Double(bench_now() - start) / Double(lookups)
          if let other = partner.flatMap({ Double($0.receive()) }) { each = (each + other) / 2 }
          return [Measurement(variant: group, value: each, unit: "ns", check: sum)]
        default:
          let found = store.filter()
          return [Measurement(variant: group, value: Double(bench_now() - start) / 1e6, unit: "ms", check: found)]
        }
      },
      finish: {
        partner?.finish()
        store.close()
      })
  }

  // MARK: W8

  private func snapshots() -> Prepared {
    let store = loaded(memory)
    if group != "advance" {
      let count = scaled(200_000)
      return Prepared(
        measure: {
          let spent = group == "open-close" ? store.openClose(count: count) : store.openCloseEscaping(count: count)
          return [Measurement(variant: group, value: spent / Double(count), unit: "ns")]
        }, finish: { store.close() })
    }
    // Single short calls: the median of many, less the median of reading the clock.
    let count = scaled(program == "sqlite" ? 10_000 : 50_000)
    let clockCost = bench_clock_cost()
    let each = UnsafeMutablePointer<UInt64>.allocate(capacity: count)
    return Prepared(
      measure: {
        store.advance(n: n, count: count, each: each)
        return [Measurement(variant: group, value: max(0, bench_median(each, Int64(count)) - clockCost), unit: "ns")]
      },
      finish: {
        each.deallocate()
        store.close()
      })
  }
}

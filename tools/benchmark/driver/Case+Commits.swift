import CBench
import Foundation

/// W7, W10 and W12: the workloads that commit again and again.
extension Case {
  /// Runs batches until `seconds` have passed; returns how many steps were taken and the ns they took.
  static func forAWhile(_ seconds: Double, batch: Int, _ step: (Int) -> Void) -> (count: Int, spent: Double) {
    let start = bench_now()
    var count = 0
    while true {
      step(batch)
      count += batch
      let spent = Double(bench_now() - start)
      if spent > seconds * 1e9 { return (count, spent) }
    }
  }

  func smallCommits() -> Prepared {
    let durability =
      switch group {
      case "full": BENCH_FULL
      case "relaxed": BENCH_RELAXED
      default: BENCH_MEMORY
      }
    let store = loaded(group == "memory" ? memory : disk, durability: durability)
    if group == "relaxed" { store.startBackgroundSync() }
    let samples = scaled(group == "full" ? 1_000 : 50_000)
    let each = UnsafeMutablePointer<UInt64>.allocate(capacity: samples)
    var next: UInt64 = 0
    return Prepared(
      measure: {
        // The rate without a clock between commits; the percentiles in a pass of their own.
        let (count, spent) = Case.forAWhile((group == "full" ? 1 : 0.5) * pace, batch: group == "full" ? 10 : 500) {
          store.commits(n: n, from: next, count: $0, each: nil)
          next += UInt64($0)
        }
        store.commits(n: n, from: next, count: samples, each: each)
        next += UInt64(samples)
        let times = Percentiles((0..<samples).map { Double(each[$0]) / 1000 })
        return [
          Measurement(
            variant: group, value: Double(count) / spent * 1e9, unit: "commits/s",
            extra: ["p50": times.at(0.5), "p99": times.at(0.99), "p999": times.at(0.999)])
        ]
      },
      finish: {
        each.deallocate()
        store.close()
      })
  }

  func durableFloor() -> Prepared {
    let samples = scaled(1_000)
    let each = UnsafeMutablePointer<UInt64>.allocate(capacity: samples)
    let file = path(disk)
    return Prepared(
      measure: {
        let code = bench_floor_durable(file, program == "floor-dsync" ? 1 : 0, Int64(samples), each)
        if code != 0 { fail("floor: \(file): \(String(cString: strerror(-code)))") }
        let times = Percentiles((0..<samples).map { Double(each[$0]) / 1000 })
        let sum = times.sorted.reduce(0, +)
        return [
          Measurement(
            variant: group, value: Double(samples) / sum * 1e6, unit: "commits/s",
            extra: ["p50": times.at(0.5), "p99": times.at(0.99), "p999": times.at(0.999)])
        ]
      }, finish: { each.deallocate() })
  }

  func duet() -> Prepared {
    let store = loaded(memory)
    let partner = Helper(["partner", "reads", program, path(memory), String(n), String(pace)])
    partner.expect("ready")
    var next: UInt64 = 0
    return Prepared(
      measure: {
        partner.send("run")
        let (count, spent) = Case.forAWhile(pace, batch: 64) {
          store.commits(n: n, from: next, count: $0, each: nil)
          next += UInt64($0)
        }
        guard let rate = Double(partner.receive()) else { fail("the reader gave no rate") }
        return [
          Measurement(variant: "writer", value: Double(count) / spent * 1e9, unit: "commits/s"),
          Measurement(variant: "reader", value: rate, unit: "snapshots/s"),
        ]
      },
      finish: {
        partner.finish()
        store.close()
      })
  }

  /// A fresh store for each run: what a pin costs is what the file grows by.
  func pins() -> Prepared {
    let commits = scaled(100_000)
    return Prepared(measure: {
      let store = loaded(memory)
      store.commits(n: n, from: 0, count: 1_000, each: nil)
      let before = store.fileSize
      let token = program == "reef-unpinned" ? nil : store.pin()
      let start = bench_now()
      store.commits(n: n, from: 1_000, count: commits, each: nil)
      let spent = Double(bench_now() - start)
      let during = store.fileSize
      if let token { store.unpin(token) }
      store.commits(n: n, from: UInt64(1_000 + commits), count: 1_000, each: nil)
      let after = store.fileSize
      store.close()
      return [
        Measurement(variant: "rate", value: Double(commits) / spent * 1e9, unit: "commits/s"),
        Measurement(
          variant: "growth", value: (Double(during) - Double(before)) / 1e6, unit: "MB",
          extra: [
            "before": Double(before) / 1e6, "during": Double(during) / 1e6, "after": Double(after) / 1e6,
          ]),
      ]
    })
  }
}

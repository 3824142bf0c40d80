import CBench
import Foundation

/// W13, W14 and W15: many writers, many sizes and readers, and the first moment of a process.
extension Case {
  /// `memory-4`: four processes that commit flat out, all from the same moment.
  func crowd() -> Prepared {
    let words = group.split(separator: "-")
    guard words.count == 2, let writers = Int(words[1]) else { fail("no crowd '\(group)'") }
    let full = words[0] == "full"
    let folder = full ? disk : memory
    let store = loaded(folder, durability: full ? BENCH_FULL : BENCH_MEMORY)
    let crowd = (0..<writers).map {
      Helper(["partner", "commits", program, path(folder), String(n), String($0), full ? "full" : "memory"])
    }
    for helper in crowd { helper.expect("ready") }
    return Prepared(
      measure: {
        let start = bench_now() + 20_000_000
        for helper in crowd { helper.send("run \(start) \(max(0.2, 0.5 * pace))") }
        var rates: [Double] = []
        var longest = 0.0
        for helper in crowd {
          let figures = helper.receive().split(separator: " ").compactMap { Double($0) }
          guard figures.count == 2 else { fail("a writer gave no rate") }
          rates.append(figures[0])
          longest = max(longest, figures[1])
        }
        let least = rates.min() ?? 0
        let most = rates.max() ?? 0
        return [
          Measurement(
            variant: group, value: rates.reduce(0, +), unit: "commits/s",
            extra: ["fairness": least / most, "least": least, "most": most, "longest": longest / 1e6])
        ]
      },
      finish: {
        for helper in crowd { helper.finish() }
        store.close()
      })
  }

  /// Another workload at this size, or with snapshots held by another process (`memory-slots-256`).
  func scale() -> Prepared {
    var inner = self
    let parts = group.components(separatedBy: "-slots-")
    inner.group = parts[0]
    switch inner.group {
    case "one": inner.workload = "W3"
    case "memory": inner.workload = "W7"
    default: inner.workload = "W8"
    }
    let prepared = inner.prepare()
    var holder: Helper?
    if parts.count == 2 {
      holder = Helper(["partner", "hold", program, inner.path(memory), String(n), parts[1]])
      holder?.expect("ready")
    }
    return Prepared(
      measure: {
        prepared.measure().map { measurement in
          var measurement = measurement
          measurement.variant = group
          return measurement
        }
      },
      finish: {
        holder?.finish()
        prepared.finish()
      })
  }

  /// A new process opens the store and reads one object.
  func start() -> Prepared {
    loaded(memory).close()
    let file = path(memory)
    let keeper = group == "joined" ? Helper(["partner", "hold", program, file, String(n), "1"]) : nil
    keeper?.expect("ready")
    return Prepared(
      measure: {
        if group == "after-kill" {
          // Killed in the midst of its commits.
          let victim = Helper(["partner", "commits", program, file, String(n), "0", "memory"])
          victim.expect("ready")
          victim.send("run \(bench_now()) 60")
          _ = bench_milli_sleep(30)
          victim.kill()
        }
        let figures = Helper.figures(3, of: ["partner", "open", program, file, String(n)])
        return [
          Measurement(
            variant: group, value: figures[0] / 1e6, unit: "ms", extra: ["faults": figures[1]],
            check: group == "after-kill" ? nil : UInt64(figures[2]))
        ]
      }, finish: { keeper?.finish() })
  }

  /// What a process that reads needs beside the store's own pages, and how large the store's coordination is.
  func memoryUse() -> Prepared {
    let store = loaded(memory)
    let file = path(memory)
    return Prepared(
      measure: {
        let figures = Helper.figures(3, of: ["partner", "resident", program, file, String(n)])
        let beside = program == "lmdb" ? "-lock" : program == "sqlite" ? "-shm" : ".lock"
        let size = (try? FileManager.default.attributesOfItem(atPath: file + beside)[.size] as? Double) ?? .nan
        return [
          Measurement(
            variant: "reader", value: figures[1] / 1e6, unit: "MB",
            extra: ["before": figures[0] / 1e6, "code": figures[2] / 1e6]),
          Measurement(
            variant: "lock-file", value: size / 1e6, unit: "MB",
            extra: ["used": Double(bench_disk_usage(file + beside)) / 1e6]),
        ]
      }, finish: { store.close() })
  }
}

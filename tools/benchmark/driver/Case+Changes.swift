import CBench
import Foundation
import Reef

/// W11: another process commits; how long until a live query of n objects has delivered what that did to it. No other
/// program here has change sets, so it stands alone.
extension Case {
  func changeSets() -> Prepared {
    let store = loaded(memory)
    let file = path(memory)
    let observer = ChangeObserver(file, sorted: group == "one-change-sorted")
    let partner = Helper(["partner", "modify", program, file, String(n), group])
    partner.expect("ready")
    let events = max(5, Int((group.hasPrefix("one") ? 100 : 10) * pace))
    return Prepared(
      measure: {
        var times: [Double] = []
        var told = 0
        for _ in 0..<events {
          partner.send("run")
          let event = observer.next()
          guard let stamp = UInt64(partner.receive()) else { fail("the writer gave no time") }
          times.append(Double(event.at) - Double(stamp))
          told += event.size
        }
        let sorted = Percentiles(times.map { $0 / 1000 })
        return [
          Measurement(
            variant: group, value: sorted.at(0.5), unit: "µs",
            extra: ["p99": sorted.at(0.99), "told": Double(told) / Double(events)])
        ]
      },
      finish: {
        partner.finish()
        observer.close()
        store.close()
      })
  }
}

/// Follows a live query in a task, and hands each event to the thread that measures.
private final class ChangeObserver: Sendable {
  struct Event {
    var at: UInt64 = 0
    /// Positions told.
    var size = 0
  }
  private nonisolated(unsafe) var last = Event()
  private let came = DispatchSemaphore(value: 0)
  private let task: Task<Void, Never>

  init(_ path: String, sorted: Bool) {
    let store = ReefContender.store(path, BENCH_MEMORY)
    let all = store.objects(Item.self)
    let changes = sorted ? all.sorted(by: \.score).changes : all.changes
    nonisolated(unsafe) weak var owner: ChangeObserver?
    let ready = DispatchSemaphore(value: 0)
    task = Task.detached {
      do {
        for try await change in changes {
          let now = bench_now()
          if change.isInitial {
            ready.signal()
            continue
          }
          guard let observer = owner else { break }
          observer.last = Event(
            at: now, size: change.insertions.count + change.deletions.count + change.modifications.count)
          observer.came.signal()
        }
      } catch { if !(error is CancellationError) { fail("reef: \(error)") } }
    }
    owner = self
    ready.wait()
  }

  func next() -> Event {
    if came.wait(timeout: .now() + 60) == .timedOut { fail("no change set came within a minute") }
    return last
  }

  func close() { task.cancel() }
}

/// The other process of W11: makes the change that it is told to, and says when it began to commit it.
enum Modifier {
  /// `reef-bench partner modify PROGRAM PATH N GROUP`
  static func main(_ words: [String]) {
    guard words.count == 5, let n = Int(words[3]) else { fail("wrong partner arguments \(words)") }
    let group = words[4]
    let store = ReefContender.store(words[2], BENCH_MEMORY)
    let many = min(1_000, n / 10)
    var k = 0
    writeLine("ready")
    var orders = LineReader(0)
    while let order = orders.next(), order == "run" {
      var stamp: UInt64 = 0
      orFail {
        try store.write { transaction in
          switch group {
          case "one-change":
            try transaction.update(Item.self, key: random(k, n)) { $0.qty = 1_000 + k }
          case "one-change-sorted":
            try transaction.update(Item.self, key: random(k, n)) { $0.score = Double(random(k + 7, 1_000_000)) / 1_000 }
          case "thousand-changes":
            for i in 0..<many {
              try transaction.update(Item.self, key: random(k * many + i, n)) { $0.qty = 1_000 + k }
            }
          default:
            for id in k * many..<(k + 1) * many {
              try transaction.delete(Item.self, key: id)
              try transaction.insert(Item(id: n + id, name: "0123456789abcdef", score: 1, qty: 1, flag: true))
            }
          }
          stamp = bench_now()
        }
      }
      k += 1
      writeLine(String(stamp))
    }
  }

  private static func random(_ k: Int, _ n: Int) -> Int { Int(bench_mix(UInt64(k)) % UInt64(n)) }
}

import CBench
import Foundation

/// W9: process A stores the clock and commits, process B, blocked, wakes and reads it.
struct NoticePlan {
  var way: String
  var placement: String
  var payload: Int
  static let warmUp = 50

  /// "futex-two-cores-idle-1k" and the like.
  init(_ group: String) {
    var parts = group.split(separator: "-").map(String.init)
    payload = 0
    if parts.last == "1k" {
      payload = 1024
      parts.removeLast()
    }
    way = parts.removeFirst()
    placement = parts.joined(separator: "-")
  }

  var bell: bench_way { way == "spin" ? BENCH_SPIN : way == "fifo" ? BENCH_FIFO : BENCH_FUTEX }
  var listenerCPU: Int32 { placement == "one-core" ? 0 : 1 }
}

/// What rings and what listens: the bare floor program, or a store.
protocol NoticeSender: AnyObject {
  /// Stores the clock (and a text of `payload` bytes) with this sequence number, and wakes whoever waits.
  func send(sequence: Int)
  func close()
}
protocol NoticeReceiver: AnyObject {
  /// Blocks for the next notices and calls back with each one's sequence number and delay in ns, until told to stop.
  func receive(_ each: @escaping (_ sequence: Int, _ delay: UInt64) -> Bool)
  func close()
}

final class FloorBell: NoticeSender, NoticeReceiver {
  let plan: NoticePlan
  private let bell: OpaquePointer?
  private var seen: UInt32 = 0

  init(_ plan: NoticePlan, path: String) {
    self.plan = plan
    bell = bench_bell_open(path)
  }
  func send(sequence: Int) { bench_bell_ring(bell, plan.bell, plan.payload) }
  func receive(_ each: @escaping (Int, UInt64) -> Bool) {
    while true {
      let delay = bench_bell_wait(bell, plan.bell, &seen, plan.payload)
      if !each(Int(seen), delay) { return }
    }
  }
  func close() { bench_bell_close(bell) }
}

extension Case {
  func notice() -> Prepared {
    let plan = NoticePlan(group)
    if plan.placement != "one-core" && bench_cpu_count() < 2 { fail("W9 \(group) needs two processors") }
    let file = path(memory)
    let sender: any NoticeSender =
      program == "floor" ? FloorBell(plan, path: file) : ReefNotice.sender(plan, path: file)
    var sequence = 0
    let count = scaled(1_000)
    let partner = Helper(["partner", "listen", program, file, group])
    partner.expect("ready")
    bench_pin(0)  // only now: a child inherits the processors of its parent
    return Prepared(
      measure: {
        let first = sequence + NoticePlan.warmUp
        let last = first + count
        partner.send("run \(first) \(last)")
        partner.expect("listening")
        _ = bench_milli_sleep(10)
        while sequence < last {
          sequence += 1
          sender.send(sequence: sequence)
          if plan.placement == "two-cores-busy" { bench_spin(1_000_000) } else { _ = bench_milli_sleep(1) }
        }
        guard let samples = try? JSONDecoder().decode([Double].self, from: Data(partner.receive().utf8)) else {
          fail("the listener gave no samples")
        }
        let times = Percentiles(samples)
        return [
          Measurement(
            variant: group, value: times.at(0.5), unit: "µs",
            extra: ["p99": times.at(0.99), "p999": times.at(0.999), "heard": Double(samples.count)])
        ]
      },
      finish: {
        partner.finish()
        sender.close()
      })
  }
}

/// `reef-bench partner listen PROGRAM PATH GROUP`
enum Listener {
  static func main(_ words: [String]) {
    let plan = NoticePlan(words[3])
    bench_pin(plan.listenerCPU)
    let receiver: any NoticeReceiver =
      words[1] == "floor" ? FloorBell(plan, path: words[2]) : ReefNotice.receiver(plan, path: words[2])
    writeLine("ready")
    var orders = LineReader(0)
    while let order = orders.next() {
      let numbers = order.split(separator: " ").compactMap { Int($0) }
      guard numbers.count == 2 else { break }
      let (first, last) = (numbers[0], numbers[1])
      alarm(120)  // a lost notice must end the measurement, not hang it
      var samples: [Double] = []
      samples.reserveCapacity(last - first)
      writeLine("listening")
      receiver.receive { sequence, delay in
        if sequence > first { samples.append(Double(delay) / 1000) }
        return sequence < last
      }
      alarm(0)
      guard let json = try? JSONEncoder().encode(samples) else { fail("samples that cannot be told") }
      writeLine(String(decoding: json, as: UTF8.self))
    }
    receiver.close()
  }
}

import CBench
import Foundation

/// The second process of a workload that needs two.
enum Partner {
  /// `reef-bench partner ROLE PROGRAM PATH …`
  static func main(_ arguments: ArraySlice<String>) {
    let words = Array(arguments)
    guard words.count >= 4 else { fail("wrong partner arguments \(words)") }
    switch words[0] {
    case "lookup", "reads": reader(words)
    case "commits": writer(words)
    case "hold": holder(words)
    case "open": opener(words)
    case "resident": resident(words)
    case "commit-loop": commitLoop(words)
    case "modify": Modifier.main(words)
    case "listen": Listener.main(words)
    default: fail("no role '\(words[0])'")
    }
  }

  private static func size(_ words: [String], count: Int) -> Int {
    guard words.count == count, let n = Int(words[3]) else { fail("wrong partner arguments \(words)") }
    return n
  }

  private static func open(_ words: [String], _ durability: bench_durability = BENCH_MEMORY) -> any Contender {
    openContender(StoreRequest(program: words[1], path: words[2], durability: durability, fresh: false))
  }

  /// `… N AMOUNT`: number of lookups, or seconds.
  private static func reader(_ words: [String]) {
    let n = size(words, count: 5)
    guard let amount = Double(words[4]) else { fail("wrong partner arguments \(words)") }
    let store = open(words)
    writeLine("ready")
    var orders = LineReader(0)
    var next: UInt64 = 12_345
    while let order = orders.next(), order == "run" {
      if words[0] == "lookup" {
        let start = bench_now()
        _ = store.lookup(n: n, count: Int(amount))
        writeLine(String(Double(bench_now() - start) / amount))
      } else {
        let (count, spent) = Case.forAWhile(amount, batch: 16) {
          _ = store.reads(n: n, from: next, snapshots: $0)
          next += UInt64($0)
        }
        writeLine(String(Double(count) / spent * 1e9))
      }
    }
    store.close()
  }

  /// `… N INDEX DURABILITY`: for "run START SECONDS" commits flat out from START on; answers with its rate and the longest
  /// that a few commits took, in ns.
  private static func writer(_ words: [String]) {
    let n = size(words, count: 6)
    let full = words[5] == "full"
    let store = open(words, full ? BENCH_FULL : BENCH_MEMORY)
    let batch = full ? 1 : 16
    var next = (UInt64(words[4]) ?? 0) << 40
    writeLine("ready")
    var orders = LineReader(0)
    while let order = orders.next() {
      let figures = order.split(separator: " ").compactMap { Double($0) }
      guard figures.count == 2 else { break }
      let start = bench_now()
      if figures[0] > Double(start) { _ = bench_milli_sleep(Int64((figures[0] - Double(start)) / 1e6)) }
      var longest: UInt64 = 0
      let (count, spent) = Case.forAWhile(figures[1], batch: batch) {
        let before = bench_now()
        store.commits(n: n, from: next, count: $0, each: nil)
        longest = max(longest, bench_now() - before)
        next += UInt64($0)
      }
      writeLine("\(Double(count) / spent * 1e9) \(longest)")
    }
    store.close()
  }

  /// `… N COUNT`: makes a store, commits COUNT times, ends. For tools that count from outside: see tools/count-syscalls.
  private static func commitLoop(_ words: [String]) {
    let n = size(words, count: 5)
    guard let count = Int(words[4]) else { fail("wrong partner arguments \(words)") }
    let store = openContender(StoreRequest(program: words[1], path: words[2]))
    var data = bench_make_items(Int64(n), BENCH_KEY_DENSE, 0)
    _ = store.insert(data, append: true)
    bench_free_items(&data)
    store.commits(n: n, from: 0, count: count, each: nil)
    store.close()
  }

  /// `… N COUNT`: keeps COUNT snapshots open until its input ends.
  private static func holder(_ words: [String]) {
    _ = size(words, count: 5)
    // 1,024 is all that Reef has: some are left for those who measure.
    let count = min(1_016, Int(words[4]) ?? 1)
    let store = open(words)
    let pins = (0..<count).map { _ in store.pin() }
    writeLine("ready")
    var orders = LineReader(0)
    while orders.next() != nil {}
    for pin in pins { store.unpin(pin) }
    store.close()
  }

  /// `… N`: opens and reads one object; ns, page faults, what it read.
  private static func opener(_ words: [String]) {
    let n = size(words, count: 4)
    writeLine("ready")
    var orders = LineReader(0)
    guard orders.next() == "run" else { return }
    let faults = bench_page_faults()
    let start = bench_now()
    let store = open(words)
    let found = store.lookup(n: n, count: 1)
    let spent = bench_now() - start
    writeLine("\(spent) \(bench_page_faults() - faults) \(found)")
    store.close()
  }

  /// `… N`: reads all there is; bytes of its own before and after, and of code.
  private static func resident(_ words: [String]) {
    let n = size(words, count: 4)
    let before = Resident.now(except: words[2])
    let store = open(words)
    writeLine("ready")
    var orders = LineReader(0)
    guard orders.next() == "run" else { return }
    _ = store.scan()
    _ = store.lookup(n: n, count: 10_000)
    _ = store.filter()
    let after = Resident.now(except: words[2])
    writeLine("\(before.own) \(after.own) \(after.code)")
    store.close()
  }
}

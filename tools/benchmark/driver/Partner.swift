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
    case "listen": Listener.main(words)
    default: fail("no role '\(words[0])'")
    }
  }

  private static func reader(_ words: [String]) {
    guard words.count == 5, let n = Int(words[3]), let amount = Double(words[4]) else {
      fail("wrong partner arguments \(words)")
    }
    let store = openContender(StoreRequest(program: words[1], path: words[2], fresh: false))
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
}

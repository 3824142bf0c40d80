import CBench
import Reef

/// W5 and W6: text, order and sums, as a user asks for them.
extension ReefContender {
  private var items: Results<Item> { orFail { try store.snapshot() }.objects(Item.self) }

  func equal(_ name: String) -> UInt64 { UInt64(items.where { $0.name == name }.count) }

  func contains(_ part: String) -> UInt64 { UInt64(items.where { $0.name.contains(part) }.count) }

  func findNames(n: Int, count: Int) -> UInt64 {
    let items = orFail { try store.snapshot() }.objects(IndexedItem.self)
    let size = UInt64(n)
    var a: UInt64 = 0
    for k in 0..<UInt64(count) {
      let name = hex(bench_mix(bench_mix(k &+ 991) % size))
      guard let item = items.where({ $0.name == name }).first else { fail("a name is missing") }
      a &+= UInt64(bitPattern: Int64(item.qty))
    }
    return a
  }

  func sorted(n: Int, limit: Int) -> UInt64 {
    let all = items.sorted(by: \.score)
    if limit <= 100 { return digest(all.prefix(limit).map(\.id)) }
    // The first access makes the order of all.
    return digest([0, n / 2, n - 1].map { all[$0].id })
  }

  func sum() -> Int { Int(items.sum(of: \.qty)) }
  func average() -> Double { items.average(of: \.score) ?? .nan }
}

import CBench
import Foundation
import Reef

/// Reef through its typed public API, as a user writes it.
final class ReefContender: Contender {
  /// Nil once closed: a store closes when the last that holds it lets go.
  private var opened: Store?
  private let path: String
  private let key: bench_key
  private let indexed: Bool

  static func open(_ request: StoreRequest) -> any Contender { ReefContender(request) }

  static func store(_ path: String, _ durability: bench_durability) -> Store {
    let durability: Durability =
      switch durability {
      case BENCH_FULL: .full
      case BENCH_RELAXED: .relaxed
      default: .memory
      }
    let configuration = Store.Configuration(
      location: .file(path), models: [Item.self, NamedItem.self, IndexedItem.self, Beat.self], durability: durability)
    return orFail { try Store(configuration) }
  }

  private init(_ request: StoreRequest) {
    path = request.path
    key = request.key
    indexed = request.indexed
    if request.fresh {
      for ending in ["", ".lock", ".note"] { unlink(path + ending) }
    }
    opened = Self.store(path, request.durability)
  }

  var store: Store {
    guard let opened else { fail("the store is closed") }
    return opened
  }

  func insert(_ data: bench_items, append: Bool) -> Double {
    // The objects are made off the clock, as the data of the other programs is.
    let count = Int(data.n)
    func name(_ i: Int) -> String {
      String(decoding: UnsafeRawBufferPointer(start: data.name + i * 16, count: 16), as: UTF8.self)
    }
    if key == BENCH_KEY_STRING {
      let objects = (0..<count).map { i in
        NamedItem(
          id: Int(data.id[i]), name: name(i), score: data.score[i], qty: Int(data.qty[i]), flag: data.flag[i] != 0)
      }
      return insert(objects)
    }
    if indexed {
      let objects = (0..<count).map { i in
        IndexedItem(
          id: Int(data.id[i]), name: name(i), score: data.score[i], qty: Int(data.qty[i]), flag: data.flag[i] != 0)
      }
      return insert(objects)
    }
    let objects = (0..<count).map { o in
      let i = Int(data.order[o])
      return Item(
        id: Int(data.id[i]), name: name(i), score: data.score[i], qty: Int(data.qty[i]), flag: data.flag[i] != 0)
    }
    return insert(objects)
  }

  private func insert<M: Model>(_ objects: [M]) -> Double {
    let start = bench_now()
    orFail { try store.write { transaction in try transaction.insert(contentsOf: objects) } }
    return Double(bench_now() - start)
  }

  func scan() -> UInt64 {
    var a: UInt64 = 0
    var d = 0.0
    for item in orFail({ try store.snapshot() }).objects(Item.self) {
      let name = item.nameUTF8
      a &+= UInt64(bitPattern: Int64(item.id)) &+ UInt64(bitPattern: Int64(item.qty)) &+ (item.flag ? 1 : 0)
      a &+= UInt64(name[name.endIndex - 1])
      d += item.score
    }
    return a &+ UInt64(d)
  }

  func lookup(n: Int, count: Int) -> UInt64 {
    let snapshot = orFail { try store.snapshot() }
    let size = UInt64(n)
    var a: UInt64 = 0
    var d = 0.0
    for k in 0..<UInt64(count) {
      let i = bench_mix(k &+ 991) % size
      if key == BENCH_KEY_STRING {
        guard let item = snapshot[NamedItem.self, key: hex(bench_mix(i))] else { fail("an item is missing") }
        a &+= UInt64(bitPattern: Int64(item.qty))
        d += item.score
      } else {
        let id = key == BENCH_KEY_SPARSE ? Int(truncatingIfNeeded: bench_mix(i)) : Int(i)
        guard let item = snapshot[Item.self, key: id] else { fail("an item is missing") }
        a &+= UInt64(bitPattern: Int64(item.qty))
        d += item.score
      }
    }
    return a &+ UInt64(d)
  }

  func hex(_ value: UInt64) -> String {
    String(unsafeUninitializedCapacity: 16) { buffer in
      buffer.withMemoryRebound(to: CChar.self) { bench_hex(value, $0.baseAddress) }
      return 16
    }
  }

  func filter() -> UInt64 {
    UInt64(
      orFail({ try store.snapshot() }).objects(Item.self).where { $0.qty.between(250...499) && $0.score > 500 }.count)
  }

  func commits(n: Int, from: UInt64, count: Int, each: UnsafeMutablePointer<UInt64>?) {
    let size = UInt64(n)
    let store = store
    orFail {
      for k in from..<from + UInt64(count) {
        let start = each == nil ? 0 : bench_now()
        try store.write { transaction in
          try transaction.update(Item.self, key: Int(bench_mix(k) % size)) { $0.qty = Int(k % 1000) }
        }
        if let each { each[Int(k - from)] = bench_now() - start }
      }
    }
  }

  /// Reef syncs relaxed stores by itself.
  func startBackgroundSync() {}

  func openClose(count: Int) -> Double {
    let store = store
    let start = bench_now()
    var sum: UInt64 = 0
    orFail { for _ in 0..<count { sum &+= try store.read { $0.version } } }
    let spent = Double(bench_now() - start)
    if sum == 0 { fail("no snapshot was taken") }
    return spent
  }

  func openCloseEscaping(count: Int) -> Double {
    let store = store
    let start = bench_now()
    var sum: UInt64 = 0
    orFail { for _ in 0..<count { sum &+= try store.snapshot().version } }
    let spent = Double(bench_now() - start)
    if sum == 0 { fail("no snapshot was taken") }
    return spent
  }

  func advance(n: Int, count: Int, each: UnsafeMutablePointer<UInt64>) {
    let store = store
    orFail {
      var snapshot = try store.snapshot()
      for k in 0..<count {
        commits(n: n, from: UInt64(k), count: 1, each: nil)
        let start = bench_now()
        try snapshot.advance()
        each[k] = bench_now() - start
      }
      withExtendedLifetime(snapshot) {}
    }
  }

  func reads(n: Int, from: UInt64, snapshots: Int) -> UInt64 {
    let size = UInt64(n)
    var a: UInt64 = 0
    var next = from * 100
    let store = store
    orFail {
      for _ in 0..<snapshots {
        let snapshot = try store.snapshot()
        for _ in 0..<100 {
          guard let item = snapshot[Item.self, key: Int(bench_mix(next) % size)] else { fail("an item is missing") }
          a &+= UInt64(bitPattern: Int64(item.qty)) &+ UInt64(item.score)
          next &+= 1
        }
      }
    }
    return a
  }

  private final class Pin {
    var snapshot: Snapshot?
    init(_ snapshot: Snapshot) { self.snapshot = snapshot }
  }
  func pin() -> AnyObject { Pin(orFail { try store.snapshot() }) }
  func unpin(_ token: AnyObject) { (token as? Pin)?.snapshot = nil }

  var fileSize: UInt64 { bench_disk_usage(path) }
  func compactedSize() -> UInt64? { nil }
  func close() { opened = nil }
}

/// In a measurement every error is the end of it.
func orFail<R>(_ body: () throws -> R) -> R {
  do { return try body() } catch { fail("reef: \(error)") }
}

import CBench

/// A program under measurement with one open store of n items. Loops lie inside the methods, so that no call through
/// this protocol is on the clock more than once a loop.
protocol Contender: AnyObject {
  /// Inserts all items in one transaction in their order; ns in all.
  func insert(_ items: bench_items, append: Bool) -> Double
  /// Reads every property of every object in key order, the last byte of the name too; returns their sum.
  func scan() -> UInt64
  /// Finds `count` random keys and reads `qty` and `score`; returns their sum.
  func lookup(n: Int, count: Int) -> UInt64
  /// count(qty in 250…499 and score > 500)
  func filter() -> UInt64
  /// count(name == …) and count(name contains …), without an index
  func equal(_ name: String) -> UInt64
  func contains(_ part: String) -> UInt64
  /// Finds `count` random names by the index on `name`; the sum of their `qty`.
  func findNames(n: Int, count: Int) -> UInt64
  /// All objects, or the first `limit`, by score; a digest of their ids: of all up to 100, else of the first, the middle
  /// and the last.
  func sorted(n: Int, limit: Int) -> UInt64
  /// sum(qty) and average(score)
  func sum() -> Int
  func average() -> Double
  /// Transactions k = from ..< from + count: set `qty` of object splitmix64(k) % n to k % 1000; ns of each, if asked.
  func commits(n: Int, from: UInt64, count: Int, each: UnsafeMutablePointer<UInt64>?)
  func startBackgroundSync()
  /// Opens and closes a snapshot; ns in all.
  func openClose(count: Int) -> Double
  /// The same with a snapshot that may be kept and handed on, where that is something else.
  func openCloseEscaping(count: Int) -> Double
  /// Moves a snapshot to the newest version after one object changed, again and again (the change is off the clock); ns of
  /// each move, the clock's own cost included.
  func advance(n: Int, count: Int, each: UnsafeMutablePointer<UInt64>)
  /// Takes a snapshot and reads 100 random objects, again and again.
  func reads(n: Int, from: UInt64, snapshots: Int) -> UInt64
  /// Keeps the present version readable until the token goes to `unpin`.
  func pin() -> AnyObject
  func unpin(_ token: AnyObject)
  /// Bytes on disk now, and once compacted (nil: the program has no compaction).
  var fileSize: UInt64 { get }
  func compactedSize() -> UInt64?
  func close()
}

/// What to open.
struct StoreRequest {
  var program: String
  var path: String
  var durability: bench_durability = BENCH_MEMORY
  var key: bench_key = BENCH_KEY_DENSE
  /// With a secondary index on `name`.
  var indexed = false
  var fresh = true
}

/// One number for ids in order, so that programs can be compared.
func digest(_ ids: some Sequence<Int>) -> UInt64 {
  ids.reduce(0) { bench_mix($0 &+ UInt64(bitPattern: Int64($1))) >> 12 }
}

func openContender(_ request: StoreRequest) -> any Contender {
  switch request.program {
  case "lmdb": PeerContender(bench_lmdb, request)
  case "lmdb-writemap": PeerContender(bench_lmdb, request, writemap: true)
  case "sqlite": PeerContender(bench_sqlite, request)
  case "reef", "reef-unpinned": ReefContender.open(request)
  default: fail("no program '\(request.program)'")
  }
}

func digest(_ ids: [Int64], of limit: Int, n: Int) -> UInt64 {
  limit <= 100 ? digest(ids.prefix(min(limit, n)).map(Int.init)) : digest([0, n / 2, n - 1].map { Int(ids[$0]) })
}

/// LMDB and SQLite: thin calls into C.
final class PeerContender: Contender {
  let peer: bench_peer
  let store: UnsafeMutableRawPointer?
  let path: String

  private var ids: [Int64] = []

  init(_ peer: bench_peer, _ request: StoreRequest, writemap: Bool = false) {
    self.peer = peer
    self.path = request.path
    store = request.path.withCString { path in
      var wanted = bench_request(
        path: path, durability: request.durability, key: request.key, writemap: writemap ? 1 : 0,
        indexed: request.indexed ? 1 : 0, fresh: request.fresh ? 1 : 0)
      return peer.open(&wanted)
    }
  }

  func insert(_ items: bench_items, append: Bool) -> Double {
    withUnsafePointer(to: items) { peer.insert(store, $0, append ? 1 : 0) }
  }
  func scan() -> UInt64 { peer.scan(store) }
  func lookup(n: Int, count: Int) -> UInt64 { peer.lookup(store, Int64(n), Int64(count)) }
  func filter() -> UInt64 { peer.filter(store) }
  func equal(_ name: String) -> UInt64 { peer.equal(store, name) }
  func contains(_ part: String) -> UInt64 { peer.contains(store, part) }
  func findNames(n: Int, count: Int) -> UInt64 { peer.find_name(store, Int64(n), Int64(count)) }
  func sorted(n: Int, limit: Int) -> UInt64 {
    if ids.count < n { ids = [Int64](repeating: 0, count: n) }
    peer.sorted(store, Int64(limit), &ids)
    return digest(ids, of: limit, n: n)
  }
  func sum() -> Int { Int(peer.sum(store)) }
  func average() -> Double { peer.average(store) }
  func commits(n: Int, from: UInt64, count: Int, each: UnsafeMutablePointer<UInt64>?) {
    peer.commits(store, Int64(n), from, UInt64(count), each)
  }
  func startBackgroundSync() { peer.background_sync(store) }
  func openClose(count: Int) -> Double { peer.open_close(store, Int64(count)) }
  func openCloseEscaping(count: Int) -> Double { openClose(count: count) }
  func advance(n: Int, count: Int, each: UnsafeMutablePointer<UInt64>) {
    peer.advance(store, Int64(n), Int64(count), each)
  }
  func reads(n: Int, from: UInt64, snapshots: Int) -> UInt64 { peer.reads(store, Int64(n), from, UInt64(snapshots)) }

  final class Pin { var raw: UnsafeMutableRawPointer?; init(_ raw: UnsafeMutableRawPointer?) { self.raw = raw } }
  func pin() -> AnyObject { Pin(peer.pin(store)) }
  func unpin(_ token: AnyObject) { peer.unpin(store, (token as? Pin)?.raw) }

  /// The write-ahead log counts: it is where a part of the data lies.
  var fileSize: UInt64 { bench_disk_usage(path) + bench_disk_usage(path + "-wal") }
  func compactedSize() -> UInt64? { peer.compacted(store, path + ".copy") }
  func close() { peer.close(store) }
}

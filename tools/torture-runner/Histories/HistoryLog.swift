import Foundation
import Synchronization

/// One thing that a process did, as it saw it.
struct HistoryRecord {
  enum Kind: UInt64 {
    /// A write transaction that is about to commit; `committed` follows, or the process died, or it failed.
    case transaction = 1
    case committed = 2
    case rolledBack = 3
    case snapshot = 4
    /// The commit threw: it may have happened.
    case failed = 5
  }

  /// What a list looked like: how many elements, the last, and a hash of all of them in order.
  struct Read: Equatable {
    var key: Int64
    var count: Int64
    var last: Int64
    var chain: Int64
  }
  struct Append {
    var key: Int64
    var element: Int64
  }

  var kind: Kind
  /// Of the transaction; 0 for snapshots.
  var id: Int64 = 0
  /// Version read from; of `committed`: the version made.
  var version: UInt64 = 0
  /// Monotonic nanoseconds before it began and after it ended.
  var began: UInt64 = 0
  var ended: UInt64 = 0
  /// The transaction that made `version`, as that version itself says.
  var maker: Int64 = 0
  var reads: [Read] = []
  var appends: [Append] = []
}

/// A process's own history, in a file that is mapped, so that its death loses nothing: words, and first how many.
final class HistoryLog {
  private let words: UnsafeMutablePointer<UInt64>
  private let capacity: Int
  private var used: Int

  static let bytes = 48 << 20

  init(_ path: String, create: Bool) throws {
    let descriptor = open(path, create ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0, !create || ftruncate(descriptor, off_t(Self.bytes)) == 0 else {
      throw TortureError("cannot make \(path): \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    guard let memory = mmap(nil, Self.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), memory != MAP_FAILED
    else { throw TortureError("cannot map \(path)") }
    words = memory.bindMemory(to: UInt64.self, capacity: Self.bytes / 8)
    capacity = Self.bytes / 8
    used = Int(words[0])
  }

  deinit { munmap(words, Self.bytes) }

  /// Whether a few more records surely fit.
  var hasRoom: Bool { used + 4096 < capacity }

  func append(_ record: HistoryRecord) {
    var at = used + 1
    func put(_ value: UInt64) {
      words[at] = value
      at += 1
    }
    put(record.kind.rawValue | UInt64(record.reads.count) << 8 | UInt64(record.appends.count) << 16)
    put(UInt64(bitPattern: record.id))
    put(record.version)
    put(record.began)
    put(record.ended)
    put(UInt64(bitPattern: record.maker))
    for read in record.reads {
      put(UInt64(bitPattern: read.key))
      put(UInt64(bitPattern: read.count))
      put(UInt64(bitPattern: read.last))
      put(UInt64(bitPattern: read.chain))
    }
    for append in record.appends {
      put(UInt64(bitPattern: append.key))
      put(UInt64(bitPattern: append.element))
    }
    used = at - 1
    // Whole, or not there: the count is stored last.
    UnsafeMutableRawPointer(words).assumingMemoryBound(to: Atomic<UInt64>.self).pointee
      .store(UInt64(used), ordering: .releasing)
  }

  func records() throws -> [HistoryRecord] {
    var list: [HistoryRecord] = []
    var at = 1
    let end = Int(words[0]) + 1
    func next() -> Int64 {
      defer { at += 1 }
      return Int64(bitPattern: words[at])
    }
    while at < end {
      let head = words[at]
      guard let kind = HistoryRecord.Kind(rawValue: head & 0xff) else { throw TortureError("a history is no history") }
      at += 1
      var record = HistoryRecord(kind: kind)
      record.id = next()
      record.version = UInt64(next())
      record.began = UInt64(next())
      record.ended = UInt64(next())
      record.maker = next()
      record.reads.reserveCapacity(Int(head >> 8 & 0xff))
      for _ in 0..<(head >> 8 & 0xff) {
        record.reads.append(HistoryRecord.Read(key: next(), count: next(), last: next(), chain: next()))
      }
      for _ in 0..<(head >> 16 & 0xff) {
        record.appends.append(HistoryRecord.Append(key: next(), element: next()))
      }
      list.append(record)
    }
    return list
  }
}

import Foundation
import ReefEngine
import ReefSystem
import Synchronization

/// A process that is going to be killed, whatever it does just then.
enum Victim {
  enum Role: String, CaseIterable {
    /// Adds one to all rows, again and again, and says in shared memory how far it got.
    case writer
    /// The same with full durability, where the store lies on a disk.
    case durable
    /// Holds versions for a while, and looks whether they stay.
    case reader
    /// Sleeps until the next commit.
    case follower
    /// Opens and closes the store.
    case opener
  }

  static let rows: Int64 = 10
  static let type = TypeSchema("Counter", [PropertySchema("id", .int64), PropertySchema("value", .int64)], key: 0)
  static let ballast = TypeSchema("Ballast", [PropertySchema("id", .int64), PropertySchema("text", .string)], key: 0)

  static func open(_ path: String, full: Bool = false) throws -> Engine {
    var options = Session.Options(location: .file(path))
    options.peerName = "victim"
    options.openTimeout = .seconds(20)
    var configuration = EngineConfiguration(session: options, durability: full ? .full : .memory)
    configuration.redo.first = 65536
    configuration.redo.larger = 131_072
    configuration.redo.alignment = DataLayout.extentSize
    configuration.redo.after = 0
    return try Engine.open(configuration, Schema([type, ballast]))
  }

  static func values(_ view: ReadView) throws -> Set<Int64> {
    var values: Set<Int64> = []
    try view.table(0).forEachLeaf { (leaf) throws(StoreError) in
      let column = try leaf.column(1)
      for row in 0..<leaf.count { values.insert(column.int(row)) }
      return true
    }
    return values
  }

  /// One commit: every row one more, and some structure.
  static func advance(_ engine: Engine, _ random: inout Mix) throws -> Int64 {
    let transaction = try engine.write(.after(.seconds(20)))
    let view = try transaction.readView
    guard let row = try view.table(0).find(key: 0) else { throw TortureError("the rows are gone") }
    let next = try row.leaf.column(1).int(row.row) + 1
    for row in 0..<rows {
      _ = try transaction.update(table: 0, key: row, column: 1, bits: UInt64(bitPattern: next))
    }
    let other = Int64(random.below(500))
    if try !transaction.delete(table: 1, key: other) {
      let length = random.below(900)
      _ = try transaction.insert(table: 1) {
        $0.set(column: 0, int: other)
        $0.set(column: 1, string: String(repeating: "x", count: length))
      }
    }
    _ = try transaction.commit()
    return next
  }

  /// `--victim STORE WORDS ROLE SEED`
  static func run(_ arguments: [String]) throws {
    guard arguments.count == 4, let role = Role(rawValue: arguments[2]), let seed = UInt64(arguments[3]) else {
      throw TortureError("not for people")
    }
    let words = try SharedWords(arguments[1], create: false)
    var random = Mix(seed)
    words[.state] = 1
    switch role {
    case .opener:
      while true {
        let engine = try open(arguments[0])
        words[.state] = 2
        if random.chance(2) {
          let pin = try engine.pin()
          if try values(pin.view).count != 1 { words[.wrong] = 3 }
        }
        engine.close()
      }
    case .writer, .durable:
      let engine = try open(arguments[0], full: role == .durable)
      while true {
        words[.acknowledged] = UInt64(try advance(engine, &random))
        words[.state] = 2
      }
    case .reader:
      let engine = try open(arguments[0])
      while true {
        let pin = try engine.pin()
        let first = try values(pin.view)
        words[.state] = 2
        usleep(UInt32(random.below(2000)))
        if try first.count != 1 || values(pin.view) != first { words[.wrong] = 1 }
      }
    case .follower:
      let engine = try open(arguments[0])
      var seen = engine.newestVersion
      words[.state] = 2
      while true {
        let next = try engine.session.wait(after: seen, deadline: .after(.seconds(60)))
        if next <= seen { words[.wrong] = 2 }
        seen = next
      }
    }
  }
}

/// Words that a parent and its victims share.
final class SharedWords: @unchecked Sendable {
  enum Word: Int { case acknowledged, state, wrong }
  private let words: UnsafeMutablePointer<UInt64>

  init(_ path: String, create: Bool) throws {
    let descriptor = open(path, create ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0, !create || ftruncate(descriptor, 4096) == 0 else {
      throw TortureError("cannot make \(path)")
    }
    defer { close(descriptor) }
    guard let memory = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), memory != MAP_FAILED else {
      throw TortureError("cannot map \(path)")
    }
    words = memory.bindMemory(to: UInt64.self, capacity: 512)
  }
  deinit { munmap(words, 4096) }

  subscript(word: Word) -> UInt64 {
    get { atomic(word).pointee.load(ordering: .acquiring) }
    set { atomic(word).pointee.store(newValue, ordering: .releasing) }
  }
  private func atomic(_ word: Word) -> UnsafeMutablePointer<Atomic<UInt64>> {
    UnsafeMutableRawPointer(words + word.rawValue).assumingMemoryBound(to: Atomic<UInt64>.self)
  }
}

import Glibc
import ReefEngine
import ReefSystem

enum Commands {
  static let counters = TypeSchema("Counter", [PropertySchema("id", .int64), PropertySchema("value", .int64)], key: 0)
  static let blobs = TypeSchema(
    "Block", [PropertySchema("id", .int64), PropertySchema("text", .string), PropertySchema("sum", .int64)], key: 0)
  static let schema = Schema([counters, blobs])
  static let rows: Int64 = 10

  static func engine(
    _ store: String, _ durability: String = "memory", redo: RedoShape? = Commands.redo, retention: Retention? = nil
  ) throws -> Engine {
    var options = Session.Options(location: store.hasPrefix("/") ? .file(store) : .memory(store))
    options.peerName = "scenario"
    options.openTimeout = .seconds(10)
    let kind: Durability = durability == "full" ? .full : durability == "relaxed" ? .relaxed : .memory
    var configuration = EngineConfiguration(session: options, durability: kind)
    configuration.redo = redo ?? configuration.redo
    configuration.retention = retention
    return try Engine.open(configuration, schema)
  }

  /// `REEF_RING=BYTES`: a small redo ring, made at once; checkpoints by whoever fills half of it, or with a `b` behind the
  /// number by the thread in the background, as it is otherwise.
  static var redo: RedoShape? {
    guard let value = getenv("REEF_RING") else { return nil }
    var text = String(cString: value)
    let inBackground = text.hasSuffix("b")
    if inBackground { text.removeLast() }
    guard let bytes = Int(text) else { return nil }
    var shape = smallRing(bytes)
    shape.inBackground = inBackground
    return shape
  }

  static func smallRing(_ bytes: Int) -> RedoShape {
    var shape = RedoShape()
    (shape.first, shape.larger, shape.alignment) = (bytes, bytes * 2, DataLayout.extentSize)
    shape.after = 0
    shape.inBackground = false
    return shape
  }

  static func line() -> String? { readLine(strippingNewline: true) }

  static func value(_ view: ReadView, _ key: Int64) throws -> Int64? {
    guard let found = try view.table(0).find(key: key) else { return nil }
    return try found.leaf.column(1).int(found.row)
  }

  /// Sets all rows to one number more, again and again; says each number once it is committed.
  static func commit(_ store: String, count: Int, durability: String, pause: Int) throws {
    let engine = try engine(store, durability)
    say("ready")
    var done = 0
    while done < count {
      let transaction = try engine.write(.after(.seconds(10)))
      let view = try transaction.readView
      let current = try value(view, 0) ?? 0
      for row in 0..<rows {
        if try transaction.update(table: 0, key: row, column: 1, bits: UInt64(current + 1)) == .missing {
          _ = try transaction.insert(table: 0) {
            $0.set(column: 0, int: row)
            $0.set(column: 1, int: current + 1)
          }
        }
      }
      // Structure comes and goes too.
      let key = 1000 + (current + 1) % 700
      if try !transaction.delete(table: 1, key: key) {
        _ = try transaction.insert(table: 1) {
          $0.set(column: 0, int: key)
          $0.set(column: 1, string: String(repeating: "x", count: Int(current % 900)))
          $0.set(column: 2, int: current)
        }
      }
      try transaction.commit()
      say("\(current + 1)")
      done += 1
      if pause > 0 { usleep(UInt32(pause)) }
    }
    engine.close()
    say("closed")
  }

  /// Pins the newest version and holds it until its input closes.
  static func hold(_ store: String) throws {
    let engine = try engine(store)
    let pin = try engine.pin()
    say("holding \(pin.version)")
    while line() != nil { say("value \(try value(pin.view, 0) ?? -1)") }
  }

  /// Reads versions that may be taken away, slowly, until the time is over. All rows have one value in each version.
  static func revocable(_ store: String, milliseconds: Int) throws {
    let engine = try engine(store, retention: Retention(policy: .revoke))
    say("ready")
    var seed = UInt64(getpid()) &* 0x9E37_79B9_7F4A_7C15
    let end = Deadline.after(.milliseconds(milliseconds))
    var (whole, revoked, cutShort) = (0, 0, 0)
    while !end.isPast {
      let slot = try engine.claimSlot()
      defer { engine.closeSlot(slot) }
      var view = ReadView(base: UnsafeRawPointer(engine.session.data.base), limit: 0, root: 0, version: 0)
      try engine.pinNewest(slot, &view)
      seed ^= seed << 13
      seed ^= seed >> 7
      seed ^= seed << 17
      // Some read at once, some are overtaken while they read, some before.
      let pause = seed % 3 == 0 ? 0 : UInt32(seed >> 8 & 0x7fff)
      if pause > 0 { usleep(pause) }
      var values: Set<Int64> = []
      var rows = 0
      do throws(StoreError) {
        try view.table(0).forEachLeaf { (leaf) throws(StoreError) in
          let column = try leaf.column(1)
          for row in 0..<leaf.count { values.insert(column.int(row)) }
          rows += leaf.count
          if pause & 3 == 1 { usleep(6000) }
          return true
        }
        guard values.count == 1, rows == 1000 else { fail("error mixture of \(values) in \(rows) rows") }
        whole += 1
      } catch {
        guard case .snapshotRevoked = error else { throw error }
        guard values.count <= 1 else { fail("error mixture of \(values) before the end") }
        revoked += 1
        if rows > 0 { cutShort += 1 }
      }
    }
    say("whole \(whole) revoked \(revoked) cut \(cutShort)")
  }

  /// Follows versions until a counter has reached a value.
  static func follow(_ store: String, until target: Int) throws {
    let engine = try engine(store)
    say("ready")
    var seen: UInt64 = 0
    var last: Int64 = -1
    while last < Int64(target) {
      seen = try engine.session.wait(after: seen, deadline: .after(.seconds(120)))
      let pin = try engine.pin()
      seen = max(seen, pin.version)
      let now = try value(pin.view, 0) ?? 0
      if now < last { fail("went back from \(last) to \(now)") }
      last = now
    }
    say("reached \(last) at \(seen)")
  }

  /// Adds one to counter 0, `count` times.
  static func add(_ store: String, count: Int) throws {
    let engine = try engine(store)
    for _ in 0..<count {
      let transaction = try engine.write(.after(.seconds(60)))
      let now = try value(transaction.readView, 0) ?? 0
      if now == 0, try value(transaction.readView, 0) == nil {
        _ = try transaction.insert(table: 0) {
          $0.set(column: 0, int: 0)
          $0.set(column: 1, int: 1)
        }
      } else {
        _ = try transaction.update(table: 0, key: 0, column: 1, bits: UInt64(now + 1))
      }
      try transaction.commit()
      say("+")
    }
    engine.close()
    say("closed")
  }

  /// Begins a transaction, says so, and commits when told.
  static func stopInside(_ store: String) throws {
    let engine = try engine(store)
    let transaction = try engine.write(.after(.seconds(10)))
    let now = try value(transaction.readView, 0) ?? 0
    _ = try transaction.update(table: 0, key: 0, column: 1, bits: UInt64(now + 1))
    say("inside")
    _ = line()
    try transaction.commit()
    say("committed")
  }

  // The bank: 1,000 accounts of 1,000 each.

  static func bankWrite(_ store: String, milliseconds: Int, seed: Int) throws {
    let engine = try engine(store)
    var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15
    func random() -> UInt64 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return state
    }
    say("ready")
    let end = Deadline.after(.milliseconds(milliseconds))
    var moves = 0
    while !end.isPast {
      let transaction = try engine.write(.after(.seconds(30)))
      let view = try transaction.readView
      let from = Int64(random() % 1000)
      let to = Int64(random() % 1000)
      let amount = Int64(random() % 50)
      guard from != to, let left = try value(view, from), let right = try value(view, to) else {
        transaction.rollback()
        continue
      }
      _ = try transaction.update(table: 0, key: from, column: 1, bits: UInt64(bitPattern: left - amount))
      if random() % 10 == 0 {
        transaction.rollback()
        continue
      }
      _ = try transaction.update(table: 0, key: to, column: 1, bits: UInt64(bitPattern: right + amount))
      try transaction.commit()
      moves += 1
    }
    engine.close()
    say("moved \(moves)")
  }

  static func bankRead(_ store: String, milliseconds: Int) throws {
    let engine = try engine(store)
    say("ready")
    let end = Deadline.after(.milliseconds(milliseconds))
    var reads = 0
    while !end.isPast {
      let pin = try engine.pin()
      let total = try sum(pin.view)
      if total != 1_000_000 { fail("version \(pin.version) sums to \(total)") }
      reads += 1
    }
    say("read \(reads)")
  }

  static func sum(_ view: ReadView) throws -> Int64 {
    var total: Int64 = 0
    try view.table(0).forEachLeaf { (leaf) throws(StoreError) in
      let column = try leaf.column(1)
      for row in 0..<leaf.count { total += column.int(row) }
      return true
    }
    return total
  }

  // Growth

  static func text(_ key: Int64) -> String { String(repeating: "row \(key), ", count: 400) }

  static func grow(_ store: String, from: Int, rows: Int) throws {
    let engine = try engine(store)
    var key = Int64(from)
    let end = Int64(from + rows)
    while key < end {
      let transaction = try engine.write(.after(.seconds(60)))
      for row in key..<min(key + 50, end) {
        _ = try transaction.insert(table: 1) {
          $0.set(column: 0, int: row)
          $0.set(column: 1, string: text(row))
          $0.set(column: 2, int: row)
        }
      }
      try transaction.commit()
      key += 50
    }
    engine.close()
    say("grown")
  }

  /// Pins, and compares the whole snapshot with what it was each time it is asked.
  static func verifyPinned(_ store: String) throws {
    let engine = try engine(store)
    let pin = try engine.pin()
    let (count, sum) = try digest(pin.view)
    say("holding \(count)")
    while line() != nil {
      let now = try digest(pin.view)
      say(now == (count, sum) ? "intact \(count)" : "changed \(now) from \((count, sum))")
    }
  }

  static func digest(_ view: ReadView) throws -> (Int, UInt64) {
    var sum: UInt64 = 0
    var count = 0
    try view.table(1).forEachLeaf { (leaf) throws(StoreError) in
      let text = try leaf.column(1)
      for row in 0..<leaf.count {
        count += 1
        for byte in try text.checkedBytes(row) { sum = sum &* 31 &+ UInt64(byte) }
        sum = sum &+ UInt64(bitPattern: leaf.key(row))
      }
      return true
    }
    return (count, sum)
  }

  /// Inserts until the file system is full, says what that was; then deletes, and goes on when told.
  static func fill(_ store: String) throws {
    let engine = try engine(store)
    say("ready")
    var key: Int64 = 100_000
    while let order = line() {
      switch order {
      case "fill":
        do throws(StoreError) {
          while true {
            let transaction = try engine.write(.after(.seconds(10)))
            for row in key..<(key + 20) {
              _ = try transaction.insert(table: 1) {
                $0.set(column: 0, int: row)
                $0.set(column: 1, string: text(row))
                $0.set(column: 2, int: row)
              }
            }
            try transaction.commit()
            key += 20
          }
        } catch { say("\(Main.name(of: error))") }
      case "one":
        do throws(StoreError) {
          let transaction = try engine.write(.after(.seconds(10)))
          _ = try transaction.insert(table: 1) {
            $0.set(column: 0, int: key)
            $0.set(column: 1, string: text(key))
            $0.set(column: 2, int: key)
          }
          try transaction.commit()
          key += 1
          say("inserted")
        } catch { say("\(Main.name(of: error))") }
      case "delete":
        do throws(StoreError) {
          let transaction = try engine.write(.after(.seconds(10)))
          for row in 100_000..<(100_000 + (key - 100_000) / 2) { _ = try transaction.delete(table: 1, key: row) }
          try transaction.commit()
          say("deleted")
        } catch { say("\(Main.name(of: error))") }
      case "count":
        let pin = try engine.pin()
        say("count \(try digest(pin.view).0)")
      default: say("?")
      }
    }
  }

  /// What a child of `fork` may do with what its parent opened.
  static func fork(_ store: String) throws {
    let engine = try engine(store)
    let pin = try engine.pin()
    let child = forkProcess()
    if child == 0 {
      var answer = ""
      do throws(StoreError) {
        let other = try engine.pin()
        answer = "pinned \(other.version)"
      } catch { answer = Main.name(of: error) }
      do throws(StoreError) {
        let transaction = try engine.write(.now)
        answer += " wrote"
        transaction.rollback()
      } catch { answer += " " + Main.name(of: error) }
      // The child's own opening is a peer of its own.
      do {
        let own = try Commands.engine(store)
        let transaction = try own.write(.after(.seconds(5)))
        let now = try value(transaction.readView, 0) ?? 0
        _ = try transaction.update(table: 0, key: 0, column: 1, bits: UInt64(now + 1))
        try transaction.commit()
        answer += " own"
        own.close()
      } catch { answer += " \(error)" }
      say("child \(answer)")
      _exit(0)
    }
    var status: Int32 = 0
    waitpid(child, &status, 0)
    // The parent's pin and its place among the peers are untouched.
    say("parent \(try value(pin.view, 0) ?? -1) \(try engine.session.peers().count)")
  }

  static func open(_ store: String) throws {
    let engine = try engine(store)
    say("open \(engine.newestVersion)")
    _ = line()
    engine.close()
    say("closed")
  }
  static func openAndClose(_ store: String) throws {
    let engine = try engine(store, "full")
    engine.close()
    say("closed")
  }

  static func say(_ text: String) { Main.say(text) }
  static func fail(_ text: String) -> Never { Main.fail(text) }
}

/// Swift hides `fork`; the scenario of a forked child needs it.
@_silgen_name("fork") func forkProcess() -> Int32

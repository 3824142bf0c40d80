import Foundation
import ReefEngine
import ReefSystem

/// A process in an environment of its own. It does what it is told line by line, and answers each line with one: so the
/// suite decides who does what when, and a process that says nothing any more is a hang.
enum Tenant {
  static let rows: Int64 = 64
  static let type = TypeSchema("Pair", [PropertySchema("id", .int64), PropertySchema("value", .int64)], key: 0)

  static func open(_ path: String, readOnly: Bool) throws -> Engine {
    var options = Session.Options(location: .file(path))
    options.peerName = "tenant"
    options.openTimeout = .seconds(2)
    options.readOnly = readOnly
    options.reserve = 1 << 30
    return try Engine.open(EngineConfiguration(session: options, durability: .memory), Schema(readOnly ? [] : [type]))
  }

  /// The value that all rows agree on.
  static func value(_ view: ReadView) throws -> Int64 {
    var values: Set<Int64> = []
    var count: Int64 = 0
    try view.table(0).forEachLeaf { (leaf) throws(StoreError) in
      let column = try leaf.column(1)
      for row in 0..<leaf.count { values.insert(column.int(row)) }
      count += Int64(leaf.count)
      return true
    }
    guard count == 0 || count == rows && values.count == 1 else {
      throw TortureError("mixed: \(count) rows with \(values.sorted())")
    }
    return values.first ?? 0
  }

  /// One more in every row; not committed yet.
  static func advance(_ transaction: WriteTransaction) throws -> Int64 {
    let before = try value(transaction.readView)
    for row in 0..<rows {
      let bits = UInt64(bitPattern: before + 1)
      if try transaction.update(table: 0, key: row, column: 1, bits: bits) == .missing {
        _ = try transaction.insert(table: 0) {
          $0.set(column: 0, int: row)
          $0.set(column: 1, int: before + 1)
        }
      }
    }
    return before + 1
  }

  private struct State {
    var engine: Engine?
    var held: (transaction: WriteTransaction, value: Int64)?
    var copies: [String: LoadedCopy] = [:]

    mutating func opened() throws -> Engine {
      guard let engine else { throw StoreError.closed }
      return engine
    }

    func commit(_ engine: Engine, within milliseconds: Int = 1500) throws -> Int64 {
      let transaction = try engine.write(.after(.milliseconds(milliseconds)))
      do {
        let value = try Tenant.advance(transaction)
        _ = try transaction.commit()
        return value
      } catch {
        transaction.rollback()
        throw error
      }
    }

    mutating func obey(_ words: [String]) throws -> Int64 {
      switch words[0] {
      case "as":
        guard words.count == 2, let id = UInt32(words[1]), setgroups(0, nil) == 0, setgid(id) == 0, setuid(id) == 0
        else { throw TortureError("cannot become \(words)") }
      case "load": copies[words[1]] = try LoadedCopy(words[2], apart: words.count > 3)
      case "umask": umask(mode_t(words[1], radix: 8) ?? 0)
      case "open", "look": engine = try Tenant.open(words[1], readOnly: words[0] == "look")
      case "close":
        try opened().close()
        engine = nil
      case "commit": return try commit(opened(), within: words.count > 1 ? Int(words[1]) ?? 0 : 1500)
      case "read":
        let pin = try opened().pin()
        return try Tenant.value(pin.view)
      case "spin":
        let end = Board.now + (UInt64(words[1]) ?? 0) * 1_000_000
        var last: Int64 = 0
        while Board.now < end { last = try commit(opened()) }
        return last
      case "hold":
        let transaction = try opened().write(.after(.milliseconds(1500)))
        held = (transaction, try Tenant.advance(transaction))
      case "release":
        guard let taken = held else { throw TortureError("nothing is held") }
        held = nil
        _ = try taken.transaction.commit()
        return taken.value
      case "wait":
        let engine = try opened()
        return Int64(try engine.session.wait(after: engine.newestVersion, deadline: .after(.milliseconds(1500))))
      case "exec":
        // The same program anew, in this process: nothing that was open is closed first.
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        FileHandle.standardOutput.write(Data("ok 0\n".utf8))
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(own), strdup("--tenant"), nil]
        execv(own, &arguments)
        _exit(5)
      case "fork": return try fork(words.count > 1 ? words[1] : nil)
      default: throw TortureError("unknown: \(words)")
      }
      return 0
    }

    /// The child tries everything with its parent's engine, and with `path` goes on with one of its own. Its exit status
    /// tells what came of that.
    private mutating func fork(_ path: String?) throws -> Int64 {
      let engine = try opened()
      let child = forkProcess()
      if child == 0 {
        var refused = 0
        do { _ = try commit(engine) } catch StoreError.usedAfterFork { refused += 1 } catch {}
        do { _ = try engine.pin() } catch StoreError.usedAfterFork { refused += 1 } catch {}
        engine.close()
        if refused != 2 { _exit(3) }
        guard let path else { _exit(0) }
        do {
          let own = try Tenant.open(path, readOnly: false)
          _ = try commit(own)
          own.close()
          _exit(0)
        } catch { _exit(4) }
      }
      guard child > 0 else { throw TortureError("fork: errno \(errno)") }
      var status: Int32 = 0
      let end = Board.now + 4_000_000_000
      while waitpid(child, &status, WNOHANG) == 0 {
        if Board.now > end {
          kill(child, SIGKILL)
          waitpid(child, &status, 0)
          break
        }
        usleep(1000)
      }
      guard status == 0 else { throw TortureError("the child of fork ended with wait status \(status)") }
      return 0
    }
  }

  static func run() {
    var state = State()
    while let line = readLine() {
      let words = line.split(separator: " ").map(String.init)
      guard !words.isEmpty else { continue }
      var answer: String
      do {
        if words[0] == "in", words.count > 2, let copy = state.copies[words[1]] {
          answer = copy(words.dropFirst(2).joined(separator: " "))
        } else {
          answer = "ok \(try state.obey(words))"
        }
      } catch let error as StoreErrorText {
        answer = "error \(error.text)"
      } catch let error as StoreError {
        answer = "error \(error)"
      } catch {
        answer = "wrong \(error)"
      }
      answer = answer.replacingOccurrences(of: "\n", with: " ") + "\n"
      try? FileHandle.standardOutput.write(contentsOf: Data(answer.utf8))
    }
  }
}

/// `fork`, which Swift hides.
@_silgen_name("fork") private func forkProcess() -> Int32

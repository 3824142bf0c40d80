import Foundation
import ReefEngine
import ReefSystem

/// Everything a program does with a store, while things fail: open, write, read, grow, shrink, be told, close, and all of
/// it again. It keeps account of what was acknowledged, and of what may have happened.
final class Workload {
  static let type = TypeSchema(
    "Thing", [PropertySchema("id", .int64), PropertySchema("value", .int64), PropertySchema("text", .string)], key: 0)

  typealias State = [Int64: Int64]
  let path: String
  let durability: Durability
  /// What the store may hold: the last acknowledged state, and those of commits that threw.
  private(set) var possible: [State] = [[:]]
  private(set) var errors: [StoreError] = []
  private(set) var wrong: [String] = []
  private(set) var commits = 0
  /// Told before each commit, and before the store is closed, how many of these moments there were.
  var passing: ((Int) -> Void)?
  private var moment = 0
  /// How many there are in `run`, if nothing fails.
  let moments = 2 * 52

  init(_ path: String, _ durability: Durability) {
    self.path = path
    self.durability = durability
  }

  private func open() throws(StoreError) -> Engine {
    var options = Session.Options(location: .file(path))
    options.openTimeout = .seconds(2)
    options.reserve = 1 << 30
    var configuration = EngineConfiguration(session: options, durability: durability)
    configuration.redo.first = 65536
    configuration.redo.larger = 131_072
    configuration.redo.alignment = DataLayout.extentSize
    configuration.redo.after = 1
    configuration.redo.inBackground = false
    return try Engine.open(configuration, Schema([Self.type]))
  }

  /// Errors are allowed, if they are typed.
  private func attempt<T>(_ body: () throws -> T) -> T? {
    do {
      return try body()
    } catch let error as StoreError {
      errors.append(error)
    } catch {
      wrong.append("an error that is no StoreError: \(error)")
    }
    return nil
  }

  static func state(_ view: ReadView) throws -> State {
    var state: State = [:]
    try view.table(0).forEachLeaf { (leaf) throws(StoreError) in
      let column = try leaf.column(1)
      for row in 0..<leaf.count { state[leaf.key(row)] = column.int(row) }
      return true
    }
    return state
  }

  private func pass() {
    passing?(moment)
    moment += 1
  }

  /// What another process did comes first.
  func goOn(from possible: [State]) { self.possible = possible }

  func complain(_ what: String) { wrong.append(what) }

  private func commit(_ engine: Engine, _ changes: [Int64: Int64?], text: Int = 40) {
    pass()
    attempt {
      let transaction = try engine.write(.after(.seconds(2)))
      do {
        let before = try Self.state(transaction.readView)
        if !possible.contains(before) {
          wrong.append("a transaction found \(before.count) objects that nobody wrote so")
        }
        possible = [before]
        var next = before
        for (key, value) in changes.sorted(by: { $0.key < $1.key }) {
          guard let value else {
            if try transaction.delete(table: 0, key: key) { next[key] = nil }
            continue
          }
          if try transaction.update(table: 0, key: key, column: 1, bits: UInt64(bitPattern: value)) == .missing {
            _ = try transaction.insert(table: 0) {
              $0.set(column: 0, int: key)
              $0.set(column: 1, int: value)
              $0.set(column: 2, string: String(repeating: "x", count: text))
            }
          }
          next[key] = value
        }
        possible.append(next)
        _ = try transaction.commit()
        possible = [next]
        commits += 1
      } catch {
        transaction.rollback()
        throw error
      }
    }
  }

  /// A reader sees one of the states that there may be.
  private func look(_ engine: Engine) {
    attempt {
      let pin = try engine.pin()
      let seen = try Self.state(pin.view)
      if !possible.contains(seen) { wrong.append("a snapshot of \(seen.count) objects that nobody wrote so") }
    }
  }

  func run() {
    for round in 0..<2 {
      guard let engine = attempt({ try open() }) else { continue }
      let base = Int64(round * 1000)
      commit(engine, Dictionary(uniqueKeysWithValues: (0..<40).map { (base + $0, $0) }))
      look(engine)
      let held = attempt { try engine.claimSlot() }
      if let held {
        var view = ReadView(base: UnsafeRawPointer(engine.session.data.base), limit: 0, root: 0, version: 0)
        attempt { try engine.pinNewest(held, &view) }
      }
      for step in 0..<6 { commit(engine, [base + Int64(step): Int64(step * 7), base + 30 - Int64(step): nil]) }
      attempt { _ = try engine.session.noticeDescriptor }
      attempt { _ = try engine.session.wait(after: engine.newestVersion - 1, deadline: .after(.milliseconds(10))) }
      // Growth: objects longer than a slab, and many of them.
      commit(engine, [base + 500: 1, base + 501: 2], text: 200_000)
      commit(engine, Dictionary(uniqueKeysWithValues: (600..<700).map { (base + $0, $0) }), text: 9000)
      look(engine)
      if let held { engine.closeSlot(held) }
      commit(engine, Dictionary(uniqueKeysWithValues: (500..<700).map { (base + $0, nil as Int64?) }))
      for step in 0..<40 { commit(engine, [base + 20: Int64(step)]) }
      look(engine)
      pass()
      engine.close()
    }
  }

  /// A version is held until the list of what waits for it must grow; `fill` is called shortly before. Returns how many
  /// blocks were leaked, because the list could not.
  func runHolding(fill: () -> Void) -> UInt64 {
    guard let engine = attempt({ try open() }) else { return 0 }
    defer { engine.close() }
    let lock = engine.session.lock
    // Room in the data file for what comes: it is free once enough has been replaced.
    commit(engine, [1: 1, 2: 2, 500: 1], text: 400_000)
    commit(engine, [500: nil])
    for step in 0..<60 { commit(engine, [1: Int64(step)]) }
    guard let held = attempt({ try engine.claimSlot() }) else { return 0 }
    // This version and all later ones.
    _ = engine.session.pinFollowing(held)
    func left() -> UInt64 { lock.word(LockLayout.Control.poolCapacity) &- lock.word(LockLayout.Control.poolCount) }
    for step in 0..<3000 where left() > 60 && errors.isEmpty { commit(engine, [1: Int64(step)]) }
    fill()
    for step in 0..<60 { commit(engine, [2: Int64(step)]) }
    look(engine)
    let leaked = lock.word(LockLayout.Statistics.leaked)
    engine.closeSlot(held)
    return leaked
  }

  /// Once nothing fails any more: the store opens, holds what it must, is whole, and takes a commit.
  func verify() {
    guard let engine = attempt({ try open() }) else {
      wrong.append("it does not open any more: \(errors.last.map { "\($0)" } ?? "")")
      return
    }
    defer { engine.close() }
    look(engine)
    let before = commits
    commit(engine, [99_999: 1])
    if commits == before { wrong.append("it takes no commit any more: \(errors.last.map { "\($0)" } ?? "")") }
    attempt {
      let transaction = try engine.write(.after(.seconds(2)))
      defer { transaction.rollback() }
      let report = try transaction.spaceReport()
      if report.liveWithoutBit + report.waitingTwice + report.liveAndFree + report.damaged != 0 {
        wrong.append("\(report)")
      }
    }
  }
}

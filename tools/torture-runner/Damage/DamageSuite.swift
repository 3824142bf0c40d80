import Foundation
import ReefEngine

/// Damaged and hostile files: a typed error or the right answer within a second, never a signal, a hang, or an answer
/// that is wrong without saying so.
final class DamageSuite: CaseSuite {
  static let suite = Suite(
    name: "damage", summary: "damaged and hostile files, each opened, read in every way, written to and read again",
    run: { request in
      let total = request.size.count(small: 1100, night: 1_000_000)
      return try CaseRunner(suite: "damage", cases: { try DamageSuite($0) }, request: request, total: total).run()
    },
    cases: { try DamageSuite($0) })

  let classes = Damage.allCases.map(\.name)
  private let request: Request
  private let sample: SampleStore
  private let nodes: [Bool: [StoreFile.Node]]
  private let answers: Answers

  init(_ request: Request) throws {
    self.request = request
    sample = try SampleStore(seed: request.seed, folder: Torture.diskFolder + "-sample-\(getpid())")
    nodes = [true: StoreFile.nodes(sample.closed), false: StoreFile.nodes(sample.killed)]
    answers = Answers()
  }

  func kind(of index: Int) -> Int { index % Damage.allCases.count }

  func run(_ index: Int, explain: Bool) -> Verdict {
    guard let damage = Damage(rawValue: kind(of: index)) else { return Verdict(outcome: .right, detail: "") }
    var random = Mix(request.seed, UInt64(index) &+ 1000)
    // One in four is of a store that was not closed.
    let isClosed = !random.chance(4)
    var file = isClosed ? sample.closed : sample.killed
    var lock: [UInt8]?
    let what = damage.apply(
      to: &file, lock: &lock, sample: sample, nodes: nodes[isClosed] ?? [], random: &random)
    let said = "\(isClosed ? "closed" : "killed") store, \(what)"
    if explain { print(said) }
    let folder = request.folder + "/case"
    try? FileManager.default.removeItem(atPath: folder)
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let path = folder + "/jobs.reef"
      try write(file, path)
      if let lock { try write(lock, path + ".lock") }
      var examination = Examination(
        path: path, history: sample.history, newest: sample.newest, answers: answers, random: random)
      examination.run()
      if explain { for line in examination.log { print("  " + line) } }
      var outcome = examination.outcome(mayBeEarlier: !isClosed)
      // Whoever makes the checksums fit may write what he likes: such a store is read as what it says.
      if damage == .hostile, outcome == .wrong { outcome = .forged }
      return Verdict(
        outcome: outcome, detail: said + ": " + (examination.wrong.first ?? examination.errors.first ?? ""))
    } catch {
      return Verdict(outcome: .wrong, detail: "\(said): \(error)")
    }
  }

  private func write(_ bytes: [UInt8], _ path: String) throws {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw TortureError("cannot write \(path)") }
    defer { close(descriptor) }
    guard bytes.withUnsafeBytes({ pwrite(descriptor, $0.baseAddress, $0.count, 0) }) == bytes.count else {
      throw TortureError("cannot write \(path)")
    }
  }
}

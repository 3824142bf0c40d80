import Foundation

/// Real processes where programs really run: as other users, in folders of others, behind mounts, in containers, stopped,
/// copied, forked. The right answer or a typed error; no lost commit, no mixture, and nobody else's file is touched.
final class EnvironmentSuite: CaseSuite {
  static let suite = Suite(
    name: "environments", summary: "other users, replaced files, mounts, containers, forks, stopped processes",
    run: run, cases: { EnvironmentSuite($0) })

  typealias Environment = (name: String, play: @Sendable (Scene) throws -> Void)
  /// A new environment is a line here.
  static let all: [Environment] =
    UserEnvironments.all + FileEnvironments.all + ProcessEnvironments.all
    + LibraryEnvironments.all

  let classes = all.map(\.name)
  private let request: Request
  private let isLong: Bool

  init(_ request: Request) {
    self.request = request
    if case .night = request.size { isLong = true } else { isLong = false }
  }

  func kind(of index: Int) -> Int { index % Self.all.count }

  func run(_ index: Int, explain: Bool) -> Verdict {
    let random = Mix(request.seed, UInt64(index) &+ 4000)
    do {
      // One round of four on a disk: other file system, other checks of nodes.
      let onDisk = index / Self.all.count % 4 == 3
      let folder = (onDisk ? Torture.diskFolder + "-environments" : request.folder + "/scenes") + "/\(index)"
      let scene = try Scene(folder, random: random, isLong: isLong, explains: explain)
      chmod((folder as NSString).deletingLastPathComponent, 0o755)
      chmod(request.folder, 0o755)
      defer { scene.end() }
      try Self.all[kind(of: index)].play(scene)
      return Verdict(outcome: scene.errors.isEmpty ? .right : .error, detail: scene.errors.first ?? "")
    } catch let breakage as Breakage {
      return Verdict(outcome: breakage.outcome, detail: breakage.detail)
    } catch {
      return Verdict(outcome: .wrong, detail: "\(error)")
    }
  }

  private static func run(_ request: Request) throws -> Report {
    // A child that is gone is seen at its answer.
    signal(SIGPIPE, SIG_IGN)
    let suite = EnvironmentSuite(request)
    let rounds = max(1, request.size.count(small: 1, night: 20))
    let outcomes: [Outcome] = [.right, .error, .notRun, .wrong, .death, .hang]
    var report = Report(suite: suite.suiteName, seed: "\(request.seed)", columns: outcomes.map(\.name))
    report.rows = all.map { Report.Row(name: $0.name, counts: [:]) }
    defer { try? FileManager.default.removeItem(atPath: Torture.diskFolder + "-environments") }
    for index in 0..<rounds * all.count {
      let kind = suite.kind(of: index)
      let verdict = suite.run(index, explain: false)
      report.rows[kind].counts[verdict.outcome.name, default: 0] += 1
      if verdict.outcome == .notRun, index < all.count { print("NOT RUN: \(all[kind].name): \(verdict.detail)") }
      guard verdict.outcome.isFailure else { continue }
      report.failed += 1
      report.failures.append(
        Report.Failure(
          what: "\(all[kind].name): \(verdict.outcome.name): \(verdict.detail)",
          replay: "tools/torture environments --seed \(request.seed) --case \(index)"))
    }
    return report
  }

  private var suiteName: String { Self.suite.name }
}

import Foundation
import ReefSystem

/// Mutation of ourselves: bugs planted in the protocols (`Mutant`), each of which one of the other suites has to find, in the
/// size that the tests run. A bug that is found by none means a better suite, not a shorter list.
enum MutantSuite {
  static let suite = Suite(
    name: "mutants", summary: "bugs planted in the engine, each to be found by another suite", run: run)

  /// The suites that are asked, in this order, and their sizes: slices of seconds.
  private static let slices: [(suite: String, size: Int)] = [
    ("steps", 100), ("kill", 60), ("interleavings", 200), ("histories", 12_000), ("exhaustion", 100), ("damage", 440),
    ("power-loss", 13),
  ]

  /// Who is asked first, where it is not the one at the top.
  private static func order(_ mutant: Mutant) -> [(suite: String, size: Int)] {
    let first =
      switch mutant {
      case .appendUnwritten, .appendWithoutRoom, .appendStaleChain, .appendHeadStays, .appendLastVersionOnly,
        .recordUnchecked, .replayAnyChain, .replayAnyBase, .replayNothing, .replayForgetsRing,
        .checkpointContentUnsynced, .checkpointSlotUnsynced, .checkpointSameSlot, .checkpointLateRing,
        .recoveryContentUnsynced, .recoveryGoodSlotFirst, .recoveryBelievesHead, .closeUnsynced,
        .commitVisibleEarly, .reclaimIgnoresSynced, .reclaimIgnoresAttempt, .slotUnchecked:
        "power-loss"
      case .nodesUnchecked, .recordsUnchecked: "damage"
      case .checkpointIgnoresError, .extendUnallocated: "exhaustion"
      case .pinUnconfirmed, .lingeringTakesBusy, .rollbackUnawaited, .reclaimIgnoresFollowers,
        .slotTakenUnseen, .deadSlotOwnerFirst, .publishWakesNobody, .copyUnconfirmed:
        "interleavings"
      default: "steps"
      }
    return slices.filter { $0.suite == first } + slices.filter { $0.suite != first }
  }

  static func run(_ request: Request) throws -> Report {
    guard Mutant.areBuiltIn else {
      throw TortureError("this build has no planted bugs: `tools/torture mutants` makes one that has")
    }
    var random = Mix(request.seed)
    var left = Mutant.allCases
    if let only = request.only {
      guard left.indices.contains(only) else { throw TortureError("there are \(left.count) planted bugs") }
      left = [left[only]]
    }
    let count = min(left.count, request.size.count(small: left.count, night: left.count))
    var report = Report(suite: suite.name, seed: "\(request.seed)", columns: slices.map(\.suite) + ["nobody"])
    // A suite that fails without a bug finds nothing by failing with one.
    for slice in slices {
      let began = Board.now
      let failed = try finds(nil, slice, request)
      say("no bug, \(slice.suite): \(failed ?? "well"), \((Board.now - began) / 100_000_000) tenths of a second")
      if failed == nil { continue }
      report.failures.append(
        .init(what: "\(slice.suite) fails by itself", replay: "tools/torture \(slice.suite) --seed \(request.seed)"))
    }
    for _ in 0..<count {
      let mutant = left.remove(at: random.below(left.count))
      let began = Board.now
      var finder: String?
      for slice in order(mutant) where finder == nil {
        if try finds(mutant, slice, request) != nil { finder = slice.suite }
      }
      report.rows.append(.init(name: mutant.rawValue, counts: [finder ?? "nobody": 1]))
      say("\(mutant.rawValue): \(finder ?? "nobody"), \((Board.now - began) / 100_000_000) tenths of a second")
      if finder == nil {
        let place = Mutant.allCases.firstIndex(of: mutant) ?? 0
        report.failures.append(
          .init(
            what: "nobody found \(mutant.rawValue)",
            replay: "tools/torture mutants --seed \(request.seed) --case \(place)"))
      }
    }
    report.failed = report.failures.count
    return report
  }

  /// The whole takes minutes: what is known already is told at once, beside the report.
  private static func say(_ words: String) { FileHandle.standardError.write(Data((words + "\n").utf8)) }

  /// What the suite says of the store that has the bug; nil: nothing is wrong with it.
  private static func finds(_ mutant: Mutant?, _ slice: (suite: String, size: Int), _ request: Request) throws
    -> String?
  {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = [slice.suite, "--seed", "\(request.seed)", "--size", "\(slice.size)"]
    let planted = mutant.map { ["REEF_MUTANT": $0.rawValue] } ?? [:]
    process.environment = ProcessInfo.processInfo.environment.merging(planted) { $1 }
    let path = request.folder + "/output"
    guard FileManager.default.createFile(atPath: path, contents: nil) else {
      throw TortureError("cannot write \(path)")
    }
    let output = FileHandle(forWritingAtPath: path)
    process.standardOutput = output
    process.standardError = output
    try process.run()
    // A hang is a finding too. The suites have limits of their own, for each of their cases.
    let patience = Board.now + 90_000_000_000
    while Board.now < patience {
      if let end = ChildEnd.of(process, wait: false) { return end.isWell ? nil : "status \(end.status)" }
      usleep(20_000)
    }
    let family = descendants(of: process.processIdentifier)
    for member in [process.processIdentifier] + family { kill(member, SIGKILL) }
    _ = ChildEnd.of(process, wait: true)
    for folder in ["/dev/shm", NSTemporaryDirectory()] {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      for name in names where name.hasPrefix("reef-torture-\(process.processIdentifier)") {
        try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
      }
    }
    return "hangs"
  }

  /// The processes that a suite started, and those that they did.
  private static func descendants(of process: pid_t) -> [pid_t] {
    let all = ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { pid_t($0) }
    var parents: [pid_t: pid_t] = [:]
    for other in all {
      guard let bytes = FileManager.default.contents(atPath: "/proc/\(other)/stat") else { continue }
      // The name before it may hold anything but ends with the last bracket.
      let fields = String(decoding: bytes, as: UTF8.self).split(separator: ")").last?.split(separator: " ") ?? []
      if fields.count > 1 { parents[other] = pid_t(fields[1]) }
    }
    var found: [pid_t] = []
    var next = [process]
    while let one = next.popLast() {
      let children = parents.filter { $0.value == one }.map(\.key)
      found += children
      next += children
    }
    return found
  }
}

import Foundation
import ReefEngine
import ReefSystem

/// Everything that can run out, runs out: each system call fails, at its first, second, … time, once or from then on;
/// limits of the process are reached. A typed error, and nothing acknowledged is lost.
final class ExhaustionSuite: CaseSuite {
  static let suite = Suite(
    name: "exhaustion", summary: "each system call fails, once or for ever; limits of the process are reached",
    run: { request in
      defer { try? FileManager.default.removeItem(atPath: diskFolder(request)) }
      let all = try ExhaustionSuite(request).plans.count
      let total = request.size.count(small: 600, night: all * 4)
      return try CaseRunner(suite: "exhaustion", cases: { try ExhaustionSuite($0) }, request: request, total: total)
        .run()
    },
    cases: { try ExhaustionSuite($0) })

  enum Class: Int, CaseIterable {
    case once, forEver, openFiles, fileSize, addressSpace, lockedMemory, fullTmpfs, fullDisk, inodes, lockFileAlone
  }
  let classes = [
    "a call fails once", "a call fails for ever", "open files", "file size", "address space", "locked memory",
    "full tmpfs", "full ext4", "no more files", "lock file cannot grow",
  ]

  private let request: Request
  private let fullCases: FullCases
  let plans: [(call: String, time: Int, onDisk: Bool)]

  init(_ request: Request) throws {
    self.request = request
    fullCases = FullCases(request.folder)
    var plans: [(call: String, time: Int, onDisk: Bool)] = []
    for onDisk in [false, true] {
      let counts = CallCounts()
      FaultPoint.install { call, _ in
        counts.note(call)
        return nil
      }
      defer { FaultPoint.install(nil) }
      let folder = Self.folder(request, onDisk) + "-count"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      defer { Self.remove(folder, request) }
      let workload = Workload(folder + "/jobs.reef", onDisk ? .full : .memory)
      workload.run()
      guard workload.errors.isEmpty, workload.wrong.isEmpty else {
        throw TortureError(
          "the workload fails by itself, \(workload.commits) commits in: \(workload.errors) \(workload.wrong)")
      }
      for (call, count) in counts.all.sorted(by: { $0.key < $1.key }) {
        for time in 1...min(count, 60) { plans.append((call, time, onDisk)) }
      }
    }
    self.plans = plans
  }

  /// The same for all processes of a run, so that the first can remove what those that were killed left.
  private static func diskFolder(_ request: Request) -> String {
    let top = (Torture.diskFolder as NSString).deletingLastPathComponent
    return top + "/" + (request.folder as NSString).lastPathComponent + "-disk"
  }

  private static func remove(_ folder: String, _ request: Request) {
    try? FileManager.default.removeItem(atPath: folder)
    // Where nothing else is in it.
    rmdir(diskFolder(request))
  }

  private static func folder(_ request: Request, _ onDisk: Bool) -> String {
    (onDisk ? diskFolder(request) : request.folder) + "/\(getpid())"
  }

  func kind(of index: Int) -> Int {
    var random = Mix(request.seed, UInt64(index) &+ 77)
    switch random.below(10) {
    case 0: return 2 + random.below(4)
    // The lock file's alone takes hundreds of commits.
    case 1, 2, 3: return random.chance(12) ? 9 : random.chance(8) ? 8 : 6 + random.below(2)
    default: return random.below(2)
    }
  }

  /// What a call really may fail with.
  private static func errnos(_ call: String) -> [Int32] {
    switch call {
    case "openat": [EMFILE, ENFILE, EACCES, ENOMEM, EIO]
    case "mmap": [ENOMEM, EAGAIN]
    case "fallocate", "ftruncate": [ENOSPC, EFBIG, EDQUOT, EIO]
    case "fsync", "fdatasync": [EIO, ENOSPC, EDQUOT]
    case "pwrite", "write": [ENOSPC, EIO, EDQUOT]
    default: [ENOMEM, EMFILE, EPERM, EIO]
    }
  }

  func run(_ index: Int, explain: Bool) -> Verdict {
    var random = Mix(request.seed, UInt64(index) &+ 1000)
    let kind = Class(rawValue: kind(of: index)) ?? .once
    let plan = random.pick(plans)
    // What was counted on a disk fails on a disk.
    let onDisk = kind == .once || kind == .forEver ? plan.onDisk : random.chance(3)
    let folder = Self.folder(request, onDisk) + "-case"
    try? FileManager.default.removeItem(atPath: folder)
    defer { Self.remove(folder, request) }
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    } catch { return Verdict(outcome: .wrong, detail: "\(error)") }
    var workload = Workload(folder + "/jobs.reef", onDisk ? .full : .memory)
    let said: String
    switch kind {
    case .once, .forEver:
      let errno = random.pick(Self.errnos(plan.call))
      let counts = CallCounts()
      FaultPoint.install { call, _ in
        guard call == plan.call else { return nil }
        let time = counts.note(call)
        return time == plan.time || kind == .forEver && time > plan.time ? errno : nil
      }
      said = "\(plan.onDisk ? "disk" : "memory"): \(plan.call) \(plan.time)\(kind == .forEver ? "+" : ""): \(errno)"
      workload.run()
      FaultPoint.install(nil)
    case .openFiles:
      let limit = random.below(24)
      said = "\(limit) more open files"
      let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 8
      limited(RLIMIT_NOFILE, to: UInt64(open + limit)) { workload.run() }
    case .fileSize:
      let limit = 4096 << random.below(12)
      said = "files of \(limit) bytes at most"
      limited(RLIMIT_FSIZE, to: UInt64(limit)) { workload.run() }
    case .addressSpace:
      let more = UInt64(1) << UInt64(20 + random.below(12))
      said = "\(more >> 20) MiB more of address space"
      let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ").first
      let used = pages.flatMap { UInt64($0) }.map { $0 * 4096 } ?? 1 << 30
      limited(RLIMIT_AS, to: used + more) { workload.run() }
    case .fullTmpfs, .fullDisk, .inodes, .lockFileAlone:
      do {
        switch kind {
        case .inodes: (workload, said) = try fullCases.inodes(&random)
        case .lockFileAlone: (workload, said) = try fullCases.lockFileAlone(&random)
        default: (workload, said) = try fullCases.full(kind == .fullDisk ? .ext4 : .tmpfs, &random)
        }
      } catch let error as SmallFileSystem.NotPermitted {
        return Verdict(outcome: .notRun, detail: error.why)
      } catch { return Verdict(outcome: .wrong, detail: "\(error)") }
    case .lockedMemory:
      said = "no locked memory"
      // RLIMIT_MEMLOCK, which the module does not have.
      limited(__rlimit_resource(8), to: 0) { workload.run() }
    }
    let failures = workload.errors.count
    let first = workload.errors.first.map { "\($0)" } ?? ""
    workload.verify()
    if explain {
      print(said)
      for error in workload.errors.prefix(20) { print("  \(error)") }
      for wrong in workload.wrong { print("  wrong: \(wrong)") }
    }
    if let wrong = workload.wrong.first { return Verdict(outcome: .wrong, detail: "\(said): \(wrong)") }
    return Verdict(outcome: failures == 0 ? .right : .error, detail: "\(said): \(first)")
  }

  private func limited(_ resource: __rlimit_resource, to value: UInt64, _ body: () -> Void) {
    var old = rlimit()
    let resource = __rlimit_resource_t(resource.rawValue)
    guard getrlimit(resource, &old) == 0 else { return body() }
    var new = old
    new.rlim_cur = min(rlim_t(value), old.rlim_max)
    setrlimit(resource, &new)
    body()
    setrlimit(resource, &old)
  }
}

/// How often each call was made, from whatever thread.
private final class CallCounts: @unchecked Sendable {
  private let lock = NSLock()
  private var counts: [String: Int] = [:]

  @discardableResult
  func note(_ call: String) -> Int {
    lock.lock()
    defer { lock.unlock() }
    counts[call, default: 0] += 1
    return counts[call] ?? 0
  }
  var all: [String: Int] {
    lock.lock()
    defer { lock.unlock() }
    return counts
  }
}

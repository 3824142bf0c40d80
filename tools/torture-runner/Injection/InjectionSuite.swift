import Foundation
import ReefEngine
import ReefSystem

/// The kernel itself refuses the n-th call, through a tracer: what the fault points within the engine do, done from
/// outside, so that it also meets calls that go by them.
final class InjectionSuite {
  static let suite = Suite(
    name: "injection", summary: "the n-th of each system call fails, by a tracer: a cross-check of exhaustion",
    run: { request in
      let suite = try InjectionSuite(request)
      return try suite.run()
    })

  private struct Plan {
    var call: String
    var number: Int
    var isOnDisk: Bool
  }
  private let request: Request
  private let tracer = ["/usr/bin/strace", "/bin/strace"].first { (path: String) in access(path, X_OK) == 0 }

  private init(_ request: Request) throws { self.request = request }

  private func folder(_ isOnDisk: Bool) -> String {
    isOnDisk ? Torture.diskFolder + "-injection" : request.folder + "/injection"
  }

  /// Not failing: they cannot, or it is not the engine whose calls they are. A program that gets no memory from the kernel
  /// ends in Swift's runtime, and what a thread of its own needs is the C library's.
  private static func mayFail(_ call: TraceLog.Call) -> Bool {
    switch call.name {
    case "mmap": call.line.contains("MAP_SHARED")
    case "mprotect", "munmap", "madvise": call.line.contains(", 1073741824") || call.line.contains("WIPEONFORK")
    case "openat": !call.line.contains(".so")
    case "brk", "futex", "rt_sigprocmask", "rt_sigaction", "rt_sigreturn", "sched_yield", "getpid", "gettid", "exit",
      "clock_nanosleep", "restart_syscall", "prctl", "set_robust_list", "rseq", "getuid", "geteuid", "umask",
      "clock_gettime":
      false
    default: true
    }
  }

  private static func errors(_ call: String) -> [String] {
    switch call {
    case "openat": ["EMFILE", "ENOMEM", "EIO", "EACCES"]
    case "mmap", "mprotect", "munmap", "madvise", "membarrier": ["ENOMEM"]
    case "fallocate", "ftruncate", "pwrite64", "pwritev2", "write", "mknodat", "mknod": ["ENOSPC", "EIO", "EDQUOT"]
    case "clone", "clone3": ["EAGAIN"]
    case "fcntl": ["ENOLCK", "EIO"]
    default: ["EIO", "ENOMEM"]
    }
  }

  private func run() throws -> Report {
    let outcomes = Outcome.allCases.filter { $0 != .earlier && $0 != .forged }
    var report = Report(suite: Self.suite.name, seed: "\(request.seed)", columns: ["cases"] + outcomes.map(\.name))
    guard let tracer else {
      print("NOT RUN: there is no strace; tools/setup --all installs it")
      return report
    }
    defer { for isOnDisk in [false, true] { try? FileManager.default.removeItem(atPath: folder(isOnDisk)) } }
    var plans: [Plan] = []
    for isOnDisk in [false, true] {
      let log = request.folder + "/trace"
      let (end, _) = try trace([tracer, "-f", "-qq", "-o", log], isOnDisk)
      guard end.isWell, let text = try? String(contentsOfFile: log, encoding: .utf8) else {
        print("NOT RUN: nothing can be traced here (status or signal \(end.status))")
        return report
      }
      let calls = TraceLog(text).calls
      tellUncovered(calls, isOnDisk)
      plans += calls.filter(Self.mayFail).map { Plan(call: $0.name, number: $0.number, isOnDisk: isOnDisk) }
    }
    let total = request.size.count(small: 80, night: plans.count * 2)
    var random = Mix(request.seed, 900)
    let names = Set(plans.map(\.call)).sorted()
    var rows = Dictionary(uniqueKeysWithValues: names.map { ($0, [String: Int]()) })
    for index in 0..<total {
      // Each call gets its share, however seldom it is made.
      let name = names[index % names.count]
      let plan = random.pick(plans.filter { $0.call == name })
      let error = random.pick(Self.errors(name))
      let (outcome, detail) = try inject(tracer, plan, error)
      rows[name, default: [:]]["cases", default: 0] += 1
      rows[name, default: [:]][outcome.name, default: 0] += 1
      guard outcome.isFailure else { continue }
      report.failed += 1
      report.failures.append(
        Report.Failure(
          what: "\(plan.isOnDisk ? "disk" : "memory"), \(name) \(plan.number): \(error): \(outcome.name): \(detail)",
          replay: "tools/torture injection --seed \(request.seed) --size \(total)"))
    }
    report.rows = names.map { Report.Row(name: $0, counts: rows[$0] ?? [:]) }
    return report
  }

  /// The workload under the tracer, and what it said; nil: it never began.
  private func trace(_ tracer: [String], _ isOnDisk: Bool) throws -> (ChildEnd, TracedWorkload.Result?) {
    let folder = folder(isOnDisk)
    try? FileManager.default.removeItem(atPath: folder)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: tracer[0])
    let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
    let file = request.folder + "/result"
    unlink(file)
    process.arguments =
      Array(tracer.dropFirst()) + [own, "--workload", folder + "/jobs.reef", isOnDisk ? "full" : "memory", file]
    process.standardError = FileHandle.nullDevice
    try process.run()
    guard let end = ChildEnd.of(process, wait: true) else { throw TortureError("nobody ended") }
    let data = FileManager.default.contents(atPath: file)
    return (end, data.flatMap { try? JSONDecoder().decode(TracedWorkload.Result.self, from: $0) })
  }

  private func inject(_ tracer: String, _ plan: Plan, _ error: String) throws -> (Outcome, String) {
    let what = "\(plan.call):error=\(error):when=\(plan.number)"
    let (end, result) = try trace(
      [tracer, "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=\(plan.call)", "-e", "inject=\(what)"],
      plan.isOnDisk)
    guard let result else { return (.notRun, "it never began") }
    if !end.isExit { return (end.status == SIGALRM ? .hang : .death, "signal \(end.status)") }
    if end.status != 0 { return (.wrong, "status \(end.status)") }
    if let wrong = result.wrong.first { return (.wrong, "\(wrong); after \(result.errors.prefix(3))") }
    // From here on nothing fails.
    let workload = Workload(folder(plan.isOnDisk) + "/jobs.reef", plan.isOnDisk ? .full : .memory)
    workload.goOn(from: result.possible)
    workload.verify()
    if let wrong = workload.wrong.first { return (.wrong, "\(wrong); after \(result.errors.prefix(3))") }
    return (result.errors.isEmpty ? .right : .error, result.errors.first ?? "")
  }

  /// Which calls the fault points never hear of, for people: failing them is this suite's own.
  private func tellUncovered(_ calls: [TraceLog.Call], _ isOnDisk: Bool) {
    var counts: [String: Int] = [:]
    for call in calls where Self.mayFail(call) { counts[call.name, default: 0] += 1 }
    let text = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    print("\(isOnDisk ? "disk" : "memory"): \(text)")
  }
}

import Foundation
import ReefEngine

/// What an environment broke.
struct Breakage: Error {
  var outcome: Outcome
  var detail: String
}

/// One answer of a tenant.
enum Answer: Equatable {
  case ok(Int64)
  /// A `StoreError`, in its own words.
  case error(String)

  /// Nothing is open there.
  var isClosed: Bool { self == .error("\(StoreError.closed)") }
  var value: Int64? { if case .ok(let value) = self { value } else { nil } }
  var problem: String? { if case .error(let text) = self { text } else { nil } }
}

/// A tenant as the suite sees it.
final class TenantProcess {
  let name: String
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var buffer: [UInt8] = []
  private var hasEnded = false

  /// `role`: what of this program it runs.
  init(_ name: String, _ wrapper: [String], _ role: [String] = ["--tenant"], program: String? = nil) throws {
    self.name = name
    let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
    let words = wrapper + [program ?? own] + role
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
  }

  func signal(_ signal: Int32) { kill(process.processIdentifier, signal) }

  /// Kills it, and whoever it wraps (`--kill-child`).
  func end() {
    guard !hasEnded else { return }
    hasEnded = true
    signal(SIGCONT)
    signal(SIGKILL)
    _ = ChildEnd.of(process, wait: true)
  }

  func send(_ line: String) { try? input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

  func answer(_ line: String = "", within seconds: Double = 6) throws -> Answer {
    let end = Board.now + UInt64(seconds * 1e9)
    let descriptor = output.fileHandleForReading.fileDescriptor
    while true {
      if let at = buffer.firstIndex(of: 10) {
        let text = String(decoding: buffer[..<at], as: UTF8.self)
        buffer.removeSubrange(...at)
        if text.hasPrefix("ok ") { return .ok(Int64(text.dropFirst(3)) ?? -1) }
        if text.hasPrefix("error ") { return .error(String(text.dropFirst(6))) }
        throw Breakage(outcome: .wrong, detail: "\(name), \(line): \(text)")
      }
      let now = Board.now
      guard now < end else { throw Breakage(outcome: .hang, detail: "\(name), \(line): no answer") }
      var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&wanted, 1, Int32((end - now) / 1_000_000 + 1)) > 0 else { continue }
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = read(descriptor, &bytes, bytes.count)
      guard count > 0 else {
        hasEnded = true
        let status = ChildEnd.of(process, wait: true)?.status ?? -1
        throw Breakage(outcome: .death, detail: "\(name), \(line): it ended, status or signal \(status)")
      }
      buffer += bytes[..<count]
    }
  }

  func ask(_ line: String, within seconds: Double = 6) throws -> Answer {
    send(line)
    return try answer(line, within: seconds)
  }
}

/// One environment being played: its folder, its processes, and what must be so.
final class Scene {
  let folder: String
  let store: String
  let isLong: Bool
  var random: Mix
  var explains: Bool
  private var tenants: [TenantProcess] = []
  /// Typed errors that were met where they were allowed.
  private(set) var errors: [String] = []

  init(_ folder: String, random: Mix, isLong: Bool, explains: Bool) throws {
    self.folder = folder
    self.random = random
    self.isLong = isLong
    self.explains = explains
    store = folder + "/jobs.reef"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    chmod(folder, 0o777)
  }

  /// Processes first, then files: mounts go with their name spaces.
  func end() {
    for tenant in tenants { tenant.end() }
    try? FileManager.default.removeItem(atPath: folder)
  }

  func tenant(_ name: String, _ wrapper: [String] = [], program: String? = nil) throws -> TenantProcess {
    let tenant = try TenantProcess(name, wrapper, program: program)
    tenants.append(tenant)
    return tenant
  }

  /// Whether this machine allows what the wrapper does.
  func probe(_ wrapper: [String]) -> Bool { Scene.probe(wrapper) }
  static func probe(_ wrapper: [String]) -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: wrapper[0])
    process.arguments = Array(wrapper.dropFirst()) + ["/bin/true"]
    process.standardError = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    return ChildEnd.of(process, wait: true)?.isWell ?? false
  }

  func notRun(_ why: String) -> Breakage { Breakage(outcome: .notRun, detail: why) }

  func demand(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    if !condition { throw Breakage(outcome: .wrong, detail: what()) }
  }

  /// What must succeed.
  @discardableResult
  func must(_ tenant: TenantProcess, _ line: String, within seconds: Double = 6) throws -> Int64 {
    let answer = try tenant.ask(line, within: seconds)
    if explains { print("  \(tenant.name): \(line): \(answer)") }
    guard let value = answer.value else {
      throw Breakage(outcome: .wrong, detail: "\(tenant.name), \(line): \(answer.problem ?? "")")
    }
    return value
  }

  /// What may be refused, or must be; the error names `naming`.
  @discardableResult
  func may(_ tenant: TenantProcess, _ line: String, naming: String, must: Bool = false) throws -> Int64? {
    let answer = try tenant.ask(line)
    if explains { print("  \(tenant.name): \(line): \(answer)") }
    switch answer {
    case .ok(let value):
      try demand(!must, "\(tenant.name), \(line): it was not refused")
      return value
    case .error(let text):
      errors.append(text)
      try demand(text.contains(naming), "\(tenant.name), \(line): the error does not name \(naming): \(text)")
      return nil
    }
  }

  /// Commits by turns: each finds what the other left.
  func turns(_ a: TenantProcess, _ b: TenantProcess, _ count: Int = 6) throws {
    var last = try must(a, "commit")
    for turn in 0..<count {
      let who = turn % 2 == 0 ? b : a
      let value = try must(who, "commit")
      try demand(value == last + 1, "\(who.name) made \(value) after \(last): a commit is lost")
      last = value
      let seen = try must(turn % 2 == 0 ? a : b, "read")
      try demand(seen == last, "\(seen) is read after \(last)")
    }
  }

  func mode(_ path: String) -> mode_t {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
  }

  func text(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }

  func write(_ text: String, _ path: String) throws {
    try text.write(toFile: path, atomically: false, encoding: .utf8)
  }
}

import Foundation
import Glibc
import Reef

/// Something of a size, to fill a store with.
@Model struct Ballast {
  @Key var id: Int
  var bytes: Data
}

/// Run inside a machine with several memory nodes (tools/numa-vm): proves by `move_pages` where a store's pages are, for
/// pages that another process touches first, also after growth, for each policy. One line a check, exit status 1 where
/// one failed.
@main enum NumaProbe {
  static func main() {
    let arguments = CommandLine.arguments
    do {
      if arguments.count == 5, arguments[1] == "fill", let first = Int(arguments[3]), let count = Int(arguments[4]) {
        try fill(arguments[2], first: first, count: count)
      } else {
        exit(try checkAll() ? 0 : 1)
      }
    } catch {
      print("FAILED: \(error)")
      exit(1)
    }
  }

  /// The other process: runs on the CPUs of one node, opens the store without a policy of its own, and writes.
  private static func fill(_ path: String, first: Int, count: Int) throws {
    let store = try open(path, .none)
    let bytes = Data(repeating: 7, count: 32 * 1024)
    // Several commits, so that the store grows several times.
    for from in stride(from: first, to: first + count, by: 16) {
      try store.write { transaction in
        for id in from..<min(from + 16, first + count) { try transaction.insert(Ballast(id: id, bytes: bytes)) }
      }
    }
  }

  private static func open(_ path: String, _ policy: Store.MemoryPolicy) throws -> Store {
    var configuration = Store.Configuration(location: .file(path), models: [Ballast.self], durability: .memory)
    configuration.numa = policy
    return try Store(configuration)
  }

  private static func checkAll() throws -> Bool {
    let nodes = (0..<64).filter { access("/sys/devices/system/node/node\($0)", F_OK) == 0 }
    guard nodes.count > 1, let last = nodes.last else {
      print("FAILED: one node only")
      return false
    }
    print("\(nodes.count) nodes")
    var isWell = true
    isWell =
      try check("interleave", .interleave, nodes) { share in
        nodes.allSatisfy { abs((share[$0] ?? 0) * Double(nodes.count) - 1) < 0.2 }
      } && isWell
    isWell = try check("prefer(\(last))", .prefer(last), nodes) { ($0[last] ?? 0) > 0.98 } && isWell
    isWell = try check("bind(1)", .bind(1), nodes) { ($0[1] ?? 0) > 0.98 } && isWell
    isWell = try check("prefer(0)", .prefer(0), nodes) { ($0[0] ?? 0) > 0.98 } && isWell
    // Without a policy the pages lie where their writer ran: this is what the checks above tell apart.
    isWell = try check("none", .none, nodes, growsOn: last) { ($0[last] ?? 0) > 0.6 } && isWell
    return isWell
  }

  /// Makes a store with the policy, lets one process on the last node fill it and another grow it, and counts pages.
  private static func check(
    _ title: String, _ policy: Store.MemoryPolicy, _ nodes: [Int], growsOn second: Int = 0,
    _ isRight: ([Int: Double]) -> Bool
  ) throws -> Bool {
    let path = "/dev/shm/numa-\(title.filter(\.isLetter))-\(getpid())"
    defer { for ending in ["", ".lock", ".note"] { unlink(path + ending) } }
    let store = try open(path, policy)
    var isWell = true
    for (step, node) in [("filled", nodes[nodes.count - 1]), ("grown", second)] {
      let before = try store.placement().values.reduce(0, +)
      guard run(on: node, ["fill", path, step == "filled" ? "0" : "10000", "256"]) == 0 else {
        print("FAILED: \(title): the filling process failed")
        return false
      }
      let pages = try store.placement()
      let all = pages.values.reduce(0, +)
      let share = pages.mapValues { Double($0) / Double(max(1, all)) }
      // 8 MB in each step; a step that brought no pages would prove nothing.
      let isRight = all - before > 1500 && isRight(share)
      print(
        "\(isRight ? "ok" : "FAILED"): \(title), \(step) from node \(node): \(all) pages, \(pages.sorted { $0.key < $1.key })"
      )
      isWell = isWell && isRight
    }
    return isWell
  }

  /// Runs this program again, on the CPUs of one node.
  private static func run(on node: Int, _ arguments: [String]) -> Int32 {
    var pid = pid_t()
    let command = ["numactl", "--cpunodebind=\(node)", CommandLine.arguments[0]] + arguments
    var words: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    guard posix_spawnp(&pid, "numactl", nil, nil, &words, environ) == 0 else { return -1 }
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    return status
  }
}

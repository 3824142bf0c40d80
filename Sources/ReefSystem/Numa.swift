import CNuma
import CReefSystem
import Glibc

/// Memory policies and where pages really are.
package enum Numa {
  /// Nodes that have memory this process may use. One node where the kernel knows no nodes.
  package static let nodes: [Int] = {
    var mask = [UInt](repeating: 0, count: maskWords)
    let result = mask.withUnsafeMutableBufferPointer {
      get_mempolicy(nil, $0.baseAddress, UInt(maskBits), nil, UInt32(MPOL_F_MEMS_ALLOWED))
    }
    guard result == 0 else { return [0] }
    let found = (0..<maskBits).filter { mask[$0 / 64] >> UInt($0 % 64) & 1 != 0 }
    return found.isEmpty ? [0] : found
  }()

  /// The node of the processor this thread runs on.
  package static var currentNode: Int { max(0, reef_current_node()) }

  private static let maskBits = 1024
  private static let maskWords = maskBits / 64

  /// Sets the policy of the file's range (`mbind`), also for pages that do not exist yet and other processes' faults.
  static func bind(
    _ address: UnsafeMutableRawPointer, length: Int, _ policy: NumaPolicy, path: String
  ) throws(SystemError) {
    var mode = MPOL_DEFAULT
    var members: [Int] = []
    switch policy {
    case .none: break
    case .interleave: (mode, members) = (MPOL_INTERLEAVE, nodes)
    case .prefer(let node): (mode, members) = (MPOL_PREFERRED, [node])
    case .bind(let node): (mode, members) = (MPOL_BIND, [node])
    case .local: mode = MPOL_LOCAL
    }
    var mask = [UInt](repeating: 0, count: maskWords)
    for node in members {
      guard node >= 0, node < maskBits else { throw SystemError(call: "mbind", errno: EINVAL, path: path) }
      mask[node / 64] |= 1 << UInt(node % 64)
    }
    let chosen = mode
    try systemCall("mbind", path) {
      mask.withUnsafeMutableBufferPointer {
        let result =
          members.isEmpty
          ? mbind(address, UInt(length), Int32(chosen), nil, 0, 0)
          : mbind(address, UInt(length), Int32(chosen), $0.baseAddress, UInt(maskBits + 1), 0)
        return result < 0 ? -Int(Glibc.errno) : result
      }
    }
  }

  /// Pages per node of the range's pages that are in memory; key −1: pages the kernel would not tell about.
  static func placement(_ address: UnsafeMutableRawPointer, length: Int) throws(SystemError) -> [Int: Int] {
    let page = HostIdentity.pageSize
    let stride = 4096 * page
    var counts: [Int: Int] = [:]
    var offset = 0
    while offset < length {
      let size = min(stride, length - offset)
      let resident = try Mapping.resident(address + offset, length: size)
      // move_pages knows only pages that this process has mapped; reading a hole would allocate it.
      for run in runs(resident) {
        try? Mapping.populate(address + offset + run.lowerBound * page, length: run.count * page)
      }
      var pages = resident.indices.filter { resident[$0] }.map { Optional(address + offset + $0 * page) }
      var status = [Int32](repeating: -1, count: pages.count)
      if !pages.isEmpty {
        let count = pages.count
        try systemCall("move_pages") {
          let result = move_pages(0, UInt(count), &pages, nil, &status, 0)
          return result < 0 ? -Int(Glibc.errno) : 0
        }
      }
      for node in status { counts[node < 0 ? -1 : Int(node), default: 0] += 1 }
      offset += size
    }
    return counts
  }

  private static func runs(_ flags: [Bool]) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    var start: Int?
    for index in flags.indices {
      if flags[index], start == nil { start = index }
      if !flags[index], let first = start {
        runs.append(first..<index)
        start = nil
      }
    }
    if let start { runs.append(start..<flags.count) }
    return runs
  }
}

extension MappedFile {
  /// Whether the file can carry a memory policy at all: ordinary file systems ignore it, yet report success.
  package var carriesMemoryPolicy: Bool { isTmpfs }

  /// Gives the whole reserved range its policy: what exists stays where it is, what comes obeys, whoever touches it
  /// first. Throws ENOTSUP where the file system would only pretend.
  package func apply(_ policy: NumaPolicy) throws(SystemError) {
    if policy == .none { return }
    guard carriesMemoryPolicy else { throw SystemError(call: "mbind", errno: ENOTSUP, path: path) }
    mayCollapse.store(false, ordering: .relaxed)
    try Numa.bind(base, length: reserved, policy, path: path)
  }

  /// Pages per node, of those in memory (`move_pages`).
  package func placement() throws(SystemError) -> [Int: Int] {
    let page = HostIdentity.pageSize
    return try Numa.placement(base, length: (min(size(), reserved) + page - 1) / page * page)
  }
}

import Foundation

/// Processes that fork, sleep, or live in name spaces of their own.
enum ProcessEnvironments {
  static let all: [EnvironmentSuite.Environment] = [
    ("fork without exec", { try fork($0, opens: false) }),
    ("fork, and the child opens", { try fork($0, opens: true) }),
    ("exec while open", exec),
    ("containers of processes", containers),
    ("another monotonic clock", clock),
    ("stopped, holding nothing", { try stopped($0, holding: false) }),
    ("stopped while writing", { try stopped($0, holding: true) }),
  ]

  private static func pair(_ scene: Scene, _ second: [String] = []) throws -> (TenantProcess, TenantProcess) {
    let (a, b) = (try scene.tenant("a"), try scene.tenant("b", second))
    try scene.must(a, "open \(scene.store)")
    try scene.must(b, "open \(scene.store)")
    try scene.turns(a, b)
    return (a, b)
  }

  private static func fork(_ scene: Scene, opens: Bool) throws {
    let (a, b) = try pair(scene)
    let last = try scene.must(a, "read")
    try scene.must(a, opens ? "fork \(scene.store)" : "fork")
    let next = try scene.must(b, "read")
    try scene.demand(next == last + (opens ? 1 : 0), "\(next) after \(last)")
    try scene.turns(a, b)
  }

  /// The new program has none of the old one's locks, and opens by itself.
  private static func exec(_ scene: Scene) throws {
    let (a, b) = try pair(scene)
    let last = try scene.must(a, "commit")
    try scene.must(b, "exec")
    try scene.demand(try b.ask("read").isClosed, "the store is open still")
    try scene.must(b, "open \(scene.store)")
    try scene.demand(try scene.must(b, "read") == last, "a commit is lost")
    // In the middle of a transaction: it never was.
    try scene.must(b, "hold")
    try scene.must(b, "exec")
    try scene.demand(try scene.must(a, "commit") == last + 1, "a transaction that was never committed is there")
    try scene.must(b, "open \(scene.store)")
    try scene.turns(a, b)
  }

  /// Two containers, in each of which the peer is process 1 or 2, and one outside.
  private static func containers(_ scene: Scene) throws {
    let wrapper = ["/usr/bin/unshare", "--fork", "--pid", "--mount-proc", "--kill-child"]
    guard scene.probe(wrapper) else { throw scene.notRun("process name spaces are not permitted") }
    let (outside, first) = try pair(scene, wrapper)
    let second = try scene.tenant("second container", wrapper)
    try scene.must(second, "open \(scene.store)")
    try scene.turns(first, second)
    let last = try scene.must(outside, "commit")
    // Dies as the writer; neither the other container nor the host knows its process id.
    try scene.must(first, "hold")
    first.end()
    try scene.demand(try scene.must(second, "commit") == last + 1, "the dead one's transaction is there")
    try scene.turns(outside, second)
    second.send("wait")
    usleep(30_000)
    let next = try scene.must(outside, "commit")
    try scene.demand(try second.answer("wait").value != nil, "nobody was told")
    try scene.must(outside, "hold")
    outside.end()
    try scene.demand(try scene.must(second, "commit") == next + 1, "the dead one's transaction is there")
  }

  /// Deadlines and what is told of holders must not depend on clocks agreeing.
  private static func clock(_ scene: Scene) throws {
    for offset in ["8640000", "1000"] {
      let wrapper = [
        "/usr/bin/unshare", "--fork", "--kill-child", "--time", "--monotonic", offset, "--boottime", offset,
      ]
      guard scene.probe(wrapper) else { throw scene.notRun("time name spaces are not permitted") }
      let (a, b) = try pair(scene, wrapper)
      for (waiter, other) in [(a, b), (b, a)] {
        waiter.send("wait")
        usleep(30_000)
        try scene.must(other, "commit")
        try scene.demand(try waiter.answer("wait").value != nil, "nobody was told")
        try scene.must(other, "hold")
        let began = Board.now
        try scene.may(waiter, "commit 500", naming: "tenant", must: true)
        try scene.demand(Board.now - began > 350_000_000, "it did not wait for its time")
        try scene.must(other, "release")
      }
      try scene.turns(a, b)
      a.end()
      b.end()
    }
  }

  private static func stopped(_ scene: Scene, holding: Bool) throws {
    let (a, b) = try pair(scene)
    var last = try scene.must(a, "commit")
    if holding { try scene.must(a, "hold") }
    a.signal(SIGSTOP)
    let end = Board.now + (scene.isLong ? 60_000_000_000 : 700_000_000)
    repeat {
      // A writer that is stopped keeps its turn, and is named.
      let value = try scene.may(b, "commit", naming: "tenant", must: holding)
      if let value {
        try scene.demand(value == last + 1, "\(value) after \(last)")
        last = value
      }
      try scene.demand(try scene.must(b, "read") == last, "not the newest version")
    } while Board.now < end
    a.signal(SIGCONT)
    if holding {
      try scene.demand(try scene.must(a, "release") == last + 1, "a commit is lost")
      last += 1
    }
    try scene.demand(try scene.must(a, "read") == last, "the one that was stopped sees another version")
    try scene.turns(a, b)
  }
}

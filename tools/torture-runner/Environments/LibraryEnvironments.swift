import Foundation

/// The engine more than once in a process, and builds of it that differ, side by side.
enum LibraryEnvironments {
  static let all: [EnvironmentSuite.Environment] = [
    ("two copies of the library", { try copies($0, spaces: false) }),
    ("copies in link-map spaces", { try copies($0, spaces: true) }),
    ("static and dynamic builds", staticBuild),
  ]

  /// Where this program was built.
  private static var products: URL {
    URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
  }

  /// The program's own engine and that of two plug-ins. Each is a member like any other: it writes by turns, its locks are
  /// its own, and with its closing nobody else's go.
  private static func copies(_ scene: Scene, spaces: Bool) throws {
    let library = products.appendingPathComponent("libreef-copy.so").path
    guard access(library, R_OK) == 0 else { throw scene.notRun("swift build --product reef-copy was not called") }
    let (a, b) = (try scene.tenant("a"), try scene.tenant("b"))
    for copy in ["1", "2"] {
      // The loader knows a file that it has loaded by its inode.
      let path = scene.folder + "/plugin-\(copy).so"
      try FileManager.default.copyItem(atPath: library, toPath: path)
      let answer = try a.ask("load \(copy) \(path) \(spaces ? "apart" : "")", within: 30)
      guard answer.value != nil else { throw scene.notRun("cannot be loaded: \(answer.problem ?? "")") }
    }
    let store = scene.store
    try scene.must(a, "open \(store)")
    try scene.must(a, "in 1 open \(store)")
    try scene.must(a, "in 2 open \(store)")
    try scene.must(b, "open \(store)")
    try scene.demand(try scene.must(a, "in 2 peers") == 4, "not every copy is a member of its own")
    var last: Int64 = 0
    func turns(_ who: [(TenantProcess, String)]) throws {
      for (tenant, prefix) in who + who {
        let value = try scene.must(tenant, prefix + "commit")
        try scene.demand(value == last + 1, "\(tenant.name) \(prefix)made \(value) after \(last)")
        last = value
        for (tenant, prefix) in who {
          try scene.demand(try scene.must(tenant, prefix + "read") == last, "an older version in \(prefix)")
        }
      }
    }
    try turns([(a, ""), (a, "in 1 "), (b, ""), (a, "in 2 ")])
    // A writer is waited for, by other processes and by copies in the same one.
    try scene.must(a, "in 1 hold")
    try scene.may(b, "commit 150", naming: "copy", must: true)
    try scene.may(a, "commit 150", naming: "copy", must: true)
    try scene.may(a, "in 2 commit 150", naming: "copy", must: true)
    // While a copy closes, opens and closes again, the others stay alive.
    for _ in 0..<3 {
      try scene.must(a, "in 2 close")
      try scene.may(b, "commit 150", naming: "copy", must: true)
      try scene.must(a, "in 2 open \(store)")
    }
    try scene.must(a, "close")
    try scene.may(b, "commit 150", naming: "copy", must: true)
    try scene.demand(try scene.must(a, "in 1 release") == last + 1, "a commit is lost")
    last += 1
    try scene.must(a, "open \(store)")
    try turns([(a, ""), (a, "in 1 "), (b, ""), (a, "in 2 ")])
    // The whole process dies with a copy as its writer.
    try scene.must(a, "in 2 hold")
    a.end()
    try turns([(b, "")])
    try scene.must(b, "close")
    try scene.must(b, "open \(store)")
    try turns([(b, "")])
  }

  /// Whole programs, one with Swift's libraries in itself.
  private static func staticBuild(_ scene: Scene) throws {
    // …/.build/<platform>/<configuration>
    let top = products.deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("static")
    let found = ["release", "debug"].map { top.path + "/\($0)/reef-torture" }.first { access($0, X_OK) == 0 }
    guard let program = found else {
      throw scene.notRun("tools/torture environments --size night builds it")
    }
    let other = try scene.tenant("static", [], program: program)
    let own = try scene.tenant("dynamic")
    try scene.must(other, "open \(scene.store)")
    try scene.must(own, "open \(scene.store)")
    try scene.turns(own, other)
    for (waiter, writer) in [(own, other), (other, own)] {
      waiter.send("wait")
      usleep(30_000)
      try scene.must(writer, "commit")
      try scene.demand(try waiter.answer("wait").value != nil, "nobody was told")
    }
    let last = try scene.must(own, "read")
    try scene.must(other, "hold")
    try scene.may(own, "commit 150", naming: "tenant", must: true)
    other.end()
    try scene.demand(try scene.must(own, "commit") == last + 1, "the dead one's transaction is there")
    let heir = try scene.tenant("static again", [], program: program)
    try scene.must(heir, "open \(scene.store)")
    try scene.must(own, "hold")
    own.end()
    try scene.demand(try scene.must(heir, "commit") == last + 2, "the dead one's transaction is there")
  }
}

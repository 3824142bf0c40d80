import Foundation
import ReefEngine

/// Files that are not what they were: replaced, removed, renamed, copied, or behind mounts.
enum FileEnvironments {
  static let all: [EnvironmentSuite.Environment] = [
    (".lock is a symbolic link", { try link($0, ".lock") }),
    (".note is a symbolic link", { try link($0, ".note") }),
    (".lock is a folder", { try folder($0, ".lock") }),
    (".note is a folder", { try folder($0, ".note") }),
    (".lock is garbage", { try garbage($0, ".lock") }),
    (".note is garbage", { try garbage($0, ".note") }),
    (".note cannot be made", noNote),
    (".lock deleted while open", lockDeleted),
    ("store deleted while open", { try gone($0) { unlink($0.store) } }),
    ("store renamed while open", { try gone($0) { rename($0.store, $0.store + ".old") } }),
    ("renamed store opened again", renamed),
    ("copied while written", copied),
    ("lock file of a dead boot", deadBoot),
    ("read-only bind mount", readOnlyMount),
    ("overlay file system", overlay),
  ]

  /// A closed store with some commits.
  @discardableResult
  private static func made(_ scene: Scene) throws -> Int64 {
    let maker = try scene.tenant("maker")
    try scene.must(maker, "open \(scene.store)")
    var last: Int64 = 0
    for _ in 0...scene.random.below(5) { last = try scene.must(maker, "commit") }
    try scene.must(maker, "close")
    maker.end()
    return last
  }

  /// Two open it where they may, and agree; nothing committed so far is lost.
  private static func use(_ scene: Scene, after last: Int64, refused: Bool) throws {
    let (a, b) = (try scene.tenant("a"), try scene.tenant("b"))
    let opened = try scene.may(a, "open \(scene.store)", naming: "jobs.reef", must: refused)
    let second = try scene.may(b, "open \(scene.store)", naming: "jobs.reef", must: refused)
    guard opened != nil, second != nil else { return }
    try scene.demand(try scene.must(b, "read") == last, "commits are lost")
    try scene.turns(a, b)
  }

  private static func link(_ scene: Scene, _ end: String) throws {
    let last = try made(scene)
    let target = scene.folder + "/precious"
    try scene.write("precious", target)
    for path in [target, scene.folder + "/nowhere"] {
      unlink(scene.store + end)
      try scene.demand(symlink(path, scene.store + end) == 0, "no link")
      try use(scene, after: last, refused: end == ".lock")
      try scene.demand(scene.text(target) == "precious", "the link's target was changed")
      try scene.demand(access(scene.folder + "/nowhere", F_OK) != 0, "the link's target was made")
      if end == ".note" { return }
    }
    unlink(scene.store + end)
    try use(scene, after: last, refused: false)
  }

  private static func folder(_ scene: Scene, _ end: String) throws {
    let last = try made(scene)
    unlink(scene.store + end)
    try scene.demand(mkdir(scene.store + end, 0o755) == 0, "no folder")
    try scene.write("precious", scene.store + end + "/inside")
    try use(scene, after: last, refused: end == ".lock")
    try scene.demand(scene.text(scene.store + end + "/inside") == "precious", "the folder was changed")
  }

  private static func garbage(_ scene: Scene, _ end: String) throws {
    let last = try made(scene)
    unlink(scene.store + end)
    let length = 1 + scene.random.below(300_000)
    let bytes = (0..<length).map { _ in scene.random.byte() }
    try Data(bytes).write(to: URL(fileURLWithPath: scene.store + end))
    try use(scene, after: last, refused: false)
    if end == ".note" {
      try scene.demand(FileManager.default.contents(atPath: scene.store + end) == Data(bytes), "it was changed")
    }
  }

  /// A file system without FIFOs answers as this folder does: the name cannot be had. Waiting works all the same.
  private static func noNote(_ scene: Scene) throws {
    try made(scene)
    unlink(scene.store + ".note")
    try scene.demand(mkdir(scene.store + ".note", 0) == 0, "no folder")
    defer { rmdir(scene.store + ".note") }
    let (a, b) = (try scene.tenant("a"), try scene.tenant("b"))
    try scene.must(a, "open \(scene.store)")
    try scene.must(b, "open \(scene.store)")
    a.send("wait")
    usleep(50_000)
    try scene.must(b, "commit")
    try scene.demand(try a.answer("wait").value != nil, "nobody was told")
    try scene.turns(a, b)
  }

  /// Either the second is refused, or both are in one session: never two writers that do not know of each other.
  private static func lockDeleted(_ scene: Scene) throws {
    try made(scene)
    let (a, b) = (try scene.tenant("a"), try scene.tenant("b"))
    try scene.must(a, "open \(scene.store)")
    let last = try scene.must(a, "commit")
    unlink(scene.store + ".lock")
    if try scene.may(b, "open \(scene.store)", naming: "jobs.reef") != nil { try scene.turns(a, b) }
    try scene.demand(try scene.must(a, "commit") > last, "a commit is lost")
  }

  /// Another may make a new store there or be refused; neither sees what the other writes.
  private static func gone(_ scene: Scene, _ remove: (Scene) -> Int32) throws {
    try made(scene)
    let (a, b) = (try scene.tenant("a"), try scene.tenant("b"))
    try scene.must(a, "open \(scene.store)")
    for _ in 0..<5 { try scene.must(a, "commit") }
    let last = try scene.must(a, "read")
    try scene.demand(remove(scene) == 0, "not removed")
    if try scene.may(b, "open \(scene.store)", naming: "jobs.reef") != nil {
      try scene.demand(try scene.must(b, "read") == 0, "the new store is not new")
      for turn in 1...4 {
        try scene.demand(try scene.must(b, "commit") == Int64(turn), "mixed")
        try scene.demand(try scene.must(a, "commit") == last + Int64(turn), "mixed")
      }
    } else if let value = try scene.may(a, "commit", naming: "jobs.reef") {
      try scene.demand(value == last + 1, "mixed: \(value) after \(last)")
    }
    a.end()
    // Once nobody has the old one open, the name is free.
    let c = try scene.tenant("c")
    try scene.must(c, "open \(scene.store)")
    try scene.must(c, "commit")
  }

  /// The file has a new name, and with it a new lock file: as with a hard link.
  private static func renamed(_ scene: Scene) throws {
    try made(scene)
    let (a, b) = (try scene.tenant("a"), try scene.tenant("b"))
    try scene.must(a, "open \(scene.store)")
    try scene.must(a, "commit")
    let path = scene.folder + "/moved.reef"
    try scene.demand(rename(scene.store, path) == 0, "not renamed")
    if try scene.may(b, "open \(path)", naming: "moved.reef") != nil { try scene.turns(a, b) }
  }

  /// Each copy is one version, or says what is wrong with it.
  private static func copied(_ scene: Scene) throws {
    let last = try made(scene)
    let writer = try scene.tenant("writer")
    try scene.must(writer, "open \(scene.store)")
    let time = scene.isLong ? 3000 : 600
    writer.send("spin \(time)")
    let end = Board.now + UInt64(time) * 800_000
    var number = 0
    while Board.now < end, number < 40 {
      number += 1
      let copy = scene.folder + "/copy-\(number).reef"
      _ = scene.probe(["/bin/cp", scene.store, copy])
      let reader = try scene.tenant("reader of a copy")
      if try scene.may(reader, "open \(copy)", naming: "copy-\(number).reef") != nil {
        // `read` itself demands that all rows agree.
        if let value = try scene.may(reader, "read", naming: "copy-\(number).reef") {
          try scene.demand(value >= 0 && value < 1 << 40, "\(value)")
          _ = try scene.may(reader, "commit", naming: "copy-\(number).reef")
        }
      }
      reader.end()
    }
    let made = try writer.answer("spin", within: 10).value ?? 0
    try scene.demand(made > last, "the writer was kept: \(made) after \(last)")
    try scene.demand(try scene.must(writer, "read") == made, "a commit is lost")
  }

  private static func deadBoot(_ scene: Scene) throws {
    try made(scene)
    let victim = try scene.tenant("victim")
    try scene.must(victim, "open \(scene.store)")
    let last = try scene.must(victim, "commit")
    try scene.must(victim, "hold")
    victim.end()
    let descriptor = open(scene.store + ".lock", O_RDWR | O_CLOEXEC)
    try scene.demand(descriptor >= 0, "no lock file")
    var boot: [UInt64] = [scene.random.next(), scene.random.next()]
    try scene.demand(pwrite(descriptor, &boot, 16, off_t(LockLayout.Header.boot)) == 16, "not written")
    close(descriptor)
    try use(scene, after: last, refused: false)
  }

  private static let alone = ["/usr/bin/unshare", "-m", "--propagation", "private"]

  private static func readOnlyMount(_ scene: Scene) throws {
    let view = scene.folder + "/view"
    mkdir(view, 0o755)
    let script = "mount --bind \(scene.folder) \(view) && mount -o remount,ro,bind \(view) && exec \"$0\" \"$@\""
    let wrapper = alone + ["/bin/sh", "-c", script]
    guard scene.probe(wrapper) else { throw scene.notRun("bind mounts are not permitted") }
    let last = try made(scene)
    let owner = try scene.tenant("owner")
    for isOpen in [false, true] {
      if isOpen { try scene.must(owner, "open \(scene.store)") }
      let guest = try scene.tenant("behind the mount", wrapper)
      try scene.may(guest, "open \(view)/jobs.reef", naming: "jobs.reef", must: true)
      if try scene.may(guest, "look \(view)/jobs.reef", naming: "jobs.reef") != nil {
        try scene.demand(try scene.must(guest, "read") == last, "another version")
      }
      guest.end()
    }
    try scene.demand(try scene.must(owner, "commit") == last + 1, "a commit is lost")
  }

  /// Whoever writes through an overlay writes a copy of its own: the lower store stays as it is.
  private static func overlay(_ scene: Scene) throws {
    // The upper layer must not lie within the lower one.
    let (lower, side) = (scene.folder + "/lower", scene.folder + "/side")
    for folder in [lower, side, side + "/upper", side + "/work", side + "/view"] { mkdir(folder, 0o755) }
    let layers = "lowerdir=\(lower),upperdir=\(side)/upper,workdir=\(side)/work"
    let script = "mount -t overlay overlay -o \(layers) \(side)/view && exec \"$0\" \"$@\""
    let wrapper = alone + ["/bin/sh", "-c", script]
    guard scene.probe(wrapper) else { throw scene.notRun("overlays are not permitted") }
    let below = try scene.tenant("below")
    try scene.must(below, "open \(lower)/jobs.reef")
    for _ in 0..<3 { try scene.must(below, "commit") }
    try scene.must(below, "close")
    let before = FileManager.default.contents(atPath: lower + "/jobs.reef")
    let above = try scene.tenant("above", wrapper)
    try scene.may(above, "open \(side)/view/jobs.reef", naming: "jobs.reef")
    try scene.demand(try scene.must(above, "commit") == 4, "commits are lost")
    let after = FileManager.default.contents(atPath: lower + "/jobs.reef")
    try scene.demand(before == after, "the lower layer was changed")
    try scene.must(below, "open \(lower)/jobs.reef")
    for turn in 1...3 {
      try scene.demand(try scene.must(below, "commit") == Int64(3 + turn), "mixed")
      try scene.demand(try scene.must(above, "commit") == Int64(4 + turn), "mixed")
    }
  }
}

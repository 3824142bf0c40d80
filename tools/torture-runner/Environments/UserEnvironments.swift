import Foundation

/// Other users, their masks, and folders that belong to them. Needs root, who can be anybody.
enum UserEnvironments {
  private static let other = "61001"
  private static let owner: uid_t = 61002

  static let all: [EnvironmentSuite.Environment] = [
    ("another user may read and write", { try share($0, mode: 0o666) }),
    ("another user may read only", { try share($0, mode: 0o644) }),
    ("another user may do nothing", { try share($0, mode: 0o600) }),
    ("umask 077", { try mask($0, "077", 0o600) }),
    ("umask 000", { try mask($0, "000", 0o666) }),
    ("sticky folder of another user", sticky),
  ]

  private static func needRoot(_ scene: Scene) throws {
    if geteuid() != 0 { throw scene.notRun("only root can be another user") }
  }

  private static func share(_ scene: Scene, mode: mode_t) throws {
    try needRoot(scene)
    let root = try scene.tenant("root")
    try scene.must(root, "umask 000")
    try scene.must(root, "open \(scene.store)")
    try scene.must(root, "commit")
    if mode != 0o666 {
      // The sidecars get the store's mode when a session begins.
      try scene.must(root, "close")
      chmod(scene.store, mode)
      try scene.must(root, "open \(scene.store)")
    }
    let guest = try scene.tenant("another user")
    try scene.must(guest, "as \(other)")
    let refused = mode != 0o666
    try scene.may(guest, "open \(scene.store)", naming: "jobs.reef", must: refused)
    if refused {
      try scene.may(guest, "look \(scene.store)", naming: "jobs.reef", must: mode == 0o600)
      // What could not be opened was not harmed, and does not keep others.
      let before = try scene.must(root, "read")
      try scene.demand(try scene.must(root, "commit") == before + 1, "a commit is lost")
    } else {
      try scene.turns(root, guest)
    }
    // The FIFO carries nothing, and keeps the mode it was made with.
    for end in ["", ".lock"] {
      try scene.demand(scene.mode(scene.store + end) == mode, "\(end) has another mode than \(String(mode, radix: 8))")
    }
  }

  private static func mask(_ scene: Scene, _ mask: String, _ mode: mode_t) throws {
    try needRoot(scene)
    let maker = try scene.tenant("maker")
    try scene.must(maker, "as \(owner)")
    try scene.must(maker, "umask \(mask)")
    try scene.must(maker, "open \(scene.store)")
    try scene.must(maker, "commit")
    for end in ["", ".lock", ".note"] {
      let found = scene.mode(scene.store + end)
      try scene.demand(found == mode, "jobs.reef\(end) has mode \(String(found, radix: 8))")
    }
    let guest = try scene.tenant("another user")
    try scene.must(guest, "as \(other)")
    if try scene.may(guest, "open \(scene.store)", naming: "jobs.reef", must: mode == 0o600) != nil {
      try scene.turns(maker, guest)
    }
    // Root may always, and what it makes stays the maker's.
    let root = try scene.tenant("root")
    try scene.must(root, "open \(scene.store)")
    try scene.turns(maker, root)
  }

  /// As `/tmp` is: kernels may refuse to open others' files for creating there (`fs.protected_regular`).
  private static func sticky(_ scene: Scene) throws {
    try needRoot(scene)
    let folder = scene.folder + "/sticky"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    guard chown(folder, owner, owner) == 0, chmod(folder, 0o1777) == 0 else {
      throw scene.notRun("no folder can be given away")
    }
    let store = folder + "/jobs.reef"
    let maker = try scene.tenant("maker")
    try scene.must(maker, "as \(other)")
    try scene.must(maker, "umask 000")
    try scene.must(maker, "open \(store)")
    try scene.must(maker, "commit")
    let guest = try scene.tenant("third user")
    try scene.must(guest, "as 61003")
    if try scene.may(guest, "open \(store)", naming: "jobs.reef") != nil { try scene.turns(maker, guest) }
    try scene.demand(try scene.must(maker, "commit") > 1, "a commit is lost")
  }
}

import Foundation
import ReefEngine
import ReefSystem
import Testing

/// Files that are not what they should be: a typed error or a clean rebuild, never a trap.
@Suite struct HostileTests {
  private func open(_ store: TestStore) throws -> (Session, built: Bool) {
    var built = false
    var options = Session.Options(location: .file(store.path))
    options.openTimeout = .seconds(2)
    let session = try Session.open(options) { building throws(StoreError) in
      built = true
      if building.isNew { try writeMark(building) }
    }
    return (session, built)
  }

  /// Whatever lies in the lock file of a store that nobody has open, it is rebuilt.
  @Test func garbageLockFile() throws {
    for size in [0, 1, 100, 4096, LockLayout.initialSize, LockLayout.initialSize + 70_000] {
      let store = try TestStore(inMemory: false)
      try open(store).0.leave()
      let garbage = Data((0..<size).map { _ in UInt8.random(in: 0...255) })
      try garbage.write(to: URL(fileURLWithPath: store.path + ".lock"))
      let (session, built) = try open(store)
      #expect(built)
      #expect(session.newestVersion == 0)
      #expect(session.writer.tryAcquire())
      session.releaseWriter()
      session.leave()
    }
  }

  @Test func otherLayoutInUse() throws {
    let store = try TestStore(inMemory: false)
    let other = try store.peer("other")
    #expect(other.reply() == "built")
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: store.path + ".lock"))
    try handle.seek(toOffset: UInt64(LockLayout.Header.layoutHash))
    try handle.write(contentsOf: Data([1, 2, 3, 4, 5, 6, 7, 8]))
    #expect(
      throws: StoreError.lockLayout(
        path: try File.canonicalPath(store.path), found: 0x0807_0605_0403_0201, expected: LockLayout.layoutHash)
    ) { try open(store) }
    other.die()
    let (session, built) = try open(store)
    #expect(built)
    session.leave()
  }

  @Test func replacedDataFile() throws {
    let store = try TestStore(inMemory: false)
    let other = try store.peer("other")
    #expect(other.reply() == "built")
    try FileManager.default.moveItem(atPath: store.path, toPath: store.path + ".old")
    let path = try File.canonicalPath(store.folder) + "/jobs.reef"
    #expect(throws: StoreError.replaced(path: path)) { try openExisting(store.path) }
    try FileManager.default.copyItem(atPath: store.path + ".old", toPath: store.path)
    #expect(throws: StoreError.replaced(path: path)) { try openExisting(store.path) }
    other.die()
    try open(store).0.leave()
  }

  /// With the lock file gone, or the store under a new name, the next one would be alone in a session of its own.
  @Test func secondSessionOfOneFile() throws {
    for isRenamed in [false, true] {
      let store = try TestStore(inMemory: false)
      let other = try store.peer("other")
      #expect(other.reply() == "built")
      let name = isRenamed ? "moved.reef" : "jobs.reef"
      if isRenamed {
        try FileManager.default.moveItem(atPath: store.path, toPath: store.folder + "/" + name)
      } else {
        try FileManager.default.removeItem(atPath: store.path + ".lock")
      }
      let path = try File.canonicalPath(store.folder) + "/" + name
      #expect(throws: StoreError.replaced(path: path)) { try openExisting(store.folder + "/" + name) }
      #expect(other.ask("publish") == "published 1")
      other.die()
      try openExisting(store.folder + "/" + name)
    }
  }

  private func openExisting(_ path: String) throws {
    try Session.open(.init(location: .file(path))) { _ throws(StoreError) in }.leave()
  }

  @Test func foreignFiles() throws {
    let store = try TestStore(inMemory: false)
    try Data("this is a letter, not a store".utf8).write(to: URL(fileURLWithPath: store.path))
    #expect(throws: StoreError.self) { try open(store) }
    #expect(store.left == [store.path])
    try FileManager.default.removeItem(atPath: store.path)
    try FileManager.default.createDirectory(atPath: store.path, withIntermediateDirectories: false)
    #expect(throws: StoreError.self) { try open(store) }
    try FileManager.default.removeItem(atPath: store.path)
    #expect(throws: StoreError.notFound(path: store.folder + "/none")) {
      try openExisting(store.folder + "/none/jobs.reef")
    }
    var options = Session.Options(location: .file(store.path))
    options.create = false
    #expect(throws: StoreError.self) { try Session.open(options) { _ throws(StoreError) in } }
    #expect(store.left.isEmpty)
  }

  @Test func linksAreRefused() throws {
    let store = try TestStore(inMemory: false)
    try open(store).0.leave()
    try FileManager.default.linkItem(atPath: store.path, toPath: store.folder + "/second.reef")
    #expect(throws: StoreError.self) { try open(store) }
    try FileManager.default.removeItem(atPath: store.folder + "/second.reef")
    try FileManager.default.removeItem(atPath: store.path + ".lock")
    try FileManager.default.createSymbolicLink(
      atPath: store.path + ".lock", withDestinationPath: store.folder + "/elsewhere")
    #expect(throws: StoreError.permission(path: try File.canonicalPath(store.path), reason: "it is a symbolic link")) {
      try open(store)
    }
    #expect(!FileManager.default.fileExists(atPath: store.folder + "/elsewhere"))
  }

  /// Every call of opening fails once: a typed error, nothing left half made, and the next attempt succeeds.
  @Test(arguments: [
    "openat", "fallocate", "mmap", "fstat", "fstatat", "fcntl(F_OFD_SETLK)", "madvise(MADV_WIPEONFORK)",
    "madvise(MADV_DONTFORK)", "fcntl(F_OFD_GETLK)",
  ])
  func eachCallFails(call: String) throws {
    for inMemory in [true, false] {
      for count in 1...6 {
        let store = try TestStore(inMemory: inMemory)
        let peer = try store.peer("unlucky", environment: ["REEF_FAULT": "\(call):\(count):ENOSPC"])
        let reply = peer.reply() ?? "nothing"
        if reply.hasPrefix("error") {
          #expect(reply == "error outOfSpace" || reply == "error peersFull", "\(call) \(count): \(reply)")
          #expect(store.left.filter { $0.hasSuffix(".reef") }.isEmpty || !inMemory)
          #expect(peer.ask("open \(store.spec) again")?.hasPrefix("error") == false)
        }
        #expect(peer.ask("publish") == "published 1")
        #expect(peer.ask("leave") == "left")
        #expect(peer.finish() == 0)
      }
    }
  }

  /// A really full tmpfs: a typed error, no signal, and success once there is room.
  @Test(.enabled(if: geteuid() == 0, "needs the right to mount a small tmpfs")) func fullTmpfs() throws {
    let store = try TestStore(inMemory: false)
    let mounted = Process()
    mounted.executableURL = URL(fileURLWithPath: "/usr/bin/mount")
    mounted.arguments = ["-t", "tmpfs", "-o", "size=1m", "tmpfs", store.folder]
    try mounted.run()
    mounted.waitUntilExit()
    guard mounted.terminationStatus == 0 else { return }
    defer { umount2(store.folder, Int32(MNT_DETACH)) }
    let ballast = store.folder + "/ballast"
    try Data(count: 900_000).write(to: URL(fileURLWithPath: ballast))
    let peer = try store.peer("peer")
    #expect(peer.reply() == "error outOfSpace")
    #expect(try FileManager.default.contentsOfDirectory(atPath: store.folder) == ["ballast"])
    try FileManager.default.removeItem(atPath: ballast)
    #expect(peer.ask("open \(store.spec) peer") == "built")
    #expect(peer.ask("publish") == "published 1")
    peer.die()
  }

  /// Little address space: a smaller reservation, not a failure.
  @Test func limitedAddressSpace() throws {
    let store = try TestStore()
    let shell = ["/bin/sh", "-c", "ulimit -v 4000000; exec \"$0\""]
    let peer = try store.peer("small", wrapper: shell)
    #expect(peer.reply() == "built")
    let reserved = Int(peer.ask("reserved")?.split(separator: " ").last ?? "") ?? 0
    #expect(reserved >= MappedFile.smallestReservation && reserved <= 1 << 32)
    #expect(peer.ask("publish") == "published 1")
  }
}

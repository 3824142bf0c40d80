import Foundation

/// A file system of a few megabytes, seen by this process alone and gone with it, however it ends.
final class SmallFileSystem {
  enum Kind { case tmpfs, ext4 }
  struct NotPermitted: Error { let why: String }

  let path: String
  private var filler: String { path + "/filler" }
  private static let size = 24 << 20

  /// `inodes`: so many files, and no more.
  init(_ kind: Kind, at path: String, inodes: Int? = nil) throws {
    self.path = path
    if let problem = SmallFileSystem.problem { throw NotPermitted(why: problem) }
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    switch kind {
    case .tmpfs:
      // One inode is the folder's.
      let options = "size=\(SmallFileSystem.size)" + (inodes.map { ",nr_inodes=\($0 + 1)" } ?? "")
      guard mount("tmpfs", path, "tmpfs", 0, options) == 0 else {
        throw NotPermitted(why: "a tmpfs cannot be mounted: \(String(cString: strerror(errno)))")
      }
    case .ext4:
      let image = path + ".image"
      let maker = "/sbin/mke2fs"
      guard access(maker, X_OK) == 0 else { throw NotPermitted(why: "there is no \(maker)") }
      _ = FileManager.default.createFile(atPath: image, contents: nil)
      guard truncate(image, off_t(SmallFileSystem.size)) == 0,
        SmallFileSystem.run([maker, "-q", "-F", "-t", "ext4", "-b", "4096", "-m", "0", image]),
        SmallFileSystem.run(["/bin/mount", "-o", "loop", image, path])
      else { throw NotPermitted(why: "no ext4 can be made and mounted") }
    }
  }

  /// As many files as one likes.
  func liftLimit() { _ = mount("tmpfs", path, "tmpfs", 32, "size=\(SmallFileSystem.size),nr_inodes=1000") }

  deinit { umount2(path, 2) }

  /// Its mounts are this process's alone: nothing stays where it is killed. Nil: they are.
  private static let problem: String? = {
    guard unshare(0x20000) == 0 else { return "mounts of its own are not permitted" }
    // MS_REC and MS_PRIVATE: what is mounted here is mounted nowhere else.
    return mount("none", "/", nil, 0x4000 | 0x40000, nil) == 0 ? nil : "mounts cannot be made private"
  }()

  private static func run(_ words: [String]) -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    process.standardError = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    return ChildEnd.of(process, wait: true)?.isWell ?? false
  }

  /// As if nothing had ever been there.
  func clear() {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] where name != "lost+found" {
      unlink(path + "/" + name)
    }
  }

  var freePages: Int {
    var state = statvfs()
    return statvfs(path, &state) == 0 ? Int(state.f_bavail) * Int(state.f_frsize) / 4096 : 0
  }

  /// Leaves so many pages, or as near to that as its own records allow.
  func fill(leaving pages: Int) {
    let descriptor = open(filler, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var size = stat()
    fstat(descriptor, &size)
    var end = Int(size.st_size)
    var step = freePages - pages
    while step > 0, freePages > pages {
      if posix_fallocate(descriptor, off_t(end), off_t(step * 4096)) == 0 {
        end += step * 4096
        step = min(step, freePages - pages)
      } else {
        step /= 2
      }
    }
  }

  func makeRoom() { unlink(filler) }
}

/// `unshare`, which the module does not have.
@_silgen_name("unshare") private func unshare(_ flags: Int32) -> Int32

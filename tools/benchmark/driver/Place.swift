import CBench
import Foundation

/// Where stores lie: shared memory, and a disk. Both folders go when the driver ends.
struct Place {
  let memory: String
  let disk: String

  static func make() -> Place {
    let own = "reef-bench-\(getpid())"
    guard bench_is_tmpfs("/dev/shm") == 1 else { fail("/dev/shm is not a tmpfs: there is no memory to measure in") }
    let beside = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path
    let candidates = [ProcessInfo.processInfo.environment["TMPDIR"], beside, "/var/tmp"].compactMap { $0 }
    guard
      let disk = candidates.first(where: { bench_is_tmpfs($0) == 0 && FileManager.default.isWritableFile(atPath: $0) })
    else { fail("no folder on a disk is writable (tried \(candidates.joined(separator: ", "))): set TMPDIR") }
    let place = Place(memory: "/dev/shm/\(own)", disk: "\(disk)/\(own)")
    for folder in ["/dev/shm", disk] { removeLeftovers(in: folder) }
    for folder in [place.memory, place.disk] {
      foldersToRemove.append(folder)
      do {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      } catch { fail("cannot make \(folder): \(error)") }
    }
    return place
  }

  /// Folders of drivers that were killed: gigabytes of memory that nobody would give back.
  private static func removeLeftovers(in folder: String) {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] where name.hasPrefix("reef-bench-")
    {
      guard let owner = Int32(name.dropFirst("reef-bench-".count)), kill(owner, 0) != 0, errno == ESRCH else {
        continue
      }
      try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
    }
  }
}

/// How loud the machine is, from the kernel's own accounts.
struct Loudness {
  private static func times() -> (idle: Double, all: Double) {
    let text = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8)) ?? ""
    let numbers = text.prefix(while: { $0 != "\n" }).split(separator: " ").dropFirst().prefix(8).compactMap {
      Double($0)
    }
    guard numbers.count == 8 else { return (0, 1) }
    return (numbers[3] + numbers[4], numbers.reduce(0, +))
  }

  /// The share of all processors' time that was spent, 0…1, over the given time.
  static func measure(milliseconds: Int64 = 200) -> Double {
    let before = times()
    _ = bench_milli_sleep(milliseconds)
    let after = times()
    return 1 - (after.idle - before.idle) / max(1, after.all - before.all)
  }

  /// Waits for a moment with less than 15 % in use, at most `patience` seconds; returns how loud it was then.
  static func waitForQuiet(patience: Double) -> Double {
    let start = bench_now()
    var last = measure()
    while last > 0.15 && Double(bench_now() - start) < patience * 1e9 { last = measure() }
    return last
  }
}

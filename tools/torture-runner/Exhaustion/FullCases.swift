import Foundation
import ReefEngine

/// Cases in which the store's own file system has no room: for any of its three files, at any moment.
final class FullCases {
  private let folder: String
  /// Of the case under way, where it has one of its own.
  private var current: SmallFileSystem?
  private var small: [SmallFileSystem.Kind: SmallFileSystem] = [:]

  init(_ folder: String) { self.folder = folder }

  /// Mounted once for all cases of a process.
  private func fileSystem(_ kind: SmallFileSystem.Kind) throws -> SmallFileSystem {
    let found = try small[kind] ?? SmallFileSystem(kind, at: folder + "/full-\(kind)")
    small[kind] = found
    found.clear()
    return found
  }

  /// Full from the start, or from some commit on, or just before the store is closed; now and then there is room again.
  func full(_ kind: SmallFileSystem.Kind, _ random: inout Mix) throws -> (Workload, said: String) {
    let disk = try fileSystem(kind)
    let workload = Workload(disk.path + "/jobs.reef", random.chance(4) ? .memory : .full)
    // Near to nothing, where each file fails by itself; or anywhere up to what the workload needs.
    let pages = random.chance(2) ? random.below(220) : random.below(1600)
    let from = random.chance(3) ? 0 : random.below(workload.moments)
    let until = random.chance(3) ? from + 1 + random.below(workload.moments) : .max
    if from == 0 { disk.fill(leaving: pages) }
    workload.passing = { moment in
      if moment == from { disk.fill(leaving: pages) }
      if moment == until { disk.makeRoom() }
    }
    workload.run()
    workload.passing = nil
    disk.makeRoom()
    demandRoomErrors(workload, disk)
    let end = until == .max ? "" : " to \(until)"
    return (workload, "\(kind), \(workload.durability), \(pages) pages left from moment \(from)\(end)")
  }

  /// The lock file comes first, then the data file, then the FIFO, without which a store works.
  func inodes(_ random: inout Mix) throws -> (Workload, said: String) {
    let count = random.below(5)
    current = nil
    let disk = try SmallFileSystem(.tmpfs, at: folder + "/inodes", inodes: count)
    current = disk
    let workload = Workload(disk.path + "/jobs.reef", random.chance(2) ? .memory : .full)
    workload.run()
    demandRoomErrors(workload, disk)
    let worked = workload.errors.isEmpty
    if worked != (count >= 2) { workload.complain("with \(count) files: \(workload.errors)") }
    if count < 2 {
      for end in ["", ".lock", ".note"] where access(workload.path + end, F_OK) == 0 {
        workload.complain("\(end) was left behind")
      }
    } else if (access(workload.path + ".note", F_OK) == 0) != (count >= 3) {
      workload.complain("the FIFO, \(count) files")
    }
    disk.liftLimit()
    return (workload, "\(count) files")
  }

  /// The data file has room in itself, the file system has none, and the list of blocks that wait for a reader must grow.
  func lockFileAlone(_ random: inout Mix) throws -> (Workload, said: String) {
    let disk = try fileSystem(random.chance(3) ? .ext4 : .tmpfs)
    let workload = Workload(disk.path + "/jobs.reef", .memory)
    let pages = random.below(16)
    let leaked = workload.runHolding { disk.fill(leaving: pages) }
    disk.makeRoom()
    demandRoomErrors(workload, disk)
    if leaked == 0, workload.errors.isEmpty { workload.complain("the lock file never had to grow") }
    return (workload, "\(pages) pages left, \(leaked) blocks leaked")
  }

  /// Nothing but room may be missing, and the error says where.
  private func demandRoomErrors(_ workload: Workload, _ disk: SmallFileSystem) {
    for error in workload.errors {
      if case .outOfSpace(let path, _) = error, path.hasPrefix(disk.path) { continue }
      workload.complain("an error that does not say what is missing: \(error)")
    }
  }
}

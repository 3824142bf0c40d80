import Glibc
import ReefSystem

extension StoreError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .busy(let holder?):
      "\(holder) is writing and was not done in time. Wait longer, or look at what that process does: a stopped or "
        + "suspended process keeps its turn until it goes on or ends."
    case .busy(nil):
      "Another process is opening or repairing the store and was not done in time. Try again, with a longer time limit."
    case .timeout: "Nothing happened before the time limit. Try again, or wait longer."
    case .cancelled: "The waiting task was cancelled."
    case .outOfSpace(let path, let needed):
      "The file system of \(path) has no room for \(needed) more bytes. Nothing was changed. Free space there, or delete "
        + "objects: deleting works on a full disk."
    case .storeFull(let path, let limit):
      "\(path) cannot grow beyond \(limit) bytes. Delete objects, or raise the limits of the process "
        + "on address space and file sizes (ulimit -v, -f)."
    case .slotsFull(let holders):
      "All reader slots are taken. End some of the snapshots held by "
        + holders.map(\.description).joined(separator: ", ") + "."
    case .retentionLimit(let path, let holder, let limit):
      "\(holder.map(\.description) ?? "A reader") keeps an old version of \(path) alive, beyond the limit of \(limit). End "
        + "its snapshots or that process, or raise the limit; a reader opened with the policy `revoke` can be cut off."
    case .snapshotRevoked(let version):
      "The snapshot of version \(version) was kept for too long, and a writer took its space back. Take a new snapshot."
    case .peersFull(let limit):
      "\(limit) processes have the store open, which is the most it admits. Close it in one of them."
    case .notFound(let path):
      "There is no store at \(path). Check the path, whose folder must be there, or let the store be created."
    case .notAStore(let path, let reason):
      "\(path) is not a Reef store: \(reason). Check the path; the file was not touched."
    case .formatVersion(let path, let found, let supported):
      "\(path) has format \(found), this version of Reef reads format \(supported). Use the version of Reef that wrote it."
    case .lockLayout(let path, let found, let expected):
      "Processes with another version of Reef have \(path) open (layout \(hex(found)), this one has \(hex(expected))). "
        + "Close it in all of them, then open it again."
    case .replaced(let path):
      "\(path) or its lock file was renamed, removed or replaced while processes had it open. Close the store in all of "
        + "them, then open it again; copy a live store with its own copy function only."
    case .permission(let path, let reason):
      "\(path) cannot be used: \(reason). Whoever opens a store needs to read and write its files."
    case .networkFileSystem(let path, let kind):
      "\(path) lies on a network file system (\(kind)), where processes of several hosts could damage it. Move it to a "
        + "local disk."
    case .policyUnsupported(let path, let reason):
      "The memory policy cannot be applied to \(path): \(reason). Keep the store in memory (/dev/shm), or choose none."
    case .schemaMismatch(let reason):
      "The declared types do not fit the stored ones: \(reason) Adapt the declaration, or copy the objects to a new store."
    case .damaged(let path, let what):
      "\(path) is damaged: \(what). Restore it from a copy; what can still be read can be dumped."
    case .poisoned(let path):
      "Writing \(path) to disk failed, so nobody may write to it any more. Check the disk; close the store in every "
        + "process, then open it again: it will be repaired."
    case .duplicateKey(let type, let key):
      "There is already an object of type \(type) with the key \(key). Update it, or use upsert."
    case .noSuchObject(let type, let key):
      "There is no object of type \(type) with the key \(key). It may have been deleted meanwhile."
    case .noSuchVersion(let version):
      "Version \(version) is no longer there. Start again from a fresh snapshot."
    case .invalidArgument(let reason): reason
    case .readOnly(let path): "\(path) was opened for reading only. Open it for writing."
    case .usedAfterFork:
      "The store was opened before fork() and cannot be used in the child. Open it again there."
    case .closed: "The store was closed. Open it again."
    case .system(let call, let errno, let path):
      "\(SystemError(call: call, errno: errno, path: path)). This is a failure of the system, see \(call)(2)."
    }
  }

  private func hex(_ word: UInt64) -> String { "0x" + String(word, radix: 16) }
}

extension StoreError {
  /// The typed form of a failed system call on a store's file. `needed`: how many bytes were asked for.
  package init(_ error: SystemError, path: String, needed: Int = 0) {
    let path = error.path?.hasPrefix("/") == true ? error.path ?? path : path
    if error.isOutOfSpace {
      self = .outOfSpace(path: path, needed: needed)
    } else if error.errno == EFBIG {
      self = .storeFull(path: path, limit: File.sizeLimit < .max ? File.sizeLimit : needed)
    } else if error.isPermission || error.errno == ELOOP {
      self = .permission(path: path, reason: error.errno == ELOOP ? "it is a symbolic link" : error.description)
    } else if error.errno == ENOENT || error.errno == ENOTDIR {
      self = .notFound(path: path)
    } else {
      self = .system(call: error.call, errno: error.errno, path: path)
    }
  }
}

/// Runs `body`, turning a failed system call into its typed form.
@inline(__always)
package func storing<Result>(
  _ path: @autoclosure () -> String, needed: Int = 0, _ body: () throws(SystemError) -> Result
) throws(StoreError) -> Result {
  do { return try body() } catch { throw StoreError(error, path: path(), needed: needed) }
}

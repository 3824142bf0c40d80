import Glibc
import ReefSystem

/// Where a store's three files lie: a directory, held by descriptor, and their names in it.
package final class StorePlace: Sendable {
  package let path: String
  let directory: Int32
  let name: String
  var lockName: String { name + ".lock" }
  var noteName: String { name + ".note" }
  package let isInMemory: Bool

  /// Resolves symbolic links first, so that one store has one place for its sidecars.
  init(_ location: Session.Location) throws(StoreError) {
    let wanted: String
    switch location {
    case .memory(let name):
      wanted = "/dev/shm/" + (try StorePlace.memoryName(name))
      isInMemory = true
    case .file(let path):
      wanted = path
      isInMemory = false
    }
    let (folder, name) = try StorePlace.resolve(wanted)
    guard !name.isEmpty, name != ".", name != "..", name.utf8.count <= 250 else {
      throw .invalidArgument("\(wanted) is not a path of a file, or its name is longer than 250 bytes.")
    }
    directory = try storing(folder) { () throws(SystemError) in
      try File.open(folder, .readOnly, .directory | .followLinks)
    }
    self.name = name
    path = folder == "/" ? "/" + name : folder + "/" + name
  }

  deinit { File.close(directory) }

  private static func resolve(_ path: String) throws(StoreError) -> (folder: String, name: String) {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw .invalidArgument("The path of a store must not be empty.")
    }
    let real = (try? File.canonicalPath(path)) ?? ""
    if !real.isEmpty { return split(real) }
    let (folder, name) = split(path)
    return (try storing(folder) { () throws(SystemError) in try File.canonicalPath(folder) }, name)
  }

  private static func split(_ path: String) -> (folder: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path) }
    let folder = path[..<slash]
    return (folder.isEmpty ? "/" : String(folder), String(path[path.index(after: slash)...]))
  }

  /// `reef-<user>-<name>.reef`, with everything that is not a plain letter or digit of `name` percent-encoded.
  private static func memoryName(_ name: String) throws(StoreError) -> String {
    guard !name.isEmpty else { throw .invalidArgument("The name of a store in memory must not be empty.") }
    var encoded = ""
    for byte in name.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let hex = String(byte, radix: 16, uppercase: true)
        encoded += "%" + (hex.count == 1 ? "0" + hex : hex)
      }
    }
    return "reef-\(HostIdentity.user)-\(encoded).reef"
  }

  func status(of name: String) throws(StoreError) -> FileStatus? {
    try storing(path) { () throws(SystemError) in try File.status(of: name, in: directory) }
  }

  /// Removes the files; the lock file last, so that whoever finds it missing finds everything missing.
  func removeAll() {
    try? File.unlink(name, in: directory)
    FaultPoint.step("leave.dataRemoved")
    try? File.unlink(noteName, in: directory)
    try? File.unlink(lockName, in: directory)
  }
}

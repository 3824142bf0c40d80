import CReefSystem
import Glibc

/// What `fstat` says about a file.
package struct FileStatus: Sendable {
  package enum Kind: Sendable { case regular, fifo, directory, link, other }
  package let kind: Kind
  package let identity: FileIdentity
  package let size: Int
  package let links: Int
  package let mode: UInt32
  package let owner: UInt32
  package let group: UInt32
  /// Bytes of storage it occupies.
  package let occupied: Int

  package var isRegular: Bool {
    if case .regular = kind { true } else { false }
  }

  init(_ status: reef_status) {
    kind =
      status.isRegular
      ? .regular : status.isFIFO ? .fifo : status.isDirectory ? .directory : status.isLink ? .link : .other
    identity = FileIdentity(device: status.device, inode: status.inode)
    size = Int(status.size)
    links = Int(truncatingIfNeeded: status.links)
    mode = status.mode
    owner = status.owner
    group = status.group
    occupied = Int(status.blocks) &* 512
  }
}

/// Which file it is, by whatever path it was reached.
package struct FileIdentity: Hashable, Sendable {
  package let device: UInt64
  package let inode: UInt64
  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }
}

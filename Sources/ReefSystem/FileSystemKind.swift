import CReefSystem

/// What kind of file system a file lies on, as far as a store must know.
package enum FileSystemKind: Sendable, Equatable {
  /// tmpfs, memfd and hugetlbfs: nothing to sync, and the file itself carries a memory policy.
  case memory
  case local
  /// Another host may change the file behind this one's page cache: locks and mappings cannot be relied upon.
  case network(String)

  package static func of(_ descriptor: Int32) throws(SystemError) -> FileSystemKind {
    let magic = try systemCall("fstatfs") { reef_statfs_magic(descriptor) }
    if memoryMagics.contains(magic) { return .memory }
    if let name = networkMagics[magic] { return .network(name) }
    return .local
  }

  private static let memoryMagics: Set<Int> = [0x0102_1994, 0x9584_58f6, 0x8584_58f6]

  private static let networkMagics: [Int: String] = [
    0x6969: "NFS", 0x517b: "SMB", 0xff53_4d42: "CIFS", 0xfe53_4d42: "SMB", 0x5346_414f: "AFS", 0x6b41_4653: "AFS",
    0x7375_7245: "Coda", 0x564c: "NCP", 0x0102_1997: "9P", 0x00c3_6400: "Ceph", 0x6573_5546: "FUSE",
    0x4750_4653: "GPFS", 0x0bd0_0bd0: "Lustre", 0x7461_636f: "OCFS2", 0x0116_1970: "GFS2", 0x2003_0528: "OrangeFS",
    0x1983_0326: "BeeGFS",
  ]
}

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
    return kind(magic)
  }

  // Switches, not tables: the first use of a `Set` or `Dictionary` of some type costs an opening process 50 µs.
  private static func kind(_ magic: Int) -> FileSystemKind {
    switch magic {
    case 0x0102_1994, 0x9584_58f6, 0x8584_58f6: .memory
    case 0x6969: .network("NFS")
    case 0x517b, 0xfe53_4d42: .network("SMB")
    case 0xff53_4d42: .network("CIFS")
    case 0x5346_414f, 0x6b41_4653: .network("AFS")
    case 0x7375_7245: .network("Coda")
    case 0x564c: .network("NCP")
    case 0x0102_1997: .network("9P")
    case 0x00c3_6400: .network("Ceph")
    case 0x6573_5546: .network("FUSE")
    case 0x4750_4653: .network("GPFS")
    case 0x0bd0_0bd0: .network("Lustre")
    case 0x7461_636f: .network("OCFS2")
    case 0x0116_1970: .network("GFS2")
    case 0x2003_0528: .network("OrangeFS")
    case 0x1983_0326: .network("BeeGFS")
    default: .local
    }
  }
}

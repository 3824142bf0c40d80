import Glibc

extension UnsafeMutableRawPointer {
  /// Stores zeros. See `memset`.
  @inline(__always)
  package func zero(_ count: Int) { memset(self, 0, count) }

  /// Makes the range zero, and writes only to the pages that are not: a page that is zeros already costs a look instead
  /// of a fault for writing.
  package func clear(_ count: Int) {
    var offset = 0
    while offset < count {
      let page = self + offset
      let length = min(HostIdentity.pageSize, count - offset)
      let isZero =
        length > 8 && page.load(as: UInt64.self) == 0 && memcmp(page, page + 8, length - 8) == 0
      if !isZero { page.zero(length) }
      offset += length
    }
  }
}

import Glibc

extension UnsafeMutableRawPointer {
  /// Stores zeros. See `memset`.
  @inline(__always)
  package func zero(_ count: Int) { memset(self, 0, count) }
}

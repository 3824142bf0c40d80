#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Order of two byte strings: unsigned bytes, then length. Below, at, or above 0.
package func orderOfBytes(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
  let common = min(a.count, b.count)
  if common > 0, let x = a.baseAddress, let y = b.baseAddress {
    let order = memcmp(x, y, common)
    if order != 0 { return Int(order) }
  }
  return a.count < b.count ? -1 : a.count > b.count ? 1 : 0
}

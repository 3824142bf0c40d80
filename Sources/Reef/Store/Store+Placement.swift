extension Store {
  /// Where the store's pages lie on a machine with several memory nodes: pages in memory, by node.
  ///
  /// This is what the kernel says of each page, not what ``Configuration/numa`` asks for. Pages that it does not tell about
  /// are counted under −1. The whole file is looked at: milliseconds for each gigabyte.
  ///
  /// ```swift
  /// let pages = try store.placement()  // [0: 4096, 1: 4100]
  /// ```
  public func placement() throws(StoreError) -> [Int: Int] { try engine.placement() }
}

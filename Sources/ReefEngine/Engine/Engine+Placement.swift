import ReefSystem

extension Engine {
  /// Pages of the data file per memory node, of those that are in memory, as the kernel tells (`move_pages`).
  package func placement() throws(StoreError) -> [Int: Int] {
    try session.checkUsable()
    let data = session.data
    return try storing(session.path) { () throws(SystemError) in try data.placement() }
  }
}

/// Where an index node's child entries lie.
enum IndexNodeChildren {
  static func place(_ node: UnsafeRawPointer) -> (offset: Int, count: Int)? { nil }
}

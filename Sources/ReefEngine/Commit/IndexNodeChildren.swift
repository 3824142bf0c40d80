/// Where an index node's child entries lie.
enum IndexNodeChildren {
  static func place(_ node: UnsafeRawPointer) -> (offset: Int, count: Int)? {
    guard let shape = IndexShape(node, head: node.load(as: UInt64.self)), !shape.isLeaf else { return nil }
    return (shape.children, shape.count &+ 1)
  }
}

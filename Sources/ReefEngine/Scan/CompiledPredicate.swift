/// A condition made ready for one type: compile once, ask often, from any thread.
package final class CompiledPredicate: Sendable {
  let node: PredicateNode
  /// Columns that it reads, of the first 64.
  let prefetched: UInt64
  /// Keys outside of these cannot match: scans walk only the leaves that hold them.
  package let keyRanges: KeyRanges
  /// Indexes that can be asked for candidates.
  let accesses: [IndexAccess]
  /// Whether every object matches.
  package let isAlwaysTrue: Bool

  /// Throws `invalidArgument` where a constant is not of the property's kind.
  package init(_ predicate: Predicate, for schema: TypeSchema) throws(StoreError) {
    node = try PredicateCompiler(schema: schema).compile(predicate)
    keyRanges = node.keyRanges
    accesses = IndexAccess.all(predicate, for: schema)
    prefetched = node.columns.reduce(0) { $0 | ($1 < 64 ? 1 << UInt64($1) : 0) }
    isAlwaysTrue = (node as? ConstantNode)?.answer ?? false
  }

  /// The rows of a leaf that match.
  package func select(_ leaf: LeafView) throws(StoreError) -> Selection {
    try node.select(leaf, Selection(count: leaf.count))
  }

  /// Whether one row matches.
  package func matches(_ leaf: LeafView, _ row: Int) throws(StoreError) -> Bool { try node.matches(leaf, row) }

  package func matches(_ position: RowPosition) throws(StoreError) -> Bool {
    try node.matches(position.leaf, position.row)
  }
}

/// On which memory nodes of the machine a store's pages are placed.
///
/// Only files in memory (tmpfs, memfd, hugetlbfs) carry such a policy; elsewhere choosing one is a `policyUnsupported`
/// error. The policy is a property of the file: it holds for pages that any process touches first.
public enum NumaPolicy: Sendable, Hashable, CustomStringConvertible {
  /// What the system does by itself: the node of the thread that touches a page first, or its process's own policy.
  case none
  /// Page by page over all nodes.
  case interleave
  /// `node` while it has room, else another.
  case prefer(node: Int)
  /// `node` only. A full node ends in the kernel's out-of-memory killer: prefer `prefer`.
  case bind(node: Int)
  /// The node of the thread that touches a page first, whatever its process's policy says.
  case local

  public var description: String {
    switch self {
    case .none: "none"
    case .interleave: "interleave"
    case .prefer(let node): "prefer(node: \(node))"
    case .bind(let node): "bind(node: \(node))"
    case .local: "local"
    }
  }
}

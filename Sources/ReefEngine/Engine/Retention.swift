/// How much of the past readers may keep alive, as the writers of a process see it.
package struct Retention: Sendable, Equatable {
  package enum Policy: Sendable {
    /// The file grows.
    case grow
    /// Writers are refused until the reader lets go.
    case refuse
    /// The reader's version is taken away; writers are refused only where it cannot be.
    case revoke
  }

  /// Commits that a held version may lie behind the newest.
  package var versions: UInt64?
  /// Bytes of blocks that only held versions still see.
  package var bytes: UInt64?
  /// Nanoseconds that a version may be held for after the commit that followed it.
  package var age: UInt64?
  package var policy: Policy

  package init(versions: UInt64? = nil, bytes: UInt64? = nil, age: UInt64? = nil, policy: Policy) {
    (self.versions, self.bytes, self.age, self.policy) = (versions, bytes, age, policy)
  }

  var isLimited: Bool { policy != .grow && (versions != nil || bytes != nil || age != nil) }
}

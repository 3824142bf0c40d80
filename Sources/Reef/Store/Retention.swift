import ReefEngine

extension Store {
  /// How much of the past readers may keep alive.
  ///
  /// A snapshot keeps what its version sees; while others write, that is a copy of all that changed since. The limits are
  /// those of the process that writes, looked at when a transaction begins. With `refuse` a transaction does not begin while
  /// somebody holds more: ``StoreError/retentionLimit(path:holder:limit:)`` says who. With `revoke` the version is taken from
  /// its holder, oldest first, where the holder was opened with `revoke` itself; from others it cannot be taken, and
  /// the transaction is refused.
  ///
  /// A process opened with `revoke` reads its snapshots from copies that it makes of what it looks at, which costs it time and
  /// memory (`docs/performance.md`). Once its version is gone, whatever throws throws
  /// ``StoreError/snapshotRevoked(version:)``; results end, ``Snapshot/damage`` says why; objects that were found
  /// before stay whole. It never sees anything of another version. Observers begin anew.
  ///
  /// ```swift
  /// configuration.retention = .init(versions: 100_000, bytes: 256 << 20, policy: .revoke)
  /// ```
  public struct Retention: Sendable, Hashable {
    /// What happens to a reader beyond the limits.
    public enum Policy: Sendable, Hashable {
      /// Nothing: the file grows.
      case grow
      /// Writers of this process are refused.
      case refuse
      /// Its snapshot is cut off.
      case revoke
    }

    /// Commits that a snapshot may lie behind the newest version.
    public var versions: Int?
    /// Bytes that are kept for nobody but readers of old versions.
    public var bytes: Int?
    /// How long a snapshot may be kept after the commit that followed it. Exact to an eighth of it.
    public var age: Duration?
    public var policy: Policy

    public init(versions: Int? = nil, bytes: Int? = nil, age: Duration? = nil, policy: Policy) {
      (self.versions, self.bytes, self.age, self.policy) = (versions, bytes, age, policy)
    }

    var limits: ReefEngine.Retention {
      let policy: ReefEngine.Retention.Policy =
        switch policy {
        case .grow: .grow
        case .refuse: .refuse
        case .revoke: .revoke
        }
      let nanoseconds = age.map { age in
        let (seconds, rest) = age.components
        return UInt64(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000).overflow
          ? UInt64.max : UInt64(clamping: seconds) &* 1_000_000_000 &+ UInt64(clamping: rest / 1_000_000_000)
      }
      return ReefEngine.Retention(
        versions: versions.map { UInt64(clamping: $0) }, bytes: bytes.map { UInt64(clamping: $0) }, age: nanoseconds,
        policy: policy)
    }
  }
}

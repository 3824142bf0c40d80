extension Store {
  /// What all processes together did to the store since the first of them opened it, and how large it is.
  public struct Statistics: Sendable, Hashable {
    /// Transactions that made a version.
    public let commits: UInt64
    /// Transactions that were undone.
    public let rollbacks: UInt64
    /// Times that a writer died and another took over from it.
    public let takeovers: UInt64
    /// Times that durable state was written while work went on.
    public let checkpoints: UInt64
    /// Commits that woke somebody.
    public let wakes: UInt64
    /// Blocks of the file that were replaced, and given back once nobody saw them any more.
    public let reclaimedBlocks: UInt64
    /// Snapshots that were cut off for a writer's retention limit.
    public let revocations: UInt64
    /// Bytes of blocks that are kept for nobody but readers of old versions.
    public let retainedBytes: UInt64
    /// Bytes of the data file.
    public let fileSize: Int
  }

  /// Figures of the session: they begin anew when the first process opens the store.
  public var statistics: Statistics {
    get throws(StoreError) {
      try engine.session.checkUsable()
      let lock = engine.session.lock
      typealias Word = LockLayout.Statistics
      return Statistics(
        commits: lock.word(Word.commits), rollbacks: lock.word(Word.aborts), takeovers: lock.word(Word.takeovers),
        checkpoints: lock.word(Word.checkpoints), wakes: lock.word(Word.wakes),
        reclaimedBlocks: lock.word(Word.reclaimed), revocations: lock.word(Word.revocations),
        retainedBytes: lock.word(LockLayout.Control.waitingBytes), fileSize: (try? engine.session.data.size()) ?? 0)
    }
  }
}

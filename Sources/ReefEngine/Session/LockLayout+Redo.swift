extension LockLayout {
  /// The redo ring of the session: where it lies, and how far it is written.
  package enum Redo {
    /// Which of the two copies of {head, chain, appended} counts: one store moves all three.
    @inlinable package static var current: Int { 5632 }
    @inlinable package static var copies: Int { 5640 }
    @inlinable package static var copySize: Int { 24 }
    @inlinable package static var head: Int { 0 }
    @inlinable package static var chain: Int { 8 }
    @inlinable package static var appended: Int { 16 }
    @inlinable package static var start: Int { 5696 }
    @inlinable package static var length: Int { 5704 }
    /// Position that the newest synced slot names: nothing before it is needed.
    @inlinable package static var tail: Int { 5712 }
    /// 1 while the attempt under way moves the ring: nothing is appended meanwhile.
    @inlinable package static var moving: Int { 5720 }
    @inlinable package static var newStart: Int { 5728 }
    @inlinable package static var newLength: Int { 5736 }
    /// 1 once the new ring is full of zeros.
    @inlinable package static var newReady: Int { 5744 }
    /// A ring that was left, until its extents are free.
    @inlinable package static var oldStart: Int { 5752 }
    @inlinable package static var oldLength: Int { 5760 }
    @inlinable package static var attemptHead: Int { 5768 }
    @inlinable package static var attemptChain: Int { 5776 }
    /// Logical size that the newest synced slot names.
    @inlinable package static var syncedExtents: Int { 5784 }
    /// Version that an append under way carries; 0: none.
    @inlinable package static var target: Int { 5792 }
    @inlinable package static var syncing: Int { 5800 }
    /// Appends begun in this session.
    @inlinable package static var syncs: Int { 5808 }
    @inlinable package static var appends: Int { 5816 }
    /// Number of the newest append whose leader died in its write, until a checkpoint has settled what that lost; 0: none.
    @inlinable package static var doubtful: Int { 5824 }
  }
}

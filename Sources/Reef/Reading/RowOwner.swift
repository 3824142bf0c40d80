import Synchronization

/// What keeps rows readable: the pin of a snapshot, or an open write transaction.
///
/// Rows carry the generation that they were found in. A snapshot has one generation for ever; a transaction starts a new
/// one with each change, and its rows are then found again by their key.
@usableFromInline package class RowOwner: @unchecked Sendable {
  @exclusivity(unchecked) @usableFromInline package final var view: ReadView
  @exclusivity(unchecked) @usableFromInline package final var generation: UInt32 = 0
  @usableFromInline package final let isTransaction: Bool
  /// `KnownTree` of the table that was asked last, and of its key index. Never set in transactions, whose tables change.
  /// Whoever finds it missing walks from the version's root; two threads that set it at once set what is true.
  final let knownTree = Atomic<UInt64>(0)
  final let knownIndex = Atomic<UInt64>(0)
  /// Which columns rows of iterations are asked for.
  final let wanted = WantedColumns()
  /// The first damage that a read met, under `damageNotes`: nothing is paid for it until there is one.
  @exclusivity(unchecked) private final var damageNote: DamageNote?

  init(_ view: ReadView, isTransaction: Bool) {
    self.view = view
    self.isTransaction = isTransaction
  }

  /// What is to be read now.
  @usableFromInline package func current() throws(StoreError) -> ReadView { view }

  /// The row as it is now, where it was found in an earlier generation. Only transactions have more than one.
  func refind(_ key: Int64, table: Int) -> Row { preconditionFailure("a snapshot does not change") }

  /// The first damage that a read met. Reads of properties cannot throw: they give the zero value and note it here.
  /// Of a store that is not proven, damage that others of this process met counts as well.
  package final var damage: StoreError? { damageNotes.withLock { _ in damageNote?.error } ?? view.metDamage }

  /// A row of which nothing can be read.
  final func unreadable(_ key: Int64, table: Int) -> Row {
    Row(
      leaf: view.base, row: 0, columnCount: 0, key: key, table: UInt16(truncatingIfNeeded: table),
      generation: generation, owner: self)
  }

  /// Whether a read through this met damage: a question without a lock, for the thread that reads.
  final var hasMetDamage: Bool { damageNote != nil }

  /// Called where nobody else has it, before it serves for another version.
  @inline(__always)
  final func forget() {
    knownTree.store(0, ordering: .relaxed)
    knownIndex.store(0, ordering: .relaxed)
    forgetDamage()
  }

  @inline(__always)
  final func forgetDamage() { if damageNote != nil { damageNote = nil } }

  @inline(never) @usableFromInline package final func note(_ error: StoreError) {
    damageNotes.withLock { _ in
      if damageNote == nil { damageNote = DamageNote(error) }
    }
  }
}

private final class DamageNote {
  let error: StoreError
  init(_ error: StoreError) { self.error = error }
}

private let damageNotes = Mutex<Void>(())

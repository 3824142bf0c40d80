import Synchronization

/// What keeps rows readable: the pin of a snapshot, or an open write transaction.
///
/// Rows carry the generation that they were found in. A snapshot has one generation for ever; a transaction starts a new
/// one with each change, and its rows are then found again by their key.
@usableFromInline package class RowOwner: @unchecked Sendable {
  @exclusivity(unchecked) @usableFromInline package final var view: ReadView
  @exclusivity(unchecked) @usableFromInline package final var generation: UInt32 = 0
  private final let firstDamage = Mutex<StoreError?>(nil)

  init(_ view: ReadView) { self.view = view }

  /// What is to be read now.
  @usableFromInline package func current() throws(StoreError) -> ReadView { view }

  /// The row as it is now, where it was found in an earlier generation.
  @usableFromInline package func refind(_ row: Row) -> Row { row }

  package var isTransaction: Bool { false }

  /// The first damage that a read met. Reads of properties cannot throw: they give the zero value and note it here.
  package final var damage: StoreError? { firstDamage.withLock { $0 } }

  @inline(never) @usableFromInline package final func note(_ error: StoreError) {
    firstDamage.withLock { if $0 == nil { $0 = error } }
  }
}

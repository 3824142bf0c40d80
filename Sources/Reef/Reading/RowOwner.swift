import Synchronization

/// What keeps rows readable: the pin of a snapshot, or an open write transaction.
///
/// Rows carry the generation that they were found in. A snapshot has one generation for ever; a transaction starts a new
/// one with each change, and its rows are then found again by their key.
@usableFromInline package class RowOwner: @unchecked Sendable {
  @exclusivity(unchecked) @usableFromInline package final var view: ReadView
  @exclusivity(unchecked) @usableFromInline package final var generation: UInt32 = 0
  @usableFromInline package final let isTransaction: Bool
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
  package final var damage: StoreError? { damageNotes.withLock { _ in damageNote?.error } }

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

// Finding rows by key
extension RowOwner {
  /// The row with this object key; nil also where something is damaged, which is noted.
  @usableFromInline final func find(_ key: Int64, table: Int) -> Row? {
    do throws(StoreError) {
      return try row(key, table: table)
    } catch {
      note(error)
      return nil
    }
  }

  final func row(_ key: Int64, table: Int) throws(StoreError) -> Row? {
    let view = isTransaction ? try current() : self.view
    guard let position = try view.table(table).find(key: key) else { return nil }
    return Row(position.leaf, position.row, key: key, table: table, owner: self)
  }

  /// The row whose String or UUID key has these bytes.
  @usableFromInline final func find(bytes: [UInt8], column: Int, table: Int) -> Row? {
    do throws(StoreError) {
      var scratch = IndexKey()
      let view = try current()
      guard
        let key = try KeyLookup.find(view, table: table, column: column, bytes: bytes, key: &scratch)
      else { return nil }
      return try row(key, table: table)
    } catch {
      note(error)
      return nil
    }
  }
}

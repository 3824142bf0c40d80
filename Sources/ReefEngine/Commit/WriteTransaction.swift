import ReefSystem
import Synchronization

/// The single writer's work: becomes the next version, or leaves nothing.
///
/// It is bound to the thread of control that began it; one at a time in all processes. Values are told apart by table
/// (position of the type in the stored schema), object key and column (position of the property).
package final class WriteTransaction: @unchecked Sendable {
  package let engine: Engine
  let writer: Writer
  @exclusivity(unchecked) package private(set) var isActive = true
  /// Scratch for index keys; reused.
  let keys: UnsafeMutablePointer<IndexScratch>
  /// The writer's state and the session's word of life, without a class reference to come by on each change.
  let state: UnsafeMutablePointer<Writer.State>
  private let usable: UnsafeMutablePointer<Atomic<UInt64>>

  init(engine: Engine, writer: Writer) {
    self.engine = engine
    self.writer = writer
    keys = engine.indexScratch
    state = writer.state
    usable = engine.session.usable
  }

  deinit { rollback() }

  /// Makes the changes the next version. Returns that version, or the present one where nothing had changed. Returns
  /// once others can see it: for full durability, once it is on disk.
  @discardableResult
  package func commit(durability: Durability? = nil) throws(StoreError) -> UInt64 {
    try check()
    isActive = false
    return try engine.commit(durability ?? engine.configuration.durability)
  }

  /// Serves for the transaction that the engine has begun, after the one that ended.
  package func reopen() { isActive = true }

  /// Ends this object's part: what follows is the engine's `commit`. False: there is nothing to commit any more.
  package func endForCommit() -> Bool {
    guard isActive, usable.pointee.load(ordering: .relaxed) != 0 else { return false }
    isActive = false
    return true
  }

  /// Drops all changes. It has seen the version that it began with: where that waits for the disk still, so does this, or
  /// what this process reads next would be older.
  package func rollback() {
    guard isActive else { return }
    isActive = false
    guard engine.session.isUsable else { return }
    let base = state.pointee.space.version &- 1
    writer.rollback()
    engine.awaitSeen(base)
  }

  @inline(__always)
  func check() throws(StoreError) {
    if !isActive || usable.pointee.load(ordering: .relaxed) != 1 { throw ended() }
  }

  @inline(never)
  private func ended() -> StoreError {
    isActive ? engine.session.unusable() : .invalidArgument("The transaction has ended.")
  }

  /// The state with this transaction's changes. Valid until the next change.
  package var readView: ReadView {
    get throws(StoreError) {
      try check()
      return try guarded { () throws(StoreError) in try writer.readView() }
    }
  }

  package var version: UInt64 { state.pointee.space.version }
  package var schema: StoredSchema { writer.schema }

  /// Runs a change; an error half-way leaves a transaction that can only be rolled back.
  @inline(__always)
  func guarded<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    do throws(StoreError) { return try body() } catch {
      writer.state.pointee.isBroken = true
      throw error
    }
  }
}

import ReefSystem

/// The single writer's work: becomes the next version, or leaves nothing.
///
/// It is bound to the thread of control that began it; one at a time in all processes. Values are told apart by table
/// (position of the type in the stored schema), object key and column (position of the property).
package final class WriteTransaction: @unchecked Sendable {
  package let engine: Engine
  let writer: Writer
  package private(set) var isActive = true
  /// Scratch for index keys; reused.
  let keys: UnsafeMutablePointer<IndexScratch>

  init(engine: Engine, writer: Writer) {
    self.engine = engine
    self.writer = writer
    keys = engine.indexScratch
  }

  deinit { rollback() }

  /// Makes the changes the next version. Returns that version, or the present one where nothing had changed. Returns
  /// once others can see it: for full durability, once it is on disk.
  @discardableResult
  package func commit(durability: Durability? = nil) throws(StoreError) -> UInt64 {
    try check()
    let durability = durability ?? engine.configuration.durability
    let isFull = durability == .full && !writer.data.isTmpfs
    let now = writer.data.isTmpfs ? 0 : Clock.monotonic
    let base = writer.state.pointee.space.version &- 1
    let version: UInt64?
    do throws(StoreError) {
      version = try writer.commit(isFull: isFull, at: now)
    } catch {
      isActive = false
      writer.rollback()
      throw error
    }
    isActive = false
    engine.afterCommit(durability)
    if isFull {
      if let version { try engine.checkpoint.confirm(version) }
    }
    // A weaker commit waits for the full ones that it builds on; so does one that only read them.
    let needed = version ?? base
    if writer.lock.loadAcquire(LockLayout.Control.visible) >> 1 < needed { try engine.checkpoint.confirm(needed) }
    return needed
  }

  /// Drops all changes.
  package func rollback() {
    guard isActive else { return }
    isActive = false
    if engine.session.isUsable { writer.rollback() }
  }

  @inline(__always)
  func check() throws(StoreError) {
    guard isActive else { throw .invalidArgument("The transaction has ended.") }
    try engine.session.checkUsable()
  }

  /// The state with this transaction's changes. Valid until the next change.
  package var readView: ReadView {
    get throws(StoreError) {
      try check()
      return try guarded { () throws(StoreError) in try writer.readView() }
    }
  }

  package var version: UInt64 { writer.state.pointee.space.version }
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

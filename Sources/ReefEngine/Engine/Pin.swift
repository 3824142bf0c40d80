/// A version held in place: what it can see stays until this is gone. May be moved between threads, not copied.
package struct Pin: ~Copyable, Sendable {
  package let session: Session
  package let slot: Int
  package let view: ReadView

  @inlinable @inline(__always)
  init(session: Session, slot: Int, view: ReadView) {
    self.session = session
    self.slot = slot
    self.view = view
  }

  @inlinable package var version: UInt64 { view.version }

  // The slot is checked for `fork` by the session: a child's deinit does not clear its parent's pin.
  @inlinable
  deinit {
    session.unpin(slot)
    session.returnSlot(slot)
  }
}

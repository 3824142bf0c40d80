import ReefSystem

extension Engine {
  /// Verifies everything, and lets every process know that it need not be done again. Throws `damaged`, with the first problem.
  func verifyAll() throws(StoreError) {
    let report = try check()
    if let problem = report.problems.first {
      let more = report.problemCount > 1 ? ", and \(report.problemCount - 1) more (reef check lists them)" : ""
      throw .damaged(path: session.path, what: "\(problem)\(more)")
    }
    _ = session.lock.compareExchange(LockLayout.Control.proven, 0, report.version)
  }

  /// Verifies everything that the newest version reaches; see `StoreCheck`. Others may write meanwhile. The allocator's
  /// records are held against it as well where no other process has the store open and they are exact.
  package func check() throws(StoreError) -> CheckReport {
    let pin = try pin()
    let lock = session.lock
    let extents = lock.word(session.slots.address(pin.slot) + LockLayout.ReaderSlot.extents)
    let view = ReadView(
      base: UnsafeRawPointer(session.data.base), limit: extents << UInt64(DataLayout.extentShift), root: pin.view.root,
      version: pin.version)
    let isChecked = try StoreHeader(
      reading: session.data.base, size: DataLayout.extentSize, path: session.path
    ).isChecked
    guard try session.peers().count == 1, lock.word(LockLayout.Control.oldExtents) == 0 else {
      return StoreCheck.run(view, isChecked: isChecked)
    }
    let (file, base) = (session.data, lock.base)
    return StoreCheck.run(view, isChecked: isChecked) { ref, length in
      Space(file: file, lock: base) { _ in false }.knows(ref, length: length)
    }
  }
}

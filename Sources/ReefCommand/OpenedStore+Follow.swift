import ReefEngine
import ReefSystem

/// What happened between two versions.
struct CommitStep {
  struct Counts {
    var name: String
    var inserted = 0
    var modified = 0
    var deleted = 0
  }
  var from: UInt64
  var to: UInt64
  /// Versions in between could not be looked at one by one.
  var isGap = false
  var types: [Counts] = []
}

extension OpenedStore {
  /// Calls back with each commit from now on, and with nil now and then while there is none, until told to stop. Versions
  /// that nobody held when this began are told as one gap.
  func follow(after: UInt64?, _ body: (CommitStep?) throws -> Bool) throws {
    let pin = try engine.pinFollowing()
    var current = pin.view
    if let after, after < current.version {
      if try !body(CommitStep(from: after, to: current.version, isGap: true)) { return }
    }
    while true {
      guard let newest = try newer(than: current.version) else {
        if try body(nil) { continue }
        return
      }
      while current.version < newest {
        guard let next = following(current.version, newest) else { break }
        if try !body(step(from: current, to: next)) { return }
        engine.session.slots.follow(from: next.version, in: pin.slot)
        current = next
      }
    }
  }

  /// The newest version once there is one after `version`; nil where there was none for a moment.
  private func newer(than version: UInt64) throws(StoreError) -> UInt64? {
    do throws(StoreError) {
      return try engine.session.wait(after: version, deadline: .after(.milliseconds(200)))
    } catch {
      if case .timeout = error { return nil }
      throw error
    }
  }

  /// The next version; the newest where the ring has forgotten that one.
  private func following(_ version: UInt64, _ newest: UInt64) -> ReadView? {
    if let next = engine.followed(version + 1) { return next }
    return engine.followed(newest)
  }

  private func step(from old: ReadView, to new: ReadView) throws -> CommitStep {
    var step = CommitStep(from: old.version, to: new.version, isGap: new.version > old.version + 1)
    let types = try engine.storedSchema().schema.types
    for index in try ReadView.changedTables(from: old, to: new) where index < types.count {
      var counts = CommitStep.Counts(name: types[index].name)
      try TableDiff(from: old.table(index), to: new.table(index), schema: types[index]).forEach {
        (change) throws(StoreError) in
        switch change.kind {
        case .inserted: counts.inserted += 1
        case .deleted: counts.deleted += 1
        case .modified: counts.modified += 1
        }
        return true
      }
      if counts.inserted + counts.modified + counts.deleted > 0 { step.types.append(counts) }
    }
    return step
  }
}

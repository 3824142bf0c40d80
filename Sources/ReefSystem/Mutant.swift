import Glibc

/// Bugs planted in the engine's protocols, one of which is alive in a process that asks for it: `REEF_MUTANT=checkpointSameSlot`.
/// `tools/torture mutants` shows that the suites find each of them: what no suite found, a suite would not find in us.
///
/// Only builds that define `REEF_MUTATIONS`, debug ones, have them. In all others `lives` is `false` to the compiler.
@usableFromInline package enum Mutant: String, CaseIterable, Sendable {
  // The redo ring
  /// A full commit is acknowledged though its record was never written.
  case appendUnwritten
  /// A record may overwrite those that recovery needs.
  case appendWithoutRoom
  /// A record carries the checksum of another one than the record before it.
  case appendStaleChain
  /// The next record is written over the one before it.
  case appendHeadStays
  /// A record holds the nodes of the last version only, not all since the last record.
  case appendLastVersionOnly
  /// A record is read back whatever its checksum says.
  case recordUnchecked
  /// Recovery goes on past a record that does not follow the one before it.
  case replayAnyChain
  /// Recovery goes on past a record that builds on a version it has not reached.
  case replayAnyBase
  /// Recovery does not read the ring.
  case replayNothing
  /// Recovery leaves the ring's extents to whoever allocates next.
  case replayForgetsRing

  // Checkpoint, recovery, close
  /// The slot may be on disk before what it names.
  case checkpointContentUnsynced
  /// A commit is acknowledged before its slot is on disk.
  case checkpointSlotUnsynced
  /// The slot that names the newest synced version is the one that is overwritten.
  case checkpointSameSlot
  /// A failed sync counts as done.
  case checkpointIgnoresError
  /// The slot names the ring where it stands when the slot is written, not where it stood when the version was taken.
  case checkpointLateRing
  /// Recovery writes its slots before what they name is on disk.
  case recoveryContentUnsynced
  /// Recovery overwrites the slot to go back to first.
  case recoveryGoodSlotFirst
  /// Recovery believes a head slot without looking whether its nodes are there.
  case recoveryBelievesHead
  /// A clean close names the version before it is on disk.
  case closeUnsynced
  /// A slot is believed whatever its checksum says.
  case slotUnchecked
  /// Nodes are believed whatever their parent's checksum says.
  case nodesUnchecked
  /// The records of free space are believed whatever their checksum says.
  case recordsUnchecked

  // Commit and repair
  /// The head slot that names the newest version is the one that is overwritten.
  case commitSameHead
  /// A commit writes no head slot.
  case commitWithoutHead
  /// A full commit can be seen before it is on disk.
  case commitVisibleEarly
  /// The version ring gets the root of the version before.
  case commitStaleRoot
  /// Who takes over from a dead writer does not repair.
  case takeoverWithoutRepair
  /// Repair also frees what the newest version made.
  case repairClearsNewest
  /// Repair takes what a dead transaction replaced for replaced.
  case repairBelievesAll
  /// Repair leaves the blocks of the dead transaction taken.
  case repairLeavesNewer
  /// A rolled back transaction's replaced blocks go on waiting to be freed.
  case rollbackKeepsWaiting
  /// A rollback returns though the version it has seen may be lost still.
  case rollbackUnawaited

  // Blocks
  /// A node that a version shows is changed in place.
  case ownInPlace
  /// A replaced block is free at once.
  case retireAtOnce
  /// A magazine is emptied into the bitmaps, and stays full.
  case magazineStaysFull
  /// A full disk is noticed at the first store, by a signal.
  case extendUnallocated

  // Readers and reclamation
  case reclaimIgnoresReaders
  /// A block is taken for unseen by the last version that sees it.
  case reclaimOffByOne
  /// What the version under way replaced is freed before that version is visible.
  case reclaimInvisible
  /// The newest durable version is not held.
  case reclaimIgnoresSynced
  /// The version that is being made durable is not held.
  case reclaimIgnoresAttempt
  /// Later versions of a following reader are not held.
  case reclaimIgnoresFollowers
  /// A reader does not look again after it has set its pin.
  case pinUnconfirmed
  /// The pins of readers that read are taken for idle ones.
  case lingeringTakesBusy
  /// The slots of the dead are theirs for ever.
  case deadSlotsStay
  /// A free slot is taken by a store, not by compare-and-swap.
  case slotTakenUnseen
  /// Of a dead reader's slot the owner goes before the pin does.
  case deadSlotOwnerFirst
  /// A copy is used without a second look at the pin, which may be gone.
  case copyUnconfirmed
  /// A publisher does not look whether somebody sleeps.
  case publishWakesNobody

  // Peers and the writer word
  case everyoneIsDead
  case nobodyIsDead
  /// The writer word is taken from a living owner.
  case writerBarges

  #if REEF_MUTATIONS
    /// The one that is alive.
    private static let chosen: Mutant? = getenv("REEF_MUTANT").flatMap { Mutant(rawValue: String(cString: $0)) }
    @usableFromInline package static func lives(_ mutant: Mutant) -> Bool { chosen == mutant }
    /// Whether this build has any.
    package static let areBuiltIn = true
  #else
    @inlinable @inline(__always) package static func lives(_ mutant: Mutant) -> Bool { false }
    package static let areBuiltIn = false
  #endif
}

import ReefSystem

/// How large redo rings are made, and when. Tests make them small.
package struct RedoShape: Sendable {
  /// Bytes of the first ring, and of the one that follows when that one is too small.
  package var first = 1 << 20
  package var larger = 8 << 20
  /// Where rings begin: apart from pages that are stored to through the mapping, which the kernel may join to folios.
  package var alignment = 2 << 20
  /// Checkpoints of the session before a full commit makes the ring: a short session does not need one.
  package var after: UInt64 = 2
  /// Whether a ring that is half full is checkpointed by the thread in the background, or by whoever filled it.
  package var inBackground = true

  package init() {}
}

/// The redo ring's words in the lock file. Head, chain and appended version move together: they lie there twice, and one
/// store says which copy counts. Touched under the writer word, except for what only the owner of the append word moves.
struct RedoRing {
  private typealias Word = LockLayout.Redo
  let lock: LockMemory

  struct State: Equatable {
    /// Position of the next record: grows for ever; its place is the remainder by the ring's length.
    var head: UInt64 = 0
    /// Checksum of the record before it.
    var chain: UInt64 = 0
    /// Newest version that a record carries.
    var appended: UInt64 = 0
  }

  private func place(_ copy: UInt64) -> Int { Word.copies + Int(copy & 1) * Word.copySize }

  var state: State {
    get {
      let copy = place(lock.loadAcquire(Word.current))
      return State(
        head: lock.word(copy + Word.head), chain: lock.word(copy + Word.chain),
        appended: lock.word(copy + Word.appended))
    }
    nonmutating set {
      let next = lock.word(Word.current) & 1 ^ 1
      let copy = place(next)
      lock.set(copy + Word.head, newValue.head)
      lock.set(copy + Word.chain, newValue.chain)
      lock.set(copy + Word.appended, newValue.appended)
      lock.storeRelease(Word.current, next)
    }
  }

  var start: UInt64 { lock.word(Word.start) }
  var length: UInt64 { lock.word(Word.length) }
  var tail: UInt64 { lock.word(Word.tail) }
  /// Whether records can be appended at all.
  var isUsable: Bool { lock.loadAcquire(Word.length) != 0 && lock.word(Word.moving) == 0 }
  var isHalfFull: Bool { (state.head &- tail) > length / 2 }

  /// What a session begins with: nothing in the ring counts yet.
  func begin(_ slot: RootSlot) {
    lock.set(Word.start, slot.ringStart)
    lock.set(Word.tail, slot.ringPosition)
    lock.set(Word.syncedExtents, slot.extents)
    state = State(head: slot.ringPosition, chain: slot.chain, appended: 0)
    lock.storeRelease(Word.length, slot.ringLength)
  }

  // MARK: Moving, under the checkpoint word and the writer word

  /// A ring that was made ready is moved to by the attempt that begins now, unless an append is under way.
  func note() {
    let moves = lock.word(Word.newReady) != 0 && lock.word(Word.target) == 0
    let now = state
    lock.set(Word.attemptHead, moves ? 0 : now.head)
    lock.set(Word.attemptChain, moves ? lock.word(LockLayout.Header.session) : now.chain)
    lock.set(Word.moving, moves ? 1 : 0)
  }

  /// Where the ring ends that the attempt under way will name.
  var attemptEnd: UInt64 {
    let moves = lock.word(Word.moving) != 0
    return lock.word(moves ? Word.newStart : Word.start) &+ lock.word(moves ? Word.newLength : Word.length)
  }

  /// What the slot of the attempt under way says about the ring.
  func name(in slot: inout RootSlot) {
    let moves = lock.word(Word.moving) != 0
    slot.ringStart = lock.word(moves ? Word.newStart : Word.start)
    slot.ringLength = lock.word(moves ? Word.newLength : Word.length)
    slot.ringPosition = lock.word(Word.attemptHead)
    slot.chain = lock.word(Word.attemptChain)
  }

  /// The attempt's slot is on disk. Run again from any point where its leader died: `moving` goes last.
  func finish(extents: UInt64) {
    lock.set(Word.tail, lock.word(Word.attemptHead))
    lock.set(Word.syncedExtents, extents)
    guard lock.word(Word.moving) != 0 else { return }
    if lock.word(Word.newLength) != 0 {
      if lock.word(Word.start) != lock.word(Word.newStart) {
        lock.set(Word.oldLength, lock.word(Word.length))
        lock.set(Word.oldStart, lock.word(Word.start))
      }
      state = State(head: 0, chain: lock.word(Word.attemptChain), appended: state.appended)
      Space.barrier()
      lock.set(Word.start, lock.word(Word.newStart))
      Space.barrier()
      lock.set(Word.length, lock.word(Word.newLength))
      lock.set(Word.newReady, 0)
      Space.barrier()
      lock.set(Word.newLength, 0)
    }
    lock.storeRelease(Word.moving, 0)
  }

  /// The attempt comes to nothing.
  func stay() { lock.storeRelease(Word.moving, 0) }

  /// The ranges of the file that rings lie in, or will, or did until their extents are free.
  static func ranges(_ lock: LockMemory) -> [Range<Int>] {
    [(Word.start, Word.length), (Word.newStart, Word.newLength), (Word.oldStart, Word.oldLength)].compactMap {
      let first = Int(lock.word($0.0) >> UInt64(DataLayout.extentShift))
      let count = Int(lock.word($0.1) >> UInt64(DataLayout.extentShift))
      return count == 0 ? nil : first..<(first + count)
    }
  }
}

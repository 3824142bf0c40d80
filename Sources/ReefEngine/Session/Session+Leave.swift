import Glibc
import ReefSystem

extension Session {
  /// One more user, who will `leave`: for what must outlive its store's handle.
  package func retainUse() { _ = SessionRegistry.use(data.identity) }

  /// One user less. With the last one the session ends: end snapshots and transactions first.
  ///
  /// `alone` runs if this process was the last of all that had the store open, while no other can open it: the place for
  /// a last checkpoint.
  package func leave(alone: ((Building) -> Void)? = nil) {
    guard born == ForkGuard.generation else { return }
    // Nobody opens the store while it is being left; a thread that opens another store is not kept.
    guard (try? SessionRegistry.enter(place.path, nil)) != nil else { return }
    defer { SessionRegistry.exit(place.path) }
    guard SessionRegistry.drop(self) else { return }
    end(alone: alone)
  }

  func end(alone: ((Building) -> Void)?) {
    let (first, _) = usable.pointee.compareExchange(expected: 1, desired: 2, ordering: .sequentiallyConsistent)
    guard first else { return }
    listener.close()
    notice.nudgeOwn()
    // While a thread is still writing, giving up the life byte would let others take its word for a dead one's. Where it
    // does not end, nothing is given up before the process does.
    guard writersHaveEnded(Deadline.after(.seconds(10))) else { return }
    usable.pointee.store(0, ordering: .sequentiallyConsistent)
    note.stopListening()
    slots.abandonOwn()
    locks.releaseLife(identity.index)
    dataLock?.release()
    locks.releaseSession()
    FaultPoint.step("leave.released")
    let end = SessionEnd(place: place, locks: locks, lockFile: lockFile, dataLock: dataLock)
    if isInMemory {
      end.removeIfLast()
    } else if let alone {
      end.ifLast {
        alone(Building(data: data, lockFile: lockFile, isNew: false, place: place, options: options))
      }
    }
  }

  private func writersHaveEnded(_ deadline: Deadline) -> Bool {
    writer.close()
    while writer.isMine || writer.isContended || checkpointWord.isMine || appendWord.isMine {
      if deadline.isPast { return false }
      Clock.sleep(microseconds: 200)
    }
    return true
  }

  /// The process ends, its other threads may still run: no joining, no unmapping, only the files go.
  func leaveAtExit() {
    guard born == ForkGuard.generation,
      usable.pointee.exchange(0, ordering: .sequentiallyConsistent) == 1
    else { return }
    locks.releaseLife(identity.index)
    locks.releaseSession()
    SessionEnd(place: place, locks: locks, lockFile: lockFile, dataLock: dataLock).removeIfLast()
  }
}

/// What the last one does after giving up its part in the session. The lock is taken anew, never upgraded: two that
/// leave at once would both fail at that.
struct SessionEnd {
  let place: StorePlace
  let locks: SessionLocks
  let lockFile: LockFile
  /// Nil in memory.
  let dataLock: DataLock?

  /// Runs `body` if nobody has the store open, while nobody can open it.
  func ifLast(_ body: () -> Void) {
    guard (try? locks.takeSession(.exclusive)) == true else { return }
    defer { locks.releaseSession() }
    // Somebody else may have removed the files, and others begun a new session under the same name.
    guard (try? place.status(of: place.lockName))??.identity == locks.identity else { return }
    // The same for the data file: it may be another session's by another name.
    if let dataLock, (try? dataLock.take(.exclusive)) != true { return }
    defer { dataLock?.release() }
    body()
  }

  /// Removes the files of a store in memory that nobody has open any more.
  func removeIfLast() {
    guard place.isInMemory else { return }
    ifLast {
      lockFile.memory.storeRelease(LockLayout.Header.ready, 0)
      place.removeAll()
    }
  }
}

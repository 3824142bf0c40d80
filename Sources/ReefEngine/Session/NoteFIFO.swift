import ReefSystem
import Synchronization

/// The `.note` FIFO beside a store: a hint for event loops that something was published. It carries nothing, may be
/// missing altogether, and is never the only source of truth: its listeners also have a slow timer.
package final class NoteFIFO: @unchecked Sendable {
  /// How often a foreign event loop looks without having been told.
  static let recheck = Duration.milliseconds(500)

  /// −1 where the file system has no FIFOs.
  private let descriptor: Int32
  private let listeners: UnsafeMutablePointer<Atomic<UInt64>>
  private let peers: PeerTable
  private let me: PeerIdentity
  private struct Listening {
    var queue: Int32 = -1
    var timer: Int32 = -1
  }
  private let listening = Mutex(Listening())
  /// One thread at a time holds claim bytes to clear the bits of the dead: the kernel does not tell threads apart.
  private let forgetting = Mutex(())

  init(descriptor: Int32, lock: LockMemory, peers: PeerTable, me: PeerIdentity) {
    self.descriptor = descriptor
    self.peers = peers
    self.me = me
    listeners = lock.atomic(LockLayout.Control.listeners)
  }

  deinit {
    if descriptor >= 0 { File.close(descriptor) }
    closeListening()
  }

  /// Opens the FIFO, making it where it is missing. −1: there can be none here.
  static func open(name: String, in directory: Int32, like model: FileStatus) -> Int32 {
    for _ in 0..<2 {
      guard let descriptor = try? File.open(name, in: directory, .readWrite, .nonBlocking) else {
        guard (try? File.makeFIFO(name, in: directory, mode: 0o600)) != nil else { continue }
        guard let made = try? File.open(name, in: directory, .readWrite, .nonBlocking) else { return -1 }
        try? File.setMode(made, model.mode)
        if HostIdentity.user == 0 { try? File.setOwner(made, model.owner, model.group) }
        return made
      }
      guard let status = try? File.status(descriptor), status.kind == .fifo, status.links == 1 else {
        File.close(descriptor)
        return -1
      }
      return descriptor
    }
    return -1
  }

  /// Whether any process listens; looked at after publishing.
  @inline(__always)
  var anyoneListens: Bool {
    listeners[0].load(ordering: .sequentiallyConsistent) | listeners[1].load(ordering: .sequentiallyConsistent)
      | listeners[2].load(ordering: .sequentiallyConsistent) | listeners[3].load(ordering: .sequentiallyConsistent) != 0
  }

  package func hint() {
    if descriptor >= 0 { Hint.send(descriptor) }
  }

  /// Forgets listeners that are gone: their bits cost every commit a system call. A bit is cleared under the entry's
  /// claim byte: a newcomer in the entry may listen already, and its bit would go with its predecessor's.
  func forgetDead() {
    _ = forgetting.withLockIfAvailable { _ in forgetDeadAlone() }
  }

  private func forgetDeadAlone() {
    for part in 0..<4 {
      var bits = listeners[part].load(ordering: .relaxed)
      while bits != 0 {
        let bit = bits & (0 &- bits)
        bits &= ~bit
        let index = part * 64 + bit.trailingZeroBitCount
        guard index != me.index, peers.locks.lives(index) == false, (try? peers.locks.takeClaim(index)) == true else {
          continue
        }
        if peers.locks.lives(index) == false {
          FaultPoint.step("listeners.dead")
          listeners[part].bitwiseAnd(~bit, ordering: .sequentiallyConsistent)
        }
        peers.locks.releaseClaim(index)
      }
    }
  }

  /// A descriptor that becomes readable after a commit: an epoll queue with the FIFO, edge-triggered, and a slow timer. It
  /// stays this object's.
  func noticeDescriptor() throws(StoreError) -> Int32 {
    do {
      return try listening.withLock { listening throws(SystemError) -> Int32 in
        if listening.queue >= 0 { return listening.queue }
        let queue = try EventQueue.make()
        var timer: Int32 = -1
        do throws(SystemError) {
          timer = try EventQueue.makeTimer(every: NoteFIFO.recheck)
          if descriptor >= 0 { try EventQueue.add(descriptor, to: queue, edgeTriggered: true) }
          try EventQueue.add(timer, to: queue, edgeTriggered: true)
        } catch {
          File.close(queue)
          if timer >= 0 { File.close(timer) }
          throw error
        }
        listening = Listening(queue: queue, timer: timer)
        // From here on every commit writes a byte; the caller compares versions after this.
        listeners[me.index / 64].bitwiseOr(1 << UInt64(me.index % 64), ordering: .sequentiallyConsistent)
        return queue
      }
    } catch {
      throw StoreError(error, path: "")
    }
  }

  func closeListening() {
    listening.withLock { listening in
      guard listening.queue >= 0 else { return }
      File.close(listening.queue)
      File.close(listening.timer)
      listening = Listening()
    }
  }

  /// When the process leaves: commits need not tell it any more.
  func stopListening() {
    listeners[me.index / 64].bitwiseAnd(~(1 << UInt64(me.index % 64)), ordering: .sequentiallyConsistent)
  }
}

import CBench
import Foundation
import Reef

/// W9 through the typed API: the three ways to wait, and spinning before the futex.
enum ReefNotice {
  static func sender(_ plan: NoticePlan, path: String) -> any NoticeSender { Sender(plan, path) }
  static func receiver(_ plan: NoticePlan, path: String) -> any NoticeReceiver { Receiver(plan, path) }

  private final class Sender: NoticeSender {
    let store: Store
    let text: String

    init(_ plan: NoticePlan, _ path: String) {
      store = ReefContender.store(path, BENCH_MEMORY)
      text = String(repeating: "x", count: max(0, plan.payload - 8))
      orFail { try store.write { try $0.upsert(Beat(id: 0, sentAt: 0, sequence: 0, text: "")) } }
    }

    func send(sequence: Int) {
      let text = text.isEmpty ? "" : text + String(10_000_000 + sequence)
      orFail {
        try store.write { transaction in
          try transaction.update(Beat.self, key: 0) {
            $0.sequence = sequence
            if !text.isEmpty { $0.text = text }
            $0.sentAt = Int(bench_now())
          }
        }
      }
    }
    func close() {}
  }

  private final class Receiver: NoticeReceiver {
    let store: Store
    let plan: NoticePlan
    var version: UInt64 = 0

    init(_ plan: NoticePlan, _ path: String) {
      self.plan = plan
      store = ReefContender.store(path, BENCH_MEMORY)
      version = orFail { try store.snapshot().version }
    }

    /// Reads what the newest version says and how old it is.
    private func look(_ snapshot: Snapshot, _ each: (Int, UInt64) -> Bool) -> Bool {
      version = snapshot.version
      guard let beat = snapshot[Beat.self, key: 0] else { return true }
      let sequence = beat.sequence
      if plan.payload > 0, beat.textUTF8.reduce(0, { $0 &+ $1 }) == 1 { return true }
      return each(sequence, bench_now() - UInt64(beat.sentAt))
    }

    func receive(_ each: @escaping (Int, UInt64) -> Bool) {
      if plan.way == "await" { return receiveByStream(each) }
      orFail {
        let descriptor = plan.way == "fifo" ? try store.noticeDescriptor : -1
        while true {
          switch plan.way {
          case "spin": while store.version == version {}
          case "fifo": while store.version == version { bench_await_descriptor(descriptor) }
          default: _ = try store.wait(after: version, timeout: .seconds(60))
          }
          if !look(try store.snapshot(), each) { return }
        }
      }
    }

    /// The measurement is synchronous: the stream is followed in a task while it waits.
    private func receiveByStream(_ each: @escaping (Int, UInt64) -> Bool) {
      let done = DispatchSemaphore(value: 0)
      nonisolated(unsafe) let each = each
      nonisolated(unsafe) let receiver = self
      Task.detached {
        do {
          for try await changes in receiver.store.objects(Beat.self).changes {
            if !receiver.look(changes.snapshot, each) { break }
          }
        } catch { fail("reef: \(error)") }
        done.signal()
      }
      done.wait()
    }

    func close() {}
  }
}

import Dispatch
import Foundation
import ReefSystem
import Testing

@testable import ReefEngine

/// A sync that fails while another thread waits for its turn. Serialised: the hook on calls is the whole process's.
@Suite(.serialized) struct FailedSyncTests {
  /// The kernel tells of lost pages once. The thread that came next synced again, was told that all is well, and
  /// acknowledged what is not on disk.
  @Test func whoeverWaitedForAFailedSyncDoesNotSyncAgain() throws {
    let path = NSTemporaryDirectory() + "failed-sync-\(getpid())-\(UInt32.random(in: 0...UInt32.max)).reef"
    defer { for end in ["", ".lock", ".note"] { try? FileManager.default.removeItem(atPath: path + end) } }
    let engine = try Engine.open(
      EngineConfiguration(session: Session.Options(location: .file(path)), durability: .memory),
      Schema([TypeSchema("Thing", [PropertySchema("id", .int64)], key: 0)]))
    defer { engine.close() }
    if engine.session.data.isTmpfs { return }
    let transaction = try engine.write()
    _ = try transaction.insert(table: 0) { $0.set(column: 0, int: 1) }
    let version = try transaction.commit(durability: .memory)

    nonisolated(unsafe) var failures = 0
    nonisolated(unsafe) var second: StoreError?
    let ended = DispatchSemaphore(value: 0)
    FaultPoint.install { call, failing in
      guard call == "fsync", failing == path, failures == 0 else { return nil }
      failures += 1
      Thread.detachNewThread {
        do throws(StoreError) { try engine.checkpoint.confirm(version) } catch { second = error }
        ended.signal()
      }
      Thread.sleep(forTimeInterval: 0.2)
      return EIO
    }
    defer { FaultPoint.install(nil) }
    #expect(throws: StoreError.self) { try engine.checkpoint.confirm(version) }
    #expect(ended.wait(timeout: .now() + 10) == .success)
    guard case .poisoned = second else {
      Issue.record("the second thread ended with \(String(describing: second))")
      return
    }
    #expect(engine.session.lock.word(LockLayout.Control.confirmed) < version)
  }

  /// The write of a redo record fails: a typed error, nothing more is accepted in this session, and the next one has all
  /// that was acknowledged.
  @Test(arguments: [EIO, ENOSPC, EDQUOT]) func failedAppendLosesNothingAcknowledged(errno: Int32) throws {
    let path = NSTemporaryDirectory() + "failed-append-\(getpid())-\(UInt32.random(in: 0...UInt32.max)).reef"
    defer { for end in ["", ".lock", ".note"] { try? FileManager.default.removeItem(atPath: path + end) } }
    var configuration = EngineConfiguration(session: Session.Options(location: .file(path)), durability: .full)
    configuration.redo.first = DataLayout.extentSize
    configuration.redo.alignment = DataLayout.extentSize
    configuration.redo.after = 0
    // Nothing but appends: a checkpoint beside them would carry a commit as well.
    configuration.redo.larger = DataLayout.extentSize
    configuration.redo.inBackground = false
    let schema = Schema([TypeSchema("Thing", [PropertySchema("id", .int64)], key: 0)])
    func commit(_ engine: Engine, _ key: Int64) throws {
      let transaction = try engine.write()
      _ = try transaction.insert(table: 0) { $0.set(column: 0, int: key) }
      try transaction.commit()
    }
    do {
      let engine = try Engine.open(configuration, schema)
      defer { engine.close() }
      if engine.session.data.isTmpfs { return }
      for key in 0..<6 { try commit(engine, Int64(key)) }
      let appends = engine.session.lock.word(LockLayout.Redo.appends)
      #expect(appends >= 3, "commits are carried by the ring: \(appends)")
      FaultPoint.install { call, failing in call == "pwrite" && failing == path ? errno : nil }
      defer { FaultPoint.install(nil) }
      for key in 6..<8 {
        do {
          try commit(engine, Int64(key))
          Issue.record("a commit that is not on disk was acknowledged")
        } catch let error as StoreError {
          guard case .poisoned = error else { throw error }
        }
      }
    }
    let engine = try Engine.open(configuration, schema)
    defer { engine.close() }
    let pin = try engine.pin()
    for key in 0..<6 { #expect(try pin.view.table(0).find(key: Int64(key)) != nil, "\(key) was acknowledged") }
    #expect(try pin.view.table(0).find(key: 7) == nil)
  }
}

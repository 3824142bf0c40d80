import ReefEngine
import ReefSystem

/// The process that tests start, stop and kill. Its first argument says what to do.
@main
struct Worker {
  static func main() throws {
    var o = Session.Options(location: .memory("smoke"))
    o.peerName = "smoke"
    let s = try Session.open(o) { b throws(StoreError) in
      print("new", b.isNew, b.path, b.data.reserved >> 30)
    }
    let e = try s.peers()
    print(e)
    _ = try s.acquireWriter(deadline: .never)
    s.lock.set(LockLayout.RingEntry.table + 32, 1)
    let w = s.publish(1)
    s.releaseAndWake(1, wake: w)
    let slot = try s.claimSlot()
    print(slot, s.pinNewest(slot), w)
    s.unpin(slot)
    s.returnSlot(slot)
    func time(_ name: String, _ n: Int, _ body: (Int) throws -> Void) rethrows {
      var best = UInt64.max
      for _ in 0..<20 {
        let t = Clock.monotonic
        for i in 0..<n { try body(i) }
        best = min(best, Clock.monotonic - t)
      }
      print(name, Double(best) / Double(n), "ns")
    }
    try time("acquire+release", 100_000) { _ in _ = try s.acquireWriter(deadline: .never); s.releaseWriter() }
    try time("acquire+publish+releaseAndWake", 100_000) { _ in
      _ = try s.acquireWriter(deadline: .never)
      let v = s.newestVersion + 1
      s.lock.set(LockLayout.RingEntry.table + Int(v & 2047) * 32, v)
      let wake = s.publish(v)
      s.releaseAndWake(v, wake: wake)
    }
    let k = try s.claimSlot()
    time("pin+unpin", 100_000) { _ in _ = s.pinNewest(k); s.unpin(k) }
    try time("claim+pin+unpin+return", 100_000) { _ in
      let k = try s.claimSlot()
      _ = s.pinNewest(k)
      s.unpin(k)
      s.returnSlot(k)
    }
    try time("checkUsable", 100_000) { _ in try s.checkUsable() }
    time("step", 100_000) { _ in FaultPoint.step("x") }
    s.leave()
    do { try s.checkUsable() } catch { print(error) }
  }
}

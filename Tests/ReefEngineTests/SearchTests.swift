import CReefKernels
import CXXHash
import ReefSystem
import Testing

@testable import ReefEngine

/// The branch-free searches against counting one by one, and two small pieces of the hot path against their plain form.
@Suite struct SearchTests {
  /// Ascending numbers with repeats, behind one word that searches may look at but must not heed.
  private func numbers(_ count: Int, _ random: inout TestRandom) -> [UInt64] {
    let top = [UInt64(3), 300, .max][Int.random(in: 0...2, using: &random)]
    return [UInt64.random(in: 0 ... .max, using: &random)]
      + (0..<count).map { _ in UInt64.random(in: 0...top, using: &random) }.sorted()
  }

  @Test func heads() {
    var random = TestRandom(seed: 5)
    for count in 0...300 {
      let words = numbers(count, &random)
      let wanted = [0, .max, words[count / 2], words[count] &+ 1, words[count] &- 1] as [UInt64]
      words.withUnsafeBufferPointer { buffer in
        guard let heads = buffer.baseAddress.map({ $0 + 1 }) else { return }
        for head in wanted {
          let below = words.dropFirst().count { $0 < head }
          let notAbove = words.dropFirst().count { $0 <= head }
          #expect(Int(reef_index_lower(heads, count, head)) == below, "\(count) heads, \(head)")
          #expect(Int(reef_index_upper(heads, count, head)) == notAbove, "\(count) heads, \(head)")
          #expect(Int(reef_keys_lower64(heads, count, head)) == below, "\(count) keys, \(head)")
        }
      }
    }
  }

  @Test func bounds() {
    var random = TestRandom(seed: 6)
    for count in 1...64 {
      let bounds = (0..<count).map { _ in Int64.random(in: .min ... .max, using: &random) }.sorted()
      for key in bounds + [.min, .max, 0, bounds[0] &- 1] {
        #expect(Int(reef_keys_upper(bounds, count, key)) == bounds.count { $0 <= key }, "\(count) bounds, \(key)")
      }
    }
  }

  /// The slot's checksum has its length written into C: it is the checksum of everything before it.
  @Test func slotChecksum() {
    var random = TestRandom(seed: 7)
    let bytes = (0..<DataLayout.Slot.checksum).map { _ in UInt8.random(in: 0...255, using: &random) }
    bytes.withUnsafeBytes { raw in
      guard let base = raw.baseAddress else { return }
      #expect(SlotChecksum.of(base) == XXH3_64bits(base, raw.count))
    }
  }

  /// Waits spin only after a row of short ones, stop at the first vain spin, and never with one processor.
  @Test func pace() {
    let pace = WaitPace(maySpin: true)
    var now: UInt64 = 1_000_000_000
    func short(_ pace: WaitPace) -> UInt64 {
      now += 1000
      return pace.begin(now)
    }
    #expect((0..<5).allSatisfy { _ in short(pace) == 0 })
    for _ in 0..<20 { _ = short(pace) }
    #expect(short(pace) == WaitPace.spin)
    pace.sleeps()
    #expect((0..<5).allSatisfy { _ in short(pace) == 0 })
    for _ in 0..<20 { _ = short(pace) }
    now += 1_000_000_000
    #expect(pace.begin(now) == 0)
    let single = WaitPace(maySpin: false)
    #expect((0..<40).allSatisfy { _ in short(single) == 0 })
  }
}

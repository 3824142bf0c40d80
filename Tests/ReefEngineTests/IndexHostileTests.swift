import Foundation
import Testing

@testable import ReefEngine

/// Whatever the bytes of an index say, reading and writing end in an answer or an error: never in a trap, a hang or an
/// access outside of the file.
@Suite struct IndexHostileTests {
  @Test func damagedNodes() throws {
    var random = TestRandom(seed: freshSeed("damagedNodes"))
    let deadline = Date().addingTimeInterval(3)
    var refused = 0
    for keys in IndexTreeTests.Keys.allCases where keys != .empty {
      for round in 0..<12 where Date() < deadline {
        let fixture = try IndexFixture(megabytes: 64)
        var writer = IndexWriter()
        for objectKey in 0..<1500 {
          _ = try fixture.insert(&writer, IndexTreeTests.key(keys, &random), Int64(objectKey))
        }
        fixture.nextVersion()
        var nodes: [UInt64] = []
        collect(fixture.view(writer), writer.root, writer.depth, &nodes)
        for _ in 0..<12 {
          for _ in 0..<(1 + random.below(8)) { damage(fixture, random.pick(nodes), nodes, &random) }
          do { try readEverything(fixture.view(writer), keys, &random) } catch { refused += 1 }
          // Every other round the transaction owns the nodes: none of them is checked as thoroughly again.
          if round % 2 == 0 { fixture.nextVersion() }
          var changed = writer
          for objectKey in 0..<20 {
            let key = IndexTreeTests.key(keys, &random)
            do { _ = try fixture.insert(&changed, key, Int64(objectKey)) } catch { refused += 1 }
            do { _ = try fixture.remove(&changed, key, Int64(random.below(1500))) } catch { refused += 1 }
          }
        }
      }
    }
    #expect(refused > 0)
  }

  private func collect(_ view: IndexView, _ entry: UInt64, _ level: Int, _ nodes: inout [UInt64]) {
    nodes.append((entry & 0xffff_ffff) << 4)
    guard level > 0, let node = try? view.enter(entry, level: level) else { return }
    for child in 0...node.count { collect(view, node.children[child], level - 1, &nodes) }
  }

  private func damage(_ fixture: IndexFixture, _ node: UInt64, _ nodes: [UInt64], _ random: inout TestRandom) {
    let length = Int(fixture.file.base.load(fromByteOffset: Int(node) + 4, as: UInt32.self))
    let offset = Int(node) + (random.chance(3) ? random.below(24) : random.below(max(24, min(length, 4112))))
    let base = fixture.file.base
    // Who made a node is not for the file to say: leave the stamps, so that a damaged node is not taken for one's own.
    if offset - Int(node) >= 8, offset - Int(node) < 16 { return }
    switch random.below(3) {
    case 0: base.storeBytes(of: UInt8(truncatingIfNeeded: random.next()), toByteOffset: offset, as: UInt8.self)
    case 1: base.storeBytes(of: random.chance(2) ? 0xff : 0, toByteOffset: offset, as: UInt8.self)
    default:
      if offset - Int(node) < 24 { return }
      base.storeBytes(of: random.pick(nodes) >> 4, toByteOffset: offset & ~7, as: UInt64.self)
    }
  }

  private func readEverything(
    _ view: IndexView, _ keys: IndexTreeTests.Keys, _ random: inout TestRandom
  ) throws {
    var failure: StoreError?
    func attempt(_ body: () throws(StoreError) -> Void) {
      do throws(StoreError) { try body() } catch { failure = error }
    }
    attempt { () throws(StoreError) in try view.check() }
    var key = IndexKey()
    attempt { () throws(StoreError) in
      var cursor = try view.start()
      while try cursor.next() != nil { cursor.copyKey(to: &key) }
    }
    attempt { () throws(StoreError) in
      var cursor = try view.end()
      while try cursor.previous() != nil { cursor.copyKey(to: &key, behind: true) }
    }
    for _ in 0..<20 {
      let bytes = IndexTreeTests.key(keys, &random)
      attempt { () throws(StoreError) in
        try withKey(bytes) { (key) throws(StoreError) in
          _ = try view.find(key)
          _ = try view.contains(key, 5)
          _ = try view.count(equal: key)
        }
      }
    }
    if let failure { throw failure }
  }

  @Test func depthAndBounds() throws {
    let fixture = try IndexFixture(megabytes: 64)
    var writer = IndexWriter()
    for i in 0..<2000 { _ = try fixture.insert(&writer, Array("key \(i)".utf8), Int64(i)) }
    let whole = fixture.view(writer)
    for depth in [0, writer.depth + 1, 12, 13, 1000] where depth != writer.depth {
      let view = IndexView(view: whole.view, root: writer.root, depth: depth)
      #expect(throws: StoreError.self) { try view.check() }
      #expect(throws: StoreError.self) { try withKey([1]) { (key) throws(StoreError) in try view.find(key) } }
      #expect(throws: StoreError.self) { try view.start() }
    }
    let short = ReadView(base: whole.view.base, limit: (writer.root << 4) + 20, root: 0, version: 1)
    let view = IndexView(view: short, root: writer.root, depth: writer.depth)
    #expect(throws: StoreError.self) { try view.check() }
    #expect(try IndexView(view: short, root: 0, depth: 0).start().index.isEmpty)
    // An inner node all of whose children are the same leaf is found at the second visit.
    let node = try #require(IndexNode(whole.view.base + Int(writer.root) << 4))
    let children = UnsafeMutablePointer(mutating: node.children)
    for child in 1...node.count { children[child] = children[0] }
    #expect(throws: StoreError.self) {
      var cursor = try whole.start()
      while try cursor.next() != nil {}
    }
  }
}

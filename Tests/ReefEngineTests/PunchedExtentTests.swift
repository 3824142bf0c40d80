import Testing

@testable import ReefEngine

/// A power loss between punching an extent and the descriptor's way to the disk: the descriptor still says *slab*, and
/// its bitmap reads as zeros, the bits beyond the last block among them.
@Suite struct PunchedExtentTests {
  @Test func slabOfZerosIsFree() throws {
    let fixture = try IndexFixture(megabytes: 64)
    var nodes: [UnsafeMutableRawPointer] = []
    for _ in 0..<400 {
      nodes.append(try fixture.space.allocate(kind: NodeKind.blob, form: 0, shape: 0, length: 700))
    }
    for node in nodes { fixture.space.retire(node) }
    fixture.space.flushMagazines()

    // The next session finds the file like this, with empty lists.
    var punched = 0
    for extent in 1..<fixture.space.extentCount
    where fixture.space.descriptor(extent).load(as: UInt8.self) == ExtentState.slab {
      (fixture.file.base + extent << DataLayout.extentShift).initializeMemory(
        as: UInt8.self, repeating: 0, count: DataLayout.extentSize)
      punched += 1
    }
    #expect(punched > 0)
    for index in 0..<SizeClasses.shared.count {
      fixture.space.classState(index).initializeMemory(as: UInt8.self, repeating: 0, count: LockLayout.ClassState.size)
    }
    fixture.space.setControl(LockLayout.Control.listGeneration, 9)
    for word in [LockLayout.Control.freeHead, LockLayout.Control.freeExtents, LockLayout.Control.scanNext] {
      fixture.space.setControl(word, 0)
    }

    var seen: Set<UInt32> = []
    for _ in 0..<2000 {
      let node = try fixture.space.allocate(kind: NodeKind.blob, form: 0, shape: 0, length: 700)
      let ref = fixture.space.ref(of: node)
      let index = Int(
        fixture.space.descriptor(Int(ref >> 12)).load(
          fromByteOffset: DataLayout.Descriptor.sizeClass, as: UInt8.self))
      let block = fixture.space.blockIndex(ref, index)
      #expect(block != nil, "a block beyond the end of its extent")
      #expect(seen.insert(ref).inserted)
    }
  }
}

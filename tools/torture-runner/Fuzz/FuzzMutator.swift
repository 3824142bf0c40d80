import ReefEngine

@_silgen_name("LLVMFuzzerMutate")
private func mutateBytes(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ room: Int) -> Int

/// Called by libFuzzer for the next input.
@_cdecl("LLVMFuzzerCustomMutator")
public func fuzzerMutator(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ room: Int, _ seed: UInt32) -> Int {
  var random = Mix(UInt64(seed), 3)
  // One in four is left to the fuzzer's own means, which know what the program compares with.
  if random.chance(4) {
    let count = mutateBytes(bytes, count, room)
    guard count > FuzzInput.head else { return count }
    return FuzzInput.head + (count - FuzzInput.head) / FuzzInput.Change.size * FuzzInput.Change.size
  }
  var input = FuzzInput(UnsafeBufferPointer(start: bytes, count: count))
  input.mutate(&random, room: (room - FuzzInput.head) / FuzzInput.Change.size)
  let encoded = input.encoded
  let length = min(room, encoded.count)
  for index in 0..<length { bytes[index] = encoded[index] }
  return length
}

extension FuzzInput {
  /// Changes that know the format: fields rather than bytes, and values at which something turns.
  mutating func mutate(_ random: inout Mix, room: Int) {
    for _ in 0..<(1 + random.below(3)) {
      switch random.below(changes.isEmpty ? 3 : 10) {
      case 0: head(&random)
      case 1...5 where changes.count < min(24, room):
        changes.insert(Change.random(&random), at: random.below(changes.count + 1))
      case 6 where changes.count > 1: changes.remove(at: random.below(changes.count))
      default:
        if changes.isEmpty { return changes.append(Change.random(&random)) }
        changes[random.below(changes.count)].mutate(&random)
      }
    }
  }

  private mutating func head(_ random: inout Mix) {
    switch random.below(7) {
    case 0, 1: sample = random.chance(5) ? random.below(FuzzSample.count) : random.below(FuzzSample.count / 2)
    case 2: isResealed = !random.chance(4)
    case 3: takesStoredTypes = random.chance(2)
    case 4: isReadOnly = random.chance(6)
    case 5: sealsRecords = !random.chance(4)
    default: seed = random.next() & 0xffff
    }
  }
}

extension FuzzInput.Change {
  static func random(_ random: inout Mix) -> FuzzInput.Change {
    // Half of the changes are to nodes: there is most to be told.
    let kinds: [Kind] = [.node, .node, .node, .ref, .add, .copyNode]
    var change = FuzzInput.Change(
      kind: random.chance(2) ? random.pick(kinds) : random.pick(Kind.allCases), width: random.byte() & 3,
      index: UInt16(random.below(random.chance(3) ? 65536 : 64)), offset: 0, value: 0)
    change.mutateOffset(&random)
    change.mutateValue(&random)
    return change
  }

  mutating func mutate(_ random: inout Mix) {
    switch random.below(8) {
    case 0: kind = random.pick(Kind.allCases)
    case 1: width = random.byte() & 3
    case 2: index = UInt16(random.below(random.chance(3) ? 65536 : 64))
    case 3: index = random.chance(2) ? index &+ 1 : index &- 1
    case 4, 5: mutateOffset(&random)
    default: mutateValue(&random)
    }
  }

  private mutating func mutateOffset(_ random: inout Mix) {
    switch kind {
    case .node, .add, .descriptor, .record, .header:
      // Fields in front: kind, form, shape, length, then what the kind keeps there.
      let fields: [(UInt32, UInt8)] = [(0, 0), (1, 0), (2, 1), (4, 2), (8, 3), (16, 3), (16, 1), (18, 1), (20, 1)]
      switch random.below(4) {
      case 0, 1: (offset, width) = random.pick(fields)
      case 2: (offset, width) = (UInt32(random.below(24) * 8), random.chance(2) ? 3 : 2)
      default: offset = UInt32(random.below(random.chance(2) ? 160 : 32768))
      }
    case .bytes, .fill, .size: offset = UInt32(random.below(random.chance(2) ? 24576 : 1 << 22))
    default: offset = UInt32(random.below(random.chance(2) ? 64 : 65536))
    }
  }

  private mutating func mutateValue(_ random: inout Mix) {
    switch random.below(10) {
    case 0: value = 0
    case 1: value = .max
    case 2: value = value &+ 1
    case 3: value = value &- 1
    case 4: value ^= 1 << UInt64(random.below(64))
    case 5: value = 1 << UInt64(random.below(64))
    case 6: value = (1 << UInt64(random.below(64))) &- 1
    case 7: value = UInt64(random.below(300))
    case 8: value = UInt64(bitPattern: Int64.max) &- UInt64(random.below(4))
    default: value = random.next() >> UInt64(random.below(64))
    }
  }
}

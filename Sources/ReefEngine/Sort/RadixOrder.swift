import ReefSystem

/// Stable order of 64-bit codes.
///
/// The bits in which the codes differ at all, as many as fit, and the place of each code are packed into one word of 64
/// bits; the words are sorted by their highest 33 bits in at most three passes. Words that tie there are few where codes
/// are spread, and are put in order afterwards; where they are many, they share a longer prefix, and it begins again
/// behind that. So codes are read once, in order, and again only where words tie.
enum RadixOrder {
  private static let digit = 11

  /// Fills `places` with the places of the codes in ascending order of codes; equal codes keep their order.
  static func order(_ codes: UnsafeBufferPointer<UInt64>, into places: UnsafeMutableBufferPointer<UInt64>) {
    let count = codes.count
    var varying: UInt64 = 0
    if let first = codes.first {
      for code in codes { varying |= code ^ first }
    }
    guard varying != 0 else {
      for place in 0..<count { places[place] = UInt64(truncatingIfNeeded: place) }
      return
    }
    let packing = Packing(varying: varying, count: count)
    // Below the lowest bit in which codes differ all words are alike.
    let passes = min((packing.used + digit - 1) / digit, 3)
    let sorted: Int
    if count <= 256 {
      for place in 0..<count { places[place] = packing.word(codes[place], place) }
      var places = places
      places.sort()
      sorted = packing.placeBits
    } else {
      sort(codes, packing, passes: passes, into: places)
      sorted = max(64 - passes * digit, packing.placeBits)
    }
    // What the passes looked at, or the words held, may have been too little to tell codes apart.
    if packing.used > 64 - sorted { finish(places, codes, packing, sorted: UInt64(sorted)) }
    for index in 0..<count { places[index] &= packing.placeMask }
  }

  /// Puts positions in the order of their codes.
  static func sort(_ positions: UnsafeMutableBufferPointer<UInt32>, by codes: UnsafePointer<UInt64>) {
    let count = positions.count
    guard count > 1 else { return }
    let own = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: count)
    defer { own.deallocate() }
    for index in 0..<count { own.initializeElement(at: index, to: codes[Int(positions[index])]) }
    let places = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: count)
    defer { places.deallocate() }
    order(UnsafeBufferPointer(own), into: places)
    let before = UnsafeMutableBufferPointer<UInt32>.allocate(capacity: count)
    defer { before.deallocate() }
    _ = before.initialize(from: positions)
    for index in 0..<count { positions[index] = before[Int(truncatingIfNeeded: places[index])] }
  }

  /// How a code and its place share a word.
  private struct Packing {
    /// Bits of a code from the highest to the lowest in which codes differ.
    let used: Int
    let shift: UInt64
    let placeBits: Int
    let placeMask: UInt64

    init(varying: UInt64, count: Int) {
      shift = UInt64(varying.leadingZeroBitCount)
      used = 64 - varying.leadingZeroBitCount - varying.trailingZeroBitCount
      placeBits = Int.bitWidth - (count - 1).leadingZeroBitCount
      placeMask = (1 << UInt64(placeBits)) - 1
    }

    @inline(__always)
    func word(_ code: UInt64, _ place: Int) -> UInt64 {
      (code &<< shift) & ~placeMask | UInt64(truncatingIfNeeded: place)
    }
  }

  private static func sort(
    _ codes: UnsafeBufferPointer<UInt64>, _ packing: Packing, passes: Int,
    into places: UnsafeMutableBufferPointer<UInt64>
  ) {
    let count = codes.count
    let mask = (1 << digit) - 1
    let lowest = 64 &- passes &* digit
    let scratch = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: count)
    defer { scratch.deallocate() }
    Mapping.preferHugePages(scratch.baseAddress, length: count &* 8)
    let starts = UnsafeMutableBufferPointer<UInt32>.allocate(capacity: 3 << digit)
    defer { starts.deallocate() }
    starts.initialize(repeating: 0)
    // The last pass is to end in `places`.
    var (from, to) = passes & 1 == 0 ? (places, scratch) : (scratch, places)
    for place in 0..<count {
      let word = packing.word(codes[place], place)
      from[place] = word
      for pass in 0..<passes {
        let bucket = Int(truncatingIfNeeded: word &>> UInt64(lowest &+ pass &* digit)) & mask
        starts[pass &<< digit &+ bucket] &+= 1
      }
    }
    for pass in 0..<passes {
      let starts = UnsafeMutableBufferPointer(rebasing: starts[(pass << digit)..<((pass + 1) << digit)])
      var start: UInt32 = 0
      for bucket in starts.indices {
        let size = starts[bucket]
        starts[bucket] = start
        start &+= size
      }
      let low = UInt64(lowest &+ pass &* digit)
      for index in 0..<count {
        let word = from[index]
        let bucket = Int(truncatingIfNeeded: word &>> low) & mask
        let place = starts[bucket]
        starts[bucket] = place &+ 1
        to[Int(place)] = word
      }
      swap(&from, &to)
    }
  }

  /// Puts runs in order whose words are alike in the bits above the lowest `sorted`.
  private static func finish(
    _ words: UnsafeMutableBufferPointer<UInt64>, _ codes: UnsafeBufferPointer<UInt64>, _ packing: Packing,
    sorted: UInt64
  ) {
    var start = 0
    while start < words.count {
      let prefix = words[start] &>> sorted
      var end = start &+ 1
      while end < words.count, words[end] &>> sorted == prefix { end &+= 1 }
      if end > start &+ 1 { refine(UnsafeMutableBufferPointer(rebasing: words[start..<end]), codes, packing) }
      start = end
    }
  }

  private static func refine(
    _ run: UnsafeMutableBufferPointer<UInt64>, _ codes: UnsafeBufferPointer<UInt64>, _ packing: Packing
  ) {
    func code(_ word: UInt64) -> UInt64 { codes[Int(truncatingIfNeeded: word & packing.placeMask)] }
    guard run.count <= 24 else {
      let positions = UnsafeMutableBufferPointer<UInt32>.allocate(capacity: run.count)
      defer { positions.deallocate() }
      for index in run.indices {
        positions.initializeElement(at: index, to: UInt32(truncatingIfNeeded: run[index] & packing.placeMask))
      }
      if let base = codes.baseAddress { sort(positions, by: base) }
      for index in run.indices { run[index] = UInt64(positions[index]) }
      return
    }
    for index in 1..<run.count {
      let word = run[index]
      let own = code(word)
      var place = index
      while place > 0, code(run[place - 1]) > own {
        run[place] = run[place - 1]
        place -= 1
      }
      run[place] = word
    }
  }
}

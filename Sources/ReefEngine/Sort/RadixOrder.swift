/// Stable order of positions by 64-bit codes.
///
/// The bits in which the codes differ at all, as many as fit, and the place of each position are packed into one word
/// of 64 bits; the words are sorted by their highest 33 bits in at most three passes. Words that tie there are few where
/// codes are spread, and are put in order afterwards; where they are many, they share a longer prefix, and it begins
/// again behind that.
enum RadixOrder {
  private static let digit = 11

  static func sort(_ positions: UnsafeMutableBufferPointer<UInt32>, by codes: UnsafePointer<UInt64>) {
    let count = positions.count
    guard count > 1 else { return }
    let first = codes[Int(positions[0])]
    var varying: UInt64 = 0
    for position in positions { varying |= codes[Int(position)] ^ first }
    guard varying != 0 else { return }
    let shift = UInt64(varying.leadingZeroBitCount)
    let placeBits = Int.bitWidth - (count - 1).leadingZeroBitCount
    let placeMask: UInt64 = (1 << UInt64(placeBits)) - 1

    let words = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: count)
    defer { words.deallocate() }
    for place in 0..<count {
      let word = (codes[Int(positions[place])] &<< shift) & ~placeMask | UInt64(truncatingIfNeeded: place)
      words.initializeElement(at: place, to: word)
    }
    // Below the lowest bit in which codes differ all words are alike.
    let used = 64 - Int(shift) - varying.trailingZeroBitCount
    let passes = min((used + digit - 1) / digit, 3)
    let lowest = 64 - passes * digit
    if count <= 256 {
      var words = words
      words.sort()
    } else {
      sort(words, passes: passes, lowest: lowest)
    }
    let before = UnsafeMutableBufferPointer<UInt32>.allocate(capacity: count)
    defer { before.deallocate() }
    _ = before.initialize(from: positions)
    for place in 0..<count { positions[place] = before[Int(words[place] & placeMask)] }
    // What the passes looked at, or the words held, may have been too little to tell codes apart.
    let sorted = count <= 256 ? placeBits : max(lowest, placeBits)
    if used > 64 - sorted { finish(positions, codes, ignoring: UInt64(sorted) - shift) }
  }

  private static func sort(_ words: UnsafeMutableBufferPointer<UInt64>, passes: Int, lowest: Int) {
    let mask = (1 << digit) - 1
    let other = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: words.count)
    defer { other.deallocate() }
    other.initialize(repeating: 0)
    let places = UnsafeMutableBufferPointer<Int>.allocate(capacity: passes << digit)
    defer { places.deallocate() }
    places.initialize(repeating: 0)
    for word in words {
      for pass in 0..<passes {
        let bucket = Int(truncatingIfNeeded: word &>> UInt64(lowest &+ pass &* digit)) & mask
        places[pass &<< digit &+ bucket] &+= 1
      }
    }
    var (from, to) = (words, other)
    for pass in 0..<passes {
      let starts = UnsafeMutableBufferPointer(rebasing: places[(pass << digit)..<((pass + 1) << digit)])
      var start = 0
      for bucket in starts.indices {
        let size = starts[bucket]
        starts[bucket] = start
        start &+= size
      }
      let low = UInt64(lowest &+ pass &* digit)
      for word in from {
        let bucket = Int(truncatingIfNeeded: word &>> low) & mask
        let place = starts[bucket]
        starts[bucket] = place &+ 1
        to[place] = word
      }
      swap(&from, &to)
    }
    if from.baseAddress != words.baseAddress { _ = words.update(fromContentsOf: from) }
  }

  /// Puts runs in order whose codes are alike but for their lowest bits.
  private static func finish(
    _ positions: UnsafeMutableBufferPointer<UInt32>, _ codes: UnsafePointer<UInt64>, ignoring bits: UInt64
  ) {
    var start = 0
    while start < positions.count {
      let prefix = codes[Int(positions[start])] >> bits
      var end = start + 1
      var ordered = true
      while end < positions.count, codes[Int(positions[end])] >> bits == prefix {
        ordered = ordered && codes[Int(positions[end - 1])] <= codes[Int(positions[end])]
        end += 1
      }
      if !ordered { refine(UnsafeMutableBufferPointer(rebasing: positions[start..<end]), codes) }
      start = end
    }
  }

  private static func refine(_ run: UnsafeMutableBufferPointer<UInt32>, _ codes: UnsafePointer<UInt64>) {
    guard run.count <= 24 else { return sort(run, by: codes) }
    for index in 1..<run.count {
      let position = run[index]
      let code = codes[Int(position)]
      var place = index
      while place > 0, codes[Int(run[place - 1])] > code {
        run[place] = run[place - 1]
        place -= 1
      }
      run[place] = position
    }
  }
}

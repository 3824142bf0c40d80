/// The object keys of a live result in their order, in chunks: finding, inserting and removing one key costs
/// microseconds in a result of a million.
package struct OrderedKeys {
  private static let fullChunk = 1024

  /// None is empty.
  private var chunks: [[Int64]] = []
  package private(set) var count = 0

  package init(_ keys: [Int64]) {
    count = keys.count
    var start = 0
    while start < keys.count {
      let end = min(start + Self.fullChunk / 2, keys.count)
      chunks.append(Array(keys[start..<end]))
      start = end
    }
  }

  package var array: [Int64] {
    var all: [Int64] = []
    all.reserveCapacity(count)
    for chunk in chunks { all.append(contentsOf: chunk) }
    return all
  }

  /// Where a key lies or would lie: its position, and the chunk and offset there.
  package struct Place {
    package var position: Int
    fileprivate var chunk: Int
    fileprivate var offset: Int
  }

  /// The place of the first key for which `isBefore` is false; it is true for all keys ahead of that place.
  package func place<Failure: Error>(where isBefore: (Int64) throws(Failure) -> Bool) throws(Failure) -> Place {
    var low = 0
    var high = chunks.count
    while low < high {
      let middle = (low + high) / 2
      if try isBefore(chunks[middle][chunks[middle].count - 1]) { low = middle + 1 } else { high = middle }
    }
    var position = 0
    for chunk in chunks[..<low] { position += chunk.count }
    guard low < chunks.count else { return Place(position: position, chunk: low, offset: 0) }
    var first = 0
    var end = chunks[low].count
    while first < end {
      let middle = (first + end) / 2
      if try isBefore(chunks[low][middle]) { first = middle + 1 } else { end = middle }
    }
    return Place(position: position + first, chunk: low, offset: first)
  }

  /// The key at a place; nil at the end.
  package subscript(place: Place) -> Int64? {
    guard place.chunk < chunks.count, place.offset < chunks[place.chunk].count else { return nil }
    return chunks[place.chunk][place.offset]
  }

  package mutating func insert(_ key: Int64, at place: Place) {
    count += 1
    guard place.chunk < chunks.count else {
      guard let last = chunks.indices.last else { return chunks.append([key]) }
      chunks[last].append(key)
      return split(last)
    }
    chunks[place.chunk].insert(key, at: place.offset)
    split(place.chunk)
  }

  private mutating func split(_ index: Int) {
    let size = chunks[index].count
    guard size > Self.fullChunk else { return }
    let upper = Array(chunks[index][(size / 2)...])
    chunks[index].removeLast(size - size / 2)
    chunks.insert(upper, at: index + 1)
  }

  /// Replaces the key at a place by another that takes its position.
  package mutating func replace(at place: Place, with key: Int64) { chunks[place.chunk][place.offset] = key }

  /// Removes what lies at these positions, which ascend.
  package mutating func remove(atPositions positions: [Int]) {
    guard !positions.isEmpty else { return }
    var next = positions[...]
    var start = 0
    var emptied = false
    for index in chunks.indices {
      let size = chunks[index].count
      let end = start + size
      if let first = next.first, first < end {
        let own = next.prefix { $0 < end }
        if own.count == 1 {
          chunks[index].remove(at: first - start)
        } else {
          var kept: [Int64] = []
          kept.reserveCapacity(size - own.count)
          var at = start
          for position in own {
            kept.append(contentsOf: chunks[index][(at - start)..<(position - start)])
            at = position + 1
          }
          kept.append(contentsOf: chunks[index][(at - start)...])
          chunks[index] = kept
        }
        count -= own.count
        next = next.dropFirst(own.count)
        emptied = emptied || chunks[index].isEmpty
        if next.isEmpty { break }
      }
      start = end
    }
    if emptied { chunks.removeAll(where: \.isEmpty) }
  }
}

/// How one ordered list of objects became another.
///
/// `deletions` and `modifications` are positions in the old list, `insertions` in the new one, all ascending. Taking the
/// deletions out of the old list and putting the insertions in gives the new list. An object that changed its place is a
/// deletion and an insertion.
package struct ResultDelta: Equatable, Sendable {
  package var deletions: [Int] = []
  package var insertions: [Int] = []
  package var modifications: [Int] = []

  package init() {}

  package var isEmpty: Bool { deletions.isEmpty && insertions.isEmpty && modifications.isEmpty }
}

/// One object that may have entered, left or changed in a result: its positions in the old and the new list.
package struct Touched {
  package var old: Int?
  package var new: Int?
  /// Whether its properties differ between the two.
  package var isModified = true

  package init(old: Int? = nil, new: Int? = nil, isModified: Bool = true) {
    self.old = old
    self.new = new
    self.isModified = isModified
  }
}

extension ResultDelta {
  /// From the objects that changed alone: everything else keeps its relative order.
  package init(_ touched: [Touched]) {
    let oldPositions = touched.compactMap(\.old).sorted()
    let newPositions = touched.compactMap(\.new).sorted()
    // Those in both lists stay where they lie between the same untouched neighbours, in the same order among
    // themselves.
    let both = touched.filter { item in
      guard let old = item.old, let new = item.new else { return false }
      return old - oldPositions.rank(of: old) == new - newPositions.rank(of: new)
    }.sorted { ($0.old ?? 0) < ($1.old ?? 0) }
    let staying = Set(longestIncreasing(both.map { $0.new ?? 0 }).map { both[$0].old ?? 0 })
    for item in touched {
      if let old = item.old, item.new != nil, staying.contains(old) {
        if item.isModified { modifications.append(old) }
        continue
      }
      if let old = item.old { deletions.append(old) }
      if let new = item.new { insertions.append(new) }
    }
    deletions.sort()
    insertions.sort()
    modifications.sort()
  }

  /// From two whole lists, and which objects of the old one changed.
  package init(from old: [Int64], to new: [Int64], isModified: (Int64) -> Bool) {
    var position: [Int64: Int] = [:]
    position.reserveCapacity(new.count)
    for (index, key) in new.enumerated() { position[key] = index }
    let kept = old.enumerated().compactMap { index, key in position[key].map { (old: index, new: $0, key: key) } }
    let stays = longestIncreasing(kept.map(\.new)).map { kept[$0] }
    var oldStays = Set<Int>(minimumCapacity: stays.count)
    var newStays = Set<Int>(minimumCapacity: stays.count)
    for stay in stays {
      oldStays.insert(stay.old)
      newStays.insert(stay.new)
      if isModified(stay.key) { modifications.append(stay.old) }
    }
    deletions = old.indices.filter { !oldStays.contains($0) }
    insertions = new.indices.filter { !newStays.contains($0) }
  }
}

extension Array where Element == Int {
  /// How many of these ascending numbers are less than `value`.
  fileprivate func rank(of value: Int) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < value { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// Indices of a longest strictly increasing subsequence.
private func longestIncreasing(_ values: [Int]) -> [Int] {
  // Already in order, the usual case
  if zip(values, values.dropFirst()).allSatisfy({ $0 < $1 }) { return Array(values.indices) }
  var tails: [Int] = []
  var previous = [Int](repeating: -1, count: values.count)
  for index in values.indices {
    var low = 0
    var high = tails.count
    while low < high {
      let middle = (low + high) / 2
      if values[tails[middle]] < values[index] { low = middle + 1 } else { high = middle }
    }
    if low > 0 { previous[index] = tails[low - 1] }
    if low == tails.count { tails.append(index) } else { tails[low] = index }
  }
  var result: [Int] = []
  var at = tails.last ?? -1
  while at >= 0 {
    result.append(at)
    at = previous[at]
  }
  return result.reversed()
}

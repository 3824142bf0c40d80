/// Who runs how far before the other one does. Afterwards each goes on to its end, as it can.
struct Schedule: Equatable {
  enum Kind: Int, CaseIterable {
    /// The first one to a point, the second to its end; and the other way round.
    case oneFirst, oneSecond
    /// Both to a point, then each to its end.
    case twoFirst, twoSecond
    /// Many turns, as the number says.
    case mixed
  }
  var kind: Kind
  var first: Int
  var second: Int

  /// Points in all, of each player, until the other one's turn.
  struct Segment {
    var player: Int
    var goal: UInt64
  }

  func segments(_ seed: UInt64) -> [Segment] {
    func to(_ player: Int, _ goal: Int) -> Segment { Segment(player: player, goal: UInt64(goal)) }
    switch kind {
    case .oneFirst: return [to(0, first), Segment(player: 1, goal: .max)]
    case .oneSecond: return [to(1, first), Segment(player: 0, goal: .max)]
    case .twoFirst: return [to(0, first), to(1, second), Segment(player: 0, goal: .max)]
    case .twoSecond: return [to(1, first), to(0, second), Segment(player: 1, goal: .max)]
    case .mixed:
      var random = Mix(seed, UInt64(first))
      var goals = [0, 0]
      let begins = random.below(2)
      return (0..<(3 + random.below(8))).map { turn in
        let player = (begins + turn) % 2
        // As many short ones as long ones.
        goals[player] += 1 + random.below(1 << (1 + random.below(9)))
        return to(player, goals[player])
      }
    }
  }

  // One number for `--case`.
  private static let places = 100_000
  /// How many there are.
  static let numbers = Kind.allCases.count * places * places
  /// More points than any act has.
  static let everything = places - 1
  var number: Int {
    (kind.rawValue * Self.places + min(first, Self.everything)) * Self.places + min(second, Self.everything)
  }
  init(_ kind: Kind, _ first: Int, _ second: Int = 0) { (self.kind, self.first, self.second) = (kind, first, second) }
  init(number: Int) {
    let places = Self.places
    kind = Kind(rawValue: number / places / places) ?? .mixed
    first = number / places % places
    second = number % places
  }

  /// At most so many (0: far more) of all that there are for two acts of so many points. All single pre-emptions of one
  /// act first, by default the one that has fewer points, then those of the other, then two of them and many, by the seed.
  static func choose(_ points: [Int], _ most: Int, _ seed: UInt64, cut: Int? = nil) -> [Schedule] {
    var random = Mix(seed, 11)
    let wanted = most == 0 ? 2 * (points[0] + points[1]) + 4000 : most
    let first = cut ?? (points[0] <= points[1] ? 0 : 1)
    var chosen: [Schedule] = []
    for (player, share) in [(first, wanted * 3 / 4), (1 - first, wanted / 8)] {
      let kind = player == 0 ? Kind.oneFirst : .oneSecond
      chosen += places(points[player], most == 0 ? points[player] + 1 : share, &random).map { Schedule(kind, $0) }
    }
    let left = max(0, wanted - chosen.count)
    if max(1, points[0]) * max(1, points[1]) * 2 <= left {
      for kind in [Kind.twoFirst, .twoSecond] {
        let (outer, inner) = kind == .twoFirst ? (points[0], points[1]) : (points[1], points[0])
        for first in 1...max(1, outer) {
          for second in 1...max(1, inner) { chosen.append(Schedule(kind, first, second)) }
        }
      }
      return chosen
    }
    for index in 0..<left {
      if index % 3 == 2 {
        chosen.append(Schedule(.mixed, random.below(Self.places)))
      } else {
        let kind = random.chance(2) ? Kind.twoFirst : .twoSecond
        let (outer, inner) = kind == .twoFirst ? (points[0], points[1]) : (points[1], points[0])
        chosen.append(Schedule(kind, random.below(outer + 1), 1 + random.below(inner + 1)))
      }
    }
    return chosen
  }

  /// 0 ... count, or as many of these with even steps in between.
  private static func places(_ count: Int, _ most: Int, _ random: inout Mix) -> [Int] {
    if count < most { return Array(0...count) }
    if most <= 0 { return [] }
    let step = Double(count + 1) / Double(most)
    let offset = Double(random.below(1000)) / 1000
    return (0..<most).map { min(count, Int((Double($0) + offset) * step)) }
  }
}

/// A constant number in a condition. Numbers of different kinds compare by value, exactly: 2^53 + 1 is not the Double
/// nearest to it.
enum Number {
  case integer(Int128)
  case real(Double)

  init?(_ value: Value) {
    switch value {
    case .int(let int): self = .integer(Int128(int))
    case .uint(let uint): self = .integer(Int128(uint))
    case .float(let float): self = .real(Double(float))
    case .double(let double): self = .real(double)
    default: return nil
    }
  }
}

/// The least or the greatest value of a column that satisfies a comparison; nil where none does.
extension Number {
  /// Beyond every UInt64 and Int64.
  private static let far = Int128(1) << 100

  /// Least integer at or above (or, strictly, above) the number.
  func ceiling(strictly: Bool) -> Int128? {
    switch self {
    case .integer(let integer): return strictly ? integer + 1 : integer
    case .real(let real):
      if real.isNaN { return nil }
      let up = real.rounded(.up)
      let integer = up > 0x1p99 ? Self.far : up < -0x1p99 ? -Self.far : Int128(up)
      return strictly && up == real ? integer + 1 : integer
    }
  }

  /// Greatest integer at or below (or, strictly, below) the number.
  func floor(strictly: Bool) -> Int128? {
    switch self {
    case .integer(let integer): return strictly ? integer - 1 : integer
    case .real(let real):
      if real.isNaN { return nil }
      let down = real.rounded(.down)
      let integer = down > 0x1p99 ? Self.far : down < -0x1p99 ? -Self.far : Int128(down)
      return strictly && down == real ? integer - 1 : integer
    }
  }

  /// Least double at or above (strictly: above) the number.
  func least(strictly: Bool) -> Double? {
    switch self {
    case .integer(let integer):
      let near = Double(integer)
      let exact = Int128(near)
      return exact < integer || (strictly && exact == integer) ? near.nextUp : near
    case .real(let real):
      if real.isNaN { return nil }
      guard strictly else { return real }
      return real == .infinity ? nil : real.nextUp
    }
  }

  /// Greatest double at or below (strictly: below) the number.
  func greatest(strictly: Bool) -> Double? {
    switch self {
    case .integer(let integer):
      let near = Double(integer)
      let exact = Int128(near)
      return exact > integer || (strictly && exact == integer) ? near.nextDown : near
    case .real(let real):
      if real.isNaN { return nil }
      guard strictly else { return real }
      return real == -.infinity ? nil : real.nextDown
    }
  }
}

extension Float {
  /// Least Float at or above a double.
  init(atLeast double: Double) {
    let near = Float(double)
    self = Double(near) < double ? near.nextUp : near
  }

  /// Greatest Float at or below a double.
  init(atMost double: Double) {
    let near = Float(double)
    self = Double(near) > double ? near.nextDown : near
  }
}

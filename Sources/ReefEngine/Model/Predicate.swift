/// A condition over one object, by column number: what typed and text conditions both build, and what the scan,
/// the planner and live queries evaluate. Semantics are `docs/semantics.md`: nil is a value, `not` is the exact complement.
public indirect enum Predicate: Hashable, Sendable {
  public enum Comparison: UInt8, Hashable, Sendable { case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual }
  public enum TextMatch: UInt8, Hashable, Sendable { case prefix, suffix, contains }

  case always(Bool)
  case compare(column: Int, Comparison, Value)
  case within(column: Int, [Value])
  /// lower ≤ value ≤ upper, or < upper where `includesUpper` is false
  case between(column: Int, lower: Value, upper: Value, includesUpper: Bool)
  /// String by scalars, Data by bytes
  case text(column: Int, TextMatch, Value)
  case not(Predicate)
  case and([Predicate])
  case or([Predicate])
}

/// One key of an order: a column, ascending or descending. Ties keep stored order.
public struct SortKey: Hashable, Sendable {
  public var column: Int
  public var ascending: Bool
  public init(column: Int, ascending: Bool = true) {
    self.column = column
    self.ascending = ascending
  }
}

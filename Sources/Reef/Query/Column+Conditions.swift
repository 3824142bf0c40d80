import FoundationEssentials

extension Column {
  @usableFromInline func compare(_ comparison: ReefEngine.Predicate.Comparison, _ value: V) -> Condition<M> {
    Condition(.compare(column: number, comparison, value.storedValue))
  }

  /// The property has this value; nil equals nil.
  public static func == (column: Column, value: V) -> Condition<M> { column.compare(.equal, value) }
  /// The property has another value; nil differs from every value.
  public static func != (column: Column, value: V) -> Condition<M> { column.compare(.notEqual, value) }

  /// The property has one of these values.
  public func `in`(_ values: some Sequence<V>) -> Condition<M> {
    Condition(.within(column: number, values.map(\.storedValue)))
  }
  /// The property has one of these values.
  public func `in`(_ values: [V]) -> Condition<M> { Condition(.within(column: number, values.map(\.storedValue))) }
}

extension Column where V: OrderedStorable {
  /// Less than `value`. False where either is nil.
  public static func < (column: Column, value: V) -> Condition<M> { column.compare(.less, value) }
  /// Less than or equal to `value`; nil equals nil.
  public static func <= (column: Column, value: V) -> Condition<M> { column.compare(.lessOrEqual, value) }
  /// Greater than `value`. False where either is nil.
  public static func > (column: Column, value: V) -> Condition<M> { column.compare(.greater, value) }
  /// Greater than or equal to `value`; nil equals nil.
  public static func >= (column: Column, value: V) -> Condition<M> { column.compare(.greaterOrEqual, value) }
}

extension Column where V: OrderedStorable & StorableScalar & Comparable {
  /// From the range's lower to its upper bound, both included.
  public func between(_ range: ClosedRange<V>) -> Condition<M> {
    Condition(
      .between(
        column: number, lower: range.lowerBound.storedValue, upper: range.upperBound.storedValue, includesUpper: true))
  }
  /// From the range's lower bound up to its upper bound, which is not included.
  public func between(_ range: Range<V>) -> Condition<M> {
    Condition(
      .between(
        column: number, lower: range.lowerBound.storedValue, upper: range.upperBound.storedValue, includesUpper: false))
  }
}

extension Column {
  /// From the range's lower to its upper bound, both included. Nil lies in no range.
  public func between<W: OrderedStorable & StorableScalar & Comparable>(_ range: ClosedRange<W>) -> Condition<M>
  where V == W? {
    Column<M, W>(number).between(range)
  }
  /// From the range's lower bound up to its upper bound, which is not included. Nil lies in no range.
  public func between<W: OrderedStorable & StorableScalar & Comparable>(_ range: Range<W>) -> Condition<M>
  where V == W? {
    Column<M, W>(number).between(range)
  }
}

/// Text and bytes, optional or not: what `hasPrefix`, `hasSuffix` and `contains` work on.
public protocol StorableSequence: Storable {
  associatedtype Part: StorableScalar
}

extension String: StorableSequence { public typealias Part = String }
extension Data: StorableSequence { public typealias Part = Data }
extension Optional: StorableSequence where Wrapped: StorableSequence & StorableScalar {
  public typealias Part = Wrapped
}

extension Column where V: StorableSequence {
  /// The text starts with these Unicode scalars (Data: these bytes). Every value starts with the empty one; nil does not.
  public func hasPrefix(_ part: V.Part) -> Condition<M> {
    Condition(.text(column: number, .prefix, part.storedValue))
  }
  /// The text ends with these Unicode scalars (Data: these bytes). Every value ends with the empty one; nil does not.
  public func hasSuffix(_ part: V.Part) -> Condition<M> {
    Condition(.text(column: number, .suffix, part.storedValue))
  }
  /// The text has these Unicode scalars (Data: these bytes) somewhere. Every value contains the empty one; nil does not.
  public func contains(_ part: V.Part) -> Condition<M> {
    Condition(.text(column: number, .contains, part.storedValue))
  }
}

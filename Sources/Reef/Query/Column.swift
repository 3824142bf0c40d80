/// A stored property of `M` with values of type `V`: what conditions and orders are written with.
///
/// ``Model()`` makes one for each property, in `M.Columns`.
public struct Column<M: Model, V: Storable>: Hashable, Sendable {
  /// Position of the property in the schema.
  public let number: Int
  /// The property at this position. It must have values of type `V`: a condition on another kind is refused when it is run.
  @inlinable public init(_ number: Int) { self.number = number }
}

/// A condition on the objects of one type.
///
/// Made by comparing columns and combining the comparisons with `&&`, `||` and `!`:
///
/// ```swift
/// ships.where { $0.maxSpeed > 100 && ($0.launched == nil || $0.name.hasPrefix("R")) }
/// ```
///
/// Meaning: nil is a value, equal to nil only, neither less nor greater than anything; `!` is the exact complement.
/// Text is compared by Unicode scalars, which is stricter than Swift's `==`. NaN equals nothing.
public struct Condition<M: Model>: Hashable, Sendable {
  /// The condition without its type, by column number.
  public let predicate: ReefEngine.Predicate
  /// A condition from its untyped form.
  public init(_ predicate: ReefEngine.Predicate) { self.predicate = predicate }

  /// True for every object.
  public static var all: Condition { Condition(.always(true)) }
  /// True for no object.
  public static var none: Condition { Condition(.always(false)) }

  /// Both hold.
  public static func && (left: Condition, right: Condition) -> Condition {
    Condition(left.predicate.joined(with: right.predicate, as: .and))
  }

  /// At least one holds.
  public static func || (left: Condition, right: Condition) -> Condition {
    Condition(left.predicate.joined(with: right.predicate, as: .or))
  }

  /// Holds for exactly the objects for which `condition` does not.
  public static prefix func ! (condition: Condition) -> Condition { Condition(.not(condition.predicate)) }
}

extension Model {
  /// A condition on objects of this type, for use apart from a result.
  ///
  /// ```swift
  /// try transaction.delete(Spaceship.where { $0.launched == nil })
  /// ```
  public static func `where`(_ condition: (Columns) -> Condition<Self>) -> Condition<Self> { condition(columns) }
}

extension ReefEngine.Predicate {
  enum Joint { case and, or }

  /// One flat list instead of a chain of pairs: `a && b && c` is evaluated as one conjunction.
  func joined(with other: ReefEngine.Predicate, as joint: Joint) -> ReefEngine.Predicate {
    switch (joint, self, other) {
    case (.and, .always(true), let rest), (.and, let rest, .always(true)): rest
    case (.or, .always(false), let rest), (.or, let rest, .always(false)): rest
    case (.and, .and(let left), .and(let right)): .and(left + right)
    case (.and, .and(let left), let right): .and(left + [right])
    case (.and, let left, .and(let right)): .and([left] + right)
    case (.and, let left, let right): .and([left, right])
    case (.or, .or(let left), .or(let right)): .or(left + right)
    case (.or, .or(let left), let right): .or(left + [right])
    case (.or, let left, .or(let right)): .or([left] + right)
    case (.or, let left, let right): .or([left, right])
    }
  }
}

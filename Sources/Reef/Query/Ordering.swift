/// Which way an order goes.
public enum SortDirection: Hashable, Sendable { case ascending, descending }

/// One key of an order, for ``Results/sorted(by:)-(Ordering<M>...)``.
///
/// ```swift
/// ships.sorted(by: .descending(\.maxSpeed), .ascending(\.name))
/// ```
public struct Ordering<M: Model>: Hashable, Sendable {
  /// The key without its type, by column number.
  public let sortKey: SortKey

  /// By a property, one way or the other.
  public init<V: Storable>(_ property: KeyPath<M.Columns, Column<M, V>>, _ direction: SortDirection) {
    sortKey = SortKey(column: M.columns[keyPath: property].number, ascending: direction == .ascending)
  }

  /// Smallest first, nil before every value, NaN before every number.
  public static func ascending<V: Storable>(_ property: KeyPath<M.Columns, Column<M, V>>) -> Ordering {
    Ordering(property, .ascending)
  }

  /// Greatest first, nil last.
  public static func descending<V: Storable>(_ property: KeyPath<M.Columns, Column<M, V>>) -> Ordering {
    Ordering(property, .descending)
  }
}

/// What a result asks for, without its type: a condition, an order and a window over one table, or over another plan's
/// window.
struct QueryPlan: Hashable, Sendable {
  var table: Int
  var predicate: ReefEngine.Predicate = .always(true)
  /// Given by the caller; empty: stored order.
  var order: [SortKey] = []
  var offset = 0
  var limit: Int?
  /// What this one filters and sorts, where it is not the table itself: one plan that has a window, else empty.
  var inner: [QueryPlan] = []

  var hasWindow: Bool { offset > 0 || limit != nil }

  /// This plan as the source of a further condition or order: a window comes before what is written after it.
  private var asSource: QueryPlan {
    guard hasWindow else { return self }
    return QueryPlan(table: table, inner: [self])
  }

  func filtered(by condition: ReefEngine.Predicate) -> QueryPlan {
    var plan = asSource
    plan.predicate = plan.predicate.joined(with: condition, as: .and)
    return plan
  }

  /// The new keys come first; where they tie, the order that was there before holds.
  func ordered(by keys: [SortKey]) -> QueryPlan {
    var plan = asSource
    let columns = Set(keys.map(\.column))
    plan.order = keys + plan.order.filter { !columns.contains($0.column) }
    return plan
  }

  func dropping(_ count: Int) -> QueryPlan {
    var plan = self
    plan.offset += count
    if let limit { plan.limit = max(0, limit - count) }
    return plan
  }

  func limited(to count: Int) -> QueryPlan {
    var plan = self
    plan.limit = min(limit ?? .max, count)
    return plan
  }

  /// How many of `count` objects the window leaves.
  func windowed(_ count: Int) -> Int { min(max(0, count - offset), limit ?? .max) }
}

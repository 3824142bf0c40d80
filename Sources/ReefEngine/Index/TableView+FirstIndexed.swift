extension TableView {
  /// What an index says at once about the first match of a plain equality.
  package enum IndexedFirst {
    /// No index, or none that answers by itself.
    case unknown
    case absent
    case row(RowPosition)
  }

  /// The first row in the order of object keys that matches `predicate`, where that compares an indexed property with a
  /// value that its index holds whole. Compiles nothing and allocates nothing.
  package func firstIndexed(_ predicate: Predicate, for schema: TypeSchema) throws(StoreError) -> IndexedFirst {
    guard case .compare(let column, .equal, let value) = predicate, schema.properties.indices.contains(column),
      schema.properties[column].isIndexed, value != .null
    else { return .unknown }
    switch schema.keyKind {
    case .integer(column): return .unknown
    case .indexed: return .unknown  // stored order is that of another key
    default: break
    }
    let property = schema.properties[column]
    // NaN equals itself in an index and nothing in a condition.
    if property.type == .double || property.type == .float || property.type == .date { return .unknown }
    guard let place = schema.indexedColumns.firstIndex(of: column), place < indexCount else { return .unknown }
    var key = IndexKey()
    guard key.encode(value, type: property.type, isOptional: property.isOptional), key.isExact else { return .unknown }
    let (root, depth) = try index(place)
    guard let found = try IndexView(view: view, root: root, depth: depth).find(key) else { return .absent }
    guard let position = try find(key: found) else {
      throw view.damaged("an index names an object that is not there")
    }
    return .row(position)
  }
}

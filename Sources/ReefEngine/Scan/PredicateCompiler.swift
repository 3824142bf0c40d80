/// Turns a condition into nodes, once per query: checks types, resolves nil, and turns every comparison into a range.
struct PredicateCompiler {
  let schema: TypeSchema

  func compile(_ predicate: Predicate) throws(StoreError) -> PredicateNode {
    switch predicate {
    case .always(let answer):
      return ConstantNode(answer)
    case .not(let child):
      return inverted(try compile(child))
    case .and(let children):
      var nodes: [PredicateNode] = []
      for child in children { nodes.append(try compile(child)) }
      return all(nodes)
    case .or(let children):
      var nodes: [PredicateNode] = []
      for child in children { nodes.append(try compile(child)) }
      return any(nodes)
    case .compare(let column, let comparison, let value):
      return try compare(property(column), comparison, value)
    case .between(let column, let lower, let upper, let includesUpper):
      let operand = try property(column)
      let low = try compare(operand, .greaterOrEqual, lower)
      let high = try compare(operand, includesUpper ? .lessOrEqual : .less, upper)
      return all([low, high])
    case .within(let column, let values):
      return try within(property(column), values)
    case .text(let column, let match, let value):
      return try text(property(column), match, value)
    }
  }

  /// What a condition is about.
  struct Operand {
    let column: Int
    let name: String
    let type: ValueType
    let isOptional: Bool
    let isKey: Bool
  }

  private func property(_ column: Int) throws(StoreError) -> Operand {
    guard schema.properties.indices.contains(column) else {
      throw .invalidArgument("\(schema.name) has no property at position \(column)")
    }
    let property = schema.properties[column]
    var isKey = false
    if case .integer(column) = schema.keyKind { isKey = true }
    return Operand(
      column: column, name: property.name, type: property.type, isOptional: property.isOptional && !isKey, isKey: isKey)
  }

  func mismatch(_ operand: Operand, _ value: Value) -> StoreError {
    .invalidArgument("\(schema.name).\(operand.name) holds \(operand.type) values and does not compare with \(value)")
  }
}

// Logic
extension PredicateCompiler {
  private func inverted(_ node: PredicateNode) -> PredicateNode {
    switch node {
    case let node as ConstantNode: ConstantNode(!node.answer)
    case let node as KeyNode: KeyNode(node.keys.complement)
    case let node as NotNode: node.child
    default: NotNode(node)
    }
  }

  /// Flattened, without constants, and with ranges over one column made one.
  func all(_ nodes: [PredicateNode]) -> PredicateNode {
    var result: [PredicateNode] = []
    for node in nodes.flatMap({ ($0 as? AndNode)?.children ?? [$0] }) {
      if let constant = node as? ConstantNode {
        if !constant.answer { return constant }
        continue
      }
      if let index = result.firstIndex(where: { intersection($0, node) != nil }) {
        let both = intersection(result[index], node)
        if let constant = both as? ConstantNode, !constant.answer { return constant }
        if let both { result[index] = both }
      } else {
        result.append(node)
      }
    }
    return result.isEmpty ? ConstantNode(true) : result.count == 1 ? result[0] : AndNode(result)
  }

  func any(_ nodes: [PredicateNode]) -> PredicateNode {
    var result: [PredicateNode] = []
    var keys: KeyRanges?
    for node in nodes.flatMap({ ($0 as? OrNode)?.children ?? [$0] }) {
      if let constant = node as? ConstantNode {
        if constant.answer { return constant }
      } else if let node = node as? KeyNode {
        keys = keys?.union(node.keys) ?? node.keys
      } else {
        result.append(node)
      }
    }
    if let keys { result.append(KeyNode(keys)) }
    return result.isEmpty ? ConstantNode(false) : result.count == 1 ? result[0] : OrNode(result)
  }

  /// One node for two ranges over one column.
  private func intersection(_ a: PredicateNode, _ b: PredicateNode) -> PredicateNode? {
    switch (a, b) {
    case (let a as KeyNode, let b as KeyNode):
      return key(a.keys.intersection(b.keys))
    case (let a as IntegerNode, let b as IntegerNode) where a.column == b.column:
      let (lower, upper) = (max(a.lower, b.lower), min(a.upper, b.upper))
      guard lower <= upper else { return ConstantNode(false) }
      return IntegerNode(column: a.column, isOptional: a.isOptional, lower: lower, upper: upper)
    case (let a as UnsignedNode, let b as UnsignedNode) where a.column == b.column:
      let (lower, upper) = (max(a.lower, b.lower), min(a.upper, b.upper))
      guard lower <= upper else { return ConstantNode(false) }
      return UnsignedNode(column: a.column, isOptional: a.isOptional, lower: lower, upper: upper)
    case (let a as DoubleNode, let b as DoubleNode) where a.column == b.column:
      let (lower, upper) = (max(a.lower, b.lower), min(a.upper, b.upper))
      guard lower <= upper else { return ConstantNode(false) }
      return DoubleNode(column: a.column, isOptional: a.isOptional, lower: lower, upper: upper)
    case (let a as FloatNode, let b as FloatNode) where a.column == b.column:
      let (lower, upper) = (max(a.lower, b.lower), min(a.upper, b.upper))
      guard lower <= upper else { return ConstantNode(false) }
      return FloatNode(column: a.column, isOptional: a.isOptional, lower: lower, upper: upper)
    default:
      return nil
    }
  }

  func key(_ keys: KeyRanges) -> PredicateNode { keys.ranges.isEmpty ? ConstantNode(false) : KeyNode(keys) }

  func null(_ operand: Operand) -> PredicateNode {
    operand.isOptional ? NullNode(column: operand.column) : ConstantNode(false)
  }

  fileprivate func compare(
    _ operand: Operand, _ comparison: Predicate.Comparison, _ value: Value
  ) throws(StoreError) -> PredicateNode {
    if comparison == .notEqual { return inverted(try compare(operand, .equal, value)) }
    if value == .null {
      // nil is equal to nil, and neither less nor greater.
      switch comparison {
      case .equal, .lessOrEqual, .greaterOrEqual: return null(operand)
      default: return ConstantNode(false)
      }
    }
    switch operand.type {
    case .bool: return try bool(operand, comparison, value)
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64:
      return try integer(operand, comparison, value)
    case .float, .double, .date: return try real(operand, comparison, value)
    case .string, .data: return try bytes(operand, comparison, value)
    case .uuid: return try uuid(operand, comparison, value)
    }
  }
}

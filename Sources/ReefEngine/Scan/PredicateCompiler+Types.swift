// One function per kind of property: a comparison with a constant becomes a range.
extension PredicateCompiler {
  func integer(
    _ operand: Operand, _ comparison: Predicate.Comparison, _ value: Value
  ) throws(StoreError) -> PredicateNode {
    guard let number = Number(value) else { throw mismatch(operand, value) }
    var lower = operand.type == .uint64 ? Int128(0) : Int128(Int64.min)
    var upper = operand.type == .uint64 ? Int128(UInt64.max) : Int128(Int64.max)
    if comparison == .equal || comparison == .greaterOrEqual || comparison == .greater {
      guard let bound = number.ceiling(strictly: comparison == .greater) else { return ConstantNode(false) }
      lower = max(lower, bound)
    }
    if comparison == .equal || comparison == .lessOrEqual || comparison == .less {
      guard let bound = number.floor(strictly: comparison == .less) else { return ConstantNode(false) }
      upper = min(upper, bound)
    }
    guard lower <= upper else { return ConstantNode(false) }
    if operand.isKey { return key(KeyRanges(Int64(lower), Int64(upper))) }
    if operand.type == .uint64 {
      return UnsignedNode(
        column: operand.column, isOptional: operand.isOptional, lower: UInt64(lower), upper: UInt64(upper))
    }
    return IntegerNode(
      column: operand.column, isOptional: operand.isOptional, lower: Int64(lower), upper: Int64(upper))
  }

  func number(_ operand: Operand, _ value: Value) throws(StoreError) -> Number {
    if operand.type == .date {
      guard case .date(let seconds) = value else { throw mismatch(operand, value) }
      return .real(seconds)
    }
    guard let number = Number(value) else { throw mismatch(operand, value) }
    return number
  }

  func real(
    _ operand: Operand, _ comparison: Predicate.Comparison, _ value: Value
  ) throws(StoreError) -> PredicateNode {
    let number = try number(operand, value)
    var lower = -Double.infinity
    var upper = Double.infinity
    if comparison == .equal || comparison == .greaterOrEqual || comparison == .greater {
      guard let bound = number.least(strictly: comparison == .greater) else { return ConstantNode(false) }
      lower = bound
    }
    if comparison == .equal || comparison == .lessOrEqual || comparison == .less {
      guard let bound = number.greatest(strictly: comparison == .less) else { return ConstantNode(false) }
      upper = bound
    }
    guard lower <= upper else { return ConstantNode(false) }
    guard operand.type == .float else {
      return DoubleNode(column: operand.column, isOptional: operand.isOptional, lower: lower, upper: upper)
    }
    let (least, greatest) = (Float(atLeast: lower), Float(atMost: upper))
    guard least <= greatest else { return ConstantNode(false) }
    return FloatNode(column: operand.column, isOptional: operand.isOptional, lower: least, upper: greatest)
  }

  func bool(
    _ operand: Operand, _ comparison: Predicate.Comparison, _ value: Value
  ) throws(StoreError) -> PredicateNode {
    guard case .bool(let constant) = value else { throw mismatch(operand, value) }
    func holds(_ bool: Bool) -> Bool {
      switch comparison {
      case .equal: bool == constant
      case .notEqual: bool != constant
      case .less: !bool && constant
      case .lessOrEqual: !bool || constant
      case .greater: bool && !constant
      case .greaterOrEqual: bool || !constant
      }
    }
    return BoolNode(
      column: operand.column, isOptional: operand.isOptional, matchesFalse: holds(false), matchesTrue: holds(true))
  }

  func uuid(
    _ operand: Operand, _ comparison: Predicate.Comparison, _ value: Value
  ) throws(StoreError) -> PredicateNode {
    guard case .uuid(let constant) = value else { throw mismatch(operand, value) }
    var lower = UUIDBytes(high: 0, low: 0)
    var upper = UUIDBytes(high: .max, low: .max)
    switch comparison {
    case .equal: (lower, upper) = (constant, constant)
    case .greaterOrEqual: lower = constant
    case .lessOrEqual: upper = constant
    case .greater:
      guard constant < upper else { return ConstantNode(false) }
      lower = UUIDBytes(high: constant.low == .max ? constant.high + 1 : constant.high, low: constant.low &+ 1)
    default:
      guard constant > lower else { return ConstantNode(false) }
      upper = UUIDBytes(high: constant.low == 0 ? constant.high - 1 : constant.high, low: constant.low &- 1)
    }
    return UUIDNode(column: operand.column, isOptional: operand.isOptional, lower: lower, upper: upper)
  }

  func constantBytes(_ operand: Operand, _ value: Value) throws(StoreError) -> [UInt8] {
    switch (operand.type, value) {
    case (.string, .string(let string)): return [UInt8](string.utf8)
    case (.data, .data(let data)): return data
    default: throw mismatch(operand, value)
    }
  }

  func bytes(
    _ operand: Operand, _ comparison: Predicate.Comparison, _ value: Value
  ) throws(StoreError) -> PredicateNode {
    let needle = try constantBytes(operand, value)
    let relation: BytesNode.Relation
    switch comparison {
    case .equal, .notEqual: relation = .equal
    case .less, .greaterOrEqual: relation = .less
    case .lessOrEqual, .greater: relation = .lessOrEqual
    }
    return BytesNode(
      column: operand.column, isOptional: operand.isOptional, relation: relation,
      isInverted: comparison == .greater || comparison == .greaterOrEqual, needle: needle)
  }

  func text(
    _ operand: Operand, _ match: Predicate.TextMatch, _ value: Value
  ) throws(StoreError) -> PredicateNode {
    guard operand.type == .string || operand.type == .data else { throw mismatch(operand, value) }
    if value == .null { return ConstantNode(false) }
    let relation: BytesNode.Relation
    switch match {
    case .prefix: relation = .prefix
    case .suffix: relation = .suffix
    case .contains: relation = .contains
    }
    return BytesNode(
      column: operand.column, isOptional: operand.isOptional, relation: relation,
      needle: try constantBytes(operand, value))
  }

  func within(_ operand: Operand, _ values: [Value]) throws(StoreError) -> PredicateNode {
    let others = values.filter { $0 != .null }
    var nodes = values.count == others.count ? [] : [null(operand)]
    let isSmall = others.count <= 6 || operand.isKey || operand.type == .bool || operand.type == .uuid
    guard !isSmall else {
      for value in others { nodes.append(try equal(operand, value)) }
      return any(nodes)
    }
    switch operand.type {
    case .string, .data:
      var needles: [[UInt8]] = []
      for value in others { needles.append(try constantBytes(operand, value)) }
      nodes.append(BytesSetNode(column: operand.column, isOptional: operand.isOptional, values: needles))
    default:
      var codes: [UInt64] = []
      for value in others {
        switch try equal(operand, value) {
        case let node as IntegerNode: codes.append(UInt64(bitPattern: node.lower))
        case let node as UnsignedNode: codes.append(node.lower)
        case let node as DoubleNode: codes += NumberSetNode.code(node.lower).map { [$0] } ?? []
        case let node as FloatNode: codes += NumberSetNode.code(Double(node.lower)).map { [$0] } ?? []
        default: break  // equal to no value of this type
        }
      }
      nodes.append(
        NumberSetNode(column: operand.column, isOptional: operand.isOptional, type: operand.type, codes: codes))
    }
    return any(nodes)
  }

  private func equal(_ operand: Operand, _ value: Value) throws(StoreError) -> PredicateNode {
    switch operand.type {
    case .bool: try bool(operand, .equal, value)
    case .float, .double, .date: try real(operand, .equal, value)
    case .string, .data: try bytes(operand, .equal, value)
    case .uuid: try uuid(operand, .equal, value)
    default: try integer(operand, .equal, value)
    }
  }
}

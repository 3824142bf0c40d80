import Foundation
import Reef
import Testing

/// Every kind of condition, on every kind of property, against Swift's own filter over the same random objects; on a
/// snapshot, and inside a transaction.
@Suite struct ConditionTests {
  typealias Case = (name: String, condition: Condition<Everything>, test: (Everything) -> Bool)

  static func numbers<V: OrderedStorable & StorableScalar & Comparable>(
    _ name: String, _ column: (Everything.Columns) -> Column<Everything, V>, _ get: @escaping (Everything) -> V,
    _ value: V,
    _ upper: V
  ) -> [Case] {
    let column = column(Everything.columns)
    let low = min(value, upper)
    let high = max(value, upper)
    return [
      ("\(name) ==", column == value, { get($0) == value }),
      ("\(name) !=", column != value, { get($0) != value }),
      ("\(name) <", column < value, { get($0) < value }),
      ("\(name) <=", column <= value, { get($0) <= value }),
      ("\(name) >", column > value, { get($0) > value }),
      ("\(name) >=", column >= value, { get($0) >= value }),
      ("\(name) in", column.in([value, upper]), { [value, upper].contains(get($0)) }),
      ("\(name) in none", column.in([V]()), { _ in false }),
      ("\(name) between", column.between(low...high), { (low...high).contains(get($0)) }),
      ("\(name) between half open", column.between(low..<high), { (low..<high).contains(get($0)) }),
      ("\(name) not <", !(column < value), { !(get($0) < value) }),
    ]
  }

  static func optionals<V: OrderedStorable & StorableScalar & Comparable>(
    _ name: String, _ column: (Everything.Columns) -> Column<Everything, V?>, _ get: @escaping (Everything) -> V?,
    _ value: V, _ upper: V
  ) -> [Case] {
    let column = column(Everything.columns)
    let low = min(value, upper)
    let high = max(value, upper)
    return [
      ("\(name) == nil", column == nil, { get($0) == nil }),
      ("\(name) != nil", column != nil, { get($0) != nil }),
      ("\(name) ==", column == value, { get($0) == value }),
      ("\(name) !=", column != value, { get($0) != value }),
      ("\(name) <", column < value, { get($0).map { $0 < value } ?? false }),
      ("\(name) <=", column <= value, { get($0).map { $0 <= value } ?? false }),
      ("\(name) >", column > value, { get($0).map { $0 > value } ?? false }),
      ("\(name) >=", column >= value, { get($0).map { $0 >= value } ?? false }),
      ("\(name) <= nil", column <= nil, { get($0) == nil }),
      ("\(name) >= nil", column >= nil, { get($0) == nil }),
      ("\(name) < nil", column < nil, { _ in false }),
      ("\(name) > nil", column > nil, { _ in false }),
      ("\(name) in", column.in([value, nil]), { get($0) == nil || get($0) == value }),
      ("\(name) between", column.between(low...high), { get($0).map { (low...high).contains($0) } ?? false }),
      ("\(name) not between", !column.between(low..<high), { !(get($0).map { (low..<high).contains($0) } ?? false) }),
      ("\(name) not >", !(column > value), { !(get($0).map { $0 > value } ?? false) }),
    ]
  }

  static func texts(_ value: String, _ other: String, _ part: String) -> [Case] {
    let column = Everything.columns.string
    let optional = Everything.columns.stringOrNil
    return [
      ("string ==", column == value, { $0.string.scalarsEqual(value) }),
      ("string !=", column != value, { !$0.string.scalarsEqual(value) }),
      ("string <", column < value, { $0.string.scalarsPrecede(value) }),
      ("string <=", column <= value, { !value.scalarsPrecede($0.string) }),
      ("string >", column > value, { value.scalarsPrecede($0.string) }),
      ("string >=", column >= value, { !$0.string.scalarsPrecede(value) }),
      ("string in", column.in([value, other]), { $0.string.scalarsEqual(value) || $0.string.scalarsEqual(other) }),
      ("prefix", column.hasPrefix(part), { $0.string.utf8.starts(with: part.utf8) }),
      ("suffix", column.hasSuffix(part), { $0.string.utf8.reversed().starts(with: part.utf8.reversed()) }),
      ("contains", column.contains(part), { $0.string.scalarsContain(part) }),
      ("not contains", !column.contains(part), { !$0.string.scalarsContain(part) }),
      ("contains empty", column.contains(""), { _ in true }),
      ("optional contains empty", optional.contains(""), { $0.stringOrNil != nil }),
      ("optional ==", optional == value, { $0.stringOrNil.map { $0.scalarsEqual(value) } ?? false }),
      ("optional != ", optional != value, { !($0.stringOrNil.map { $0.scalarsEqual(value) } ?? false) }),
      ("optional nil", optional == nil, { $0.stringOrNil == nil }),
      ("optional <", optional < value, { $0.stringOrNil.map { $0.scalarsPrecede(value) } ?? false }),
      ("optional prefix", optional.hasPrefix(part), { $0.stringOrNil?.utf8.starts(with: part.utf8) ?? false }),
      ("optional not prefix", !optional.hasPrefix(part), { !($0.stringOrNil?.utf8.starts(with: part.utf8) ?? false) }),
      (
        "optional suffix", optional.hasSuffix(part),
        {
          $0.stringOrNil?.utf8.reversed().starts(with: part.utf8.reversed()) ?? false
        }
      ),
    ]
  }

  static func others(_ sample: Everything) -> [Case] {
    let columns = Everything.columns
    let (data, uuid) = (sample.data, sample.uuid)
    let start = data.prefix(1)
    return [
      ("flag", columns.flag == true, { $0.flag }),
      ("flag false", columns.flag == false, { !$0.flag }),
      ("flag !=", columns.flag != true, { !$0.flag }),
      ("flag in", columns.flag.in([true, false]), { _ in true }),
      ("flagOrNil", columns.flagOrNil == true, { $0.flagOrNil == true }),
      ("flagOrNil !=", columns.flagOrNil != true, { $0.flagOrNil != true }),
      ("flagOrNil nil", columns.flagOrNil == nil, { $0.flagOrNil == nil }),
      ("data ==", columns.data == data, { $0.data == data }),
      ("data <", columns.data < data, { $0.data.lexicographicallyPrecedes(data) }),
      ("data >=", columns.data >= data, { !$0.data.lexicographicallyPrecedes(data) }),
      ("data prefix", columns.data.hasPrefix(start), { $0.data.starts(with: start) }),
      ("data nil", columns.dataOrNil == nil, { $0.dataOrNil == nil }),
      ("data !=", columns.dataOrNil != data, { $0.dataOrNil != data }),
      ("uuid ==", columns.uuid == uuid, { $0.uuid == uuid }),
      ("uuid <", columns.uuid < uuid, { $0.uuid.bytes.lexicographicallyPrecedes(uuid.bytes) }),
      ("uuid >", columns.uuid > uuid, { uuid.bytes.lexicographicallyPrecedes($0.uuid.bytes) }),
      ("uuid in", columns.uuid.in([uuid, UUID()]), { $0.uuid == uuid }),
      ("uuidOrNil nil", columns.uuidOrNil != nil, { $0.uuidOrNil != nil }),
      ("all", .all, { _ in true }),
      ("none", .none, { _ in false }),
      ("not all", !.all, { _ in false }),
    ]
  }

  static func cases(_ samples: Samples, _ random: inout SeededRandom) -> [Case] {
    let (a, b) = (random.pick(samples.objects), random.pick(samples.objects))
    var cases = numbers("id", { $0.id }, { $0.id }, a.id, b.id)
    cases += numbers("int", { $0.int }, { $0.int }, a.int, b.int)
    cases += numbers("int8", { $0.int8 }, { $0.int8 }, a.int8, b.int8)
    cases += numbers("int16", { $0.int16 }, { $0.int16 }, a.int16, b.int16)
    cases += numbers("int32", { $0.int32 }, { $0.int32 }, a.int32, b.int32)
    cases += numbers("int64", { $0.int64 }, { $0.int64 }, a.int64, b.int64)
    cases += numbers("uint", { $0.uint }, { $0.uint }, a.uint, b.uint)
    cases += numbers("uint8", { $0.uint8 }, { $0.uint8 }, a.uint8, b.uint8)
    cases += numbers("uint16", { $0.uint16 }, { $0.uint16 }, a.uint16, b.uint16)
    cases += numbers("uint32", { $0.uint32 }, { $0.uint32 }, a.uint32, b.uint32)
    cases += numbers("uint64", { $0.uint64 }, { $0.uint64 }, a.uint64, b.uint64)
    cases += numbers("float", { $0.float }, { $0.float }, a.float, b.float)
    cases += numbers("double", { $0.double }, { $0.double }, a.double, b.double)
    cases += numbers("date", { $0.date }, { $0.date }, a.date, b.date)
    cases += optionals("intOrNil", { $0.intOrNil }, { $0.intOrNil }, a.int, b.int)
    cases += optionals("int8OrNil", { $0.int8OrNil }, { $0.int8OrNil }, a.int8, b.int8)
    cases += optionals("uint64OrNil", { $0.uint64OrNil }, { $0.uint64OrNil }, a.uint64, b.uint64)
    cases += optionals("floatOrNil", { $0.floatOrNil }, { $0.floatOrNil }, a.float, b.float)
    cases += optionals("doubleOrNil", { $0.doubleOrNil }, { $0.doubleOrNil }, a.double, b.double)
    cases += optionals("dateOrNil", { $0.dateOrNil }, { $0.dateOrNil }, a.date, b.date)
    cases += texts(a.string, b.string, String(b.string.unicodeScalars.prefix(2).map(Character.init)))
    cases += others(a)
    return cases
  }

  @Test(arguments: UInt64(1)...6)
  func eachKindAgainstFilter(seed: UInt64) throws {
    var random = SeededRandom(seed)
    let samples = try Samples(seed)
    let cases = Self.cases(samples, &random)
    let all = try samples.store.snapshot().objects(Everything.self)
    for (name, condition, test) in cases { expect(all, samples.objects, condition, test, "\(name), seed \(seed)") }
  }

  /// Trees of and, or, not over the single kinds.
  @Test(arguments: UInt64(11)...16)
  func combinations(seed: UInt64) throws {
    var random = SeededRandom(seed)
    let samples = try Samples(seed, count: 400)
    let cases = Self.cases(samples, &random)
    func tree(_ depth: Int) -> Case {
      guard depth > 0, random.chance(85) else { return random.pick(cases) }
      let left = tree(depth - 1)
      switch random.below(3) {
      case 0: return ("!(\(left.name))", !left.condition, { !left.test($0) })
      case 1:
        let right = tree(depth - 1)
        return (
          "(\(left.name) && \(right.name))", left.condition && right.condition, { left.test($0) && right.test($0) }
        )
      default:
        let right = tree(depth - 1)
        return (
          "(\(left.name) || \(right.name))", left.condition || right.condition, { left.test($0) || right.test($0) }
        )
      }
    }
    let all = try samples.store.snapshot().objects(Everything.self)
    for _ in 0..<60 {
      let (name, condition, test) = tree(4)
      expect(all, samples.objects, condition, test, "\(name), seed \(seed)")
    }
  }

  @Test func inTransactions() throws {
    var random = SeededRandom(99)
    var samples = try Samples(99, count: 300)
    try samples.store.write { transaction in
      var added = Everything.random(id: 700_000, &random)
      added.double = 12345
      try transaction.insert(added)
      samples.objects.append(added)
      try transaction.update(Everything.self, key: samples.objects[3].id) { $0.string = "changed here" }
      samples.objects[3].string = "changed here"
      try transaction.delete(Everything.self, key: samples.objects[5].id)
      samples.objects.remove(at: 5)
      let all = transaction.objects(Everything.self)
      for (name, condition, test) in Self.cases(samples, &random) {
        expect(all, samples.objects, condition, test, "\(name) in a transaction")
      }
      #expect(all.where { $0.string == "changed here" }.count == 1)
    }
  }

  private func expect(
    _ all: Results<Everything>, _ objects: [Everything], _ condition: Condition<Everything>,
    _ test: (Everything) -> Bool, _ name: String
  ) {
    let expected = objects.filter(test).map(\.id)
    let found = all.where(condition)
    #expect(found.map(\.id) == expected, "\(name)")
    #expect(found.count == expected.count && found.isEmpty == expected.isEmpty, "\(name)")
    #expect(found.first?.id == expected.first, "\(name)")
  }
}

import Foundation

extension SeededRandom {
  mutating func text() -> String {
    switch below(10) {
    case 0: ""
    case 1: String(repeating: pick(["x", "é", "🚀"]), count: below(400))
    case 2: pick(["e\u{301}", "é", "ß", "K", "\u{212a}", "nil", "R\u{0}x"])
    default: String((0..<below(12)).map { _ in pick(Array("abcRr éΩ")) })
    }
  }
  mutating func data() -> Data { Data((0..<below(chance(5) ? 2000 : 8)).map { _ in UInt8(below(256)) }) }
  mutating func int<T: FixedWidthInteger>(_ type: T.Type) -> T {
    chance(10) ? pick([.min, .max, 0]) : T(truncatingIfNeeded: below(40) - (T.isSigned ? 20 : 0))
  }
  mutating func double() -> Double {
    chance(15) ? pick([.infinity, -.infinity, 0, -0.0, .greatestFiniteMagnitude]) : Double(below(200) - 100) / 4
  }
  mutating func uuid() -> UUID {
    UUID(uuid: withUnsafeBytes(of: (next(), chance(50) ? next() : 0)) { $0.loadUnaligned(as: uuid_t.self) })
  }
  mutating func date() -> Date { Date(timeIntervalSinceReferenceDate: Double(below(1000)) * 1000.25) }
  mutating func orNil<T>(_ value: T) -> T? { chance(30) ? nil : value }
}

extension Everything {
  static func random(id: Int, _ random: inout SeededRandom) -> Everything {
    Everything(
      id: id, flag: random.chance(50), int: random.int(Int.self), int8: random.int(Int8.self),
      int16: random.int(Int16.self), int32: random.int(Int32.self), int64: random.int(Int64.self),
      uint: random.int(UInt.self), uint8: random.int(UInt8.self), uint16: random.int(UInt16.self),
      uint32: random.int(UInt32.self), uint64: random.int(UInt64.self), float: Float(random.double()),
      double: random.double(), string: random.text(), data: random.data(), date: random.date(), uuid: random.uuid(),
      flagOrNil: random.orNil(random.chance(50)), intOrNil: random.orNil(random.int(Int.self)),
      int8OrNil: random.orNil(random.int(Int8.self)), uint64OrNil: random.orNil(random.int(UInt64.self)),
      floatOrNil: random.orNil(Float(random.double())), doubleOrNil: random.orNil(random.double()),
      stringOrNil: random.orNil(random.text()), dataOrNil: random.orNil(random.data()),
      dateOrNil: random.orNil(random.date()), uuidOrNil: random.orNil(random.uuid()), observed: random.below(5))
  }
}

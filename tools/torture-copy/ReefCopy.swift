import ReefEngine
import ReefSystem

/// The engine as one plug-in of a program brings it along, beside the program's own and other plug-ins': what a tenant of
/// `tools/torture environments` loads, once or twice. It obeys some of the same lines.
private final class Copy {
  static let rows: Int64 = 64
  static let type = TypeSchema("Pair", [PropertySchema("id", .int64), PropertySchema("value", .int64)], key: 0)
  var engine: Engine?
  var held: (transaction: WriteTransaction, value: Int64)?

  func value(_ view: ReadView) throws -> Int64 {
    var values: Set<Int64> = []
    try view.table(0).forEachLeaf { (leaf) throws(StoreError) in
      let column = try leaf.column(1)
      for row in 0..<leaf.count { values.insert(column.int(row)) }
      return true
    }
    guard values.count <= 1 else { throw StoreError.invalidArgument("mixed: \(values.sorted())") }
    return values.first ?? 0
  }

  func begin(within milliseconds: Int = 1500) throws -> (WriteTransaction, Int64) {
    guard let engine else { throw StoreError.closed }
    let transaction = try engine.write(.after(.milliseconds(milliseconds)))
    do {
      let next = try value(transaction.readView) + 1
      for row in 0..<Copy.rows {
        if try transaction.update(table: 0, key: row, column: 1, bits: UInt64(bitPattern: next)) == .missing {
          _ = try transaction.insert(table: 0) {
            $0.set(column: 0, int: row)
            $0.set(column: 1, int: next)
          }
        }
      }
      return (transaction, next)
    } catch {
      transaction.rollback()
      throw error
    }
  }

  func obey(_ words: [String]) throws -> Int64 {
    switch words[0] {
    case "open":
      var options = Session.Options(location: .file(words[1]))
      options.peerName = "copy"
      options.openTimeout = .seconds(2)
      options.reserve = 1 << 30
      engine = try Engine.open(EngineConfiguration(session: options, durability: .memory), Schema([Copy.type]))
    case "close":
      engine?.close()
      engine = nil
    case "commit":
      let (transaction, value) = try begin(within: words.count > 1 ? Int(words[1]) ?? 0 : 1500)
      _ = try transaction.commit()
      return value
    case "hold":
      held = try begin()
      return held?.value ?? 0
    case "release":
      guard let taken = held else { throw StoreError.closed }
      held = nil
      _ = try taken.transaction.commit()
      return taken.value
    case "read":
      guard let engine else { throw StoreError.closed }
      let pin = try engine.pin()
      return try value(pin.view)
    case "peers": return Int64(try engine?.session.peers().count ?? 0)
    default: throw StoreError.invalidArgument("unknown: \(words)")
    }
    return 0
  }
}

nonisolated(unsafe) private let copy = Copy()

/// Obeys a line; writes `ok N` or `error …`, and a zero, to `answer`, which has room for 1,024 bytes.
@_cdecl("reef_copy_obey")
public func reefCopyObey(_ line: UnsafePointer<CChar>, _ answer: UnsafeMutablePointer<CChar>) {
  var text: String
  do {
    text = "ok \(try copy.obey(String(cString: line).split(separator: " ").map(String.init)))"
  } catch {
    text = "error \(error)"
  }
  let bytes = text.utf8.prefix(1023)
  for (index, byte) in bytes.enumerated() { answer[index] = CChar(bitPattern: byte) }
  answer[bytes.count] = 0
}

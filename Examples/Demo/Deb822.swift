import Foundation

/// Debian's control file form: paragraphs of `Field: value` lines, parted by empty lines; a line that begins with a
/// space goes on with the field above.
enum Deb822 {
  /// Calls back for each paragraph with its wanted fields. Values keep only their first line, which is all that the
  /// catalogue needs of long ones.
  static func forEachParagraph(in text: Data, wanted: [String], _ body: ([String: String]) -> Void) {
    let names = Dictionary(uniqueKeysWithValues: wanted.map { (Array($0.utf8), $0) })
    let longest = wanted.map(\.utf8.count).max() ?? 0
    text.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) in
      var fields: [String: String] = [:]
      var start = 0
      while start < bytes.count {
        let end = lineEnd(bytes, from: start)
        if end == start {
          if !fields.isEmpty { body(fields) }
          fields.removeAll(keepingCapacity: true)
        } else if bytes[start] != UInt8(ascii: " "), bytes[start] != UInt8(ascii: "\t") {
          let limit = min(end, start + longest + 1)
          if let colon = (start..<limit).first(where: { bytes[$0] == UInt8(ascii: ":") }),
            let name = names[Array(bytes[start..<colon])]
          {
            var from = colon + 1
            while from < end, bytes[from] == UInt8(ascii: " ") { from += 1 }
            fields[name] = String(decoding: bytes[from..<end], as: UTF8.self)
          }
        }
        start = end + 1
      }
      if !fields.isEmpty { body(fields) }
    }
  }

  private static func lineEnd(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
    guard let base = bytes.baseAddress, let found = memchr(base + start, 10, bytes.count - start) else {
      return bytes.count
    }
    return UnsafeRawPointer(found) - base
  }
}

/// Finding objects by a String or UUID primary key.
package enum KeyLookup {
  /// The object key of the object whose key column holds exactly `bytes` (UTF-8, or the 16 bytes of a UUID).
  package static func find(
    _ view: ReadView, table index: Int, column: Int, bytes: [UInt8], key: inout IndexKey
  ) throws(StoreError) -> Int64? {
    let table = try view.table(index)
    guard table.keyIndexRoot & 0xffff_ffff != 0 else { return nil }
    let indexView = IndexView(view: view, root: table.keyIndexRoot, depth: table.keyIndexDepth)
    bytes.withUnsafeBytes { key.encode(bytes: $0) }
    if key.isExact { return try indexView.find(key) }
    // Cut off: all objects with the same beginning and hash are candidates.
    return try key.withEncoded { encoded throws(StoreError) in
      var cursor = try indexView.cursor(at: .before(encoded))
      var left = try indexView.count(equal: encoded)
      while left > 0, let candidate = try cursor.next() {
        left -= 1
        if let position = try table.find(key: candidate),
          try position.leaf.column(column).checkedBytes(position.row).elementsEqual(bytes)
        {
          return candidate
        }
      }
      return nil
    }
  }
}

extension Value {
  /// For messages that name an object by its key.
  package var keyDescription: String {
    switch self {
    case .int(let value): "\(value)"
    case .uint(let value): "\(value)"
    case .string(let value): value
    case .uuid(let value): value.text
    default: "\(self)"
    }
  }
}

extension UUIDBytes {
  /// The usual 8-4-4-4-12 form.
  package var text: String {
    let digits = Array("0123456789ABCDEF")
    var text = ""
    for index in 0..<16 {
      if index == 4 || index == 6 || index == 8 || index == 10 { text.append("-") }
      let byte = index < 8 ? high >> UInt64(56 - index * 8) : low >> UInt64(120 - index * 8)
      text.append(digits[Int(byte >> 4 & 15)])
      text.append(digits[Int(byte & 15)])
    }
    return text
  }
}

import Glibc

/// Finding objects by a String or UUID primary key.
package enum KeyLookup {
  /// The object key of the object whose key column holds exactly `bytes` (UTF-8, or the 16 bytes of a UUID), by the
  /// key index of the `table`-th table.
  package static func find(
    _ index: IndexView, table: Int, column: Int, bytes: UnsafeRawBufferPointer
  ) throws(StoreError) -> Int64? {
    if bytes.count <= ShortKey.maximumLength { return try ShortKey(bytes).find(in: index) }
    var key = IndexKey()
    key.encode(bytes: bytes)
    if key.isExact { return try index.find(key) }
    return try find(index, index.view.table(table), column, bytes, key)
  }

  /// The same in a version, where `key` is somewhere to encode it.
  package static func find(
    _ view: ReadView, table number: Int, column: Int, bytes: [UInt8], key: inout IndexKey
  ) throws(StoreError) -> Int64? {
    let table = try view.table(number)
    let index = IndexView(view: view, root: table.keyIndexRoot, depth: table.keyIndexDepth)
    bytes.withUnsafeBytes { key.encode(bytes: $0) }
    if key.isExact { return try index.find(key) }
    return try ArrayBytes.with(bytes) { raw throws(StoreError) in try find(index, table, column, raw, key) }
  }

  /// Cut off: all objects with the same beginning and hash are candidates.
  private static func find(
    _ index: IndexView, _ table: TableView, _ column: Int, _ bytes: UnsafeRawBufferPointer, _ key: borrowing IndexKey
  ) throws(StoreError) -> Int64? {
    guard !index.isEmpty else { return nil }
    return try key.withEncoded { encoded throws(StoreError) in
      var cursor = try index.cursor(at: .before(encoded))
      var left = try index.count(equal: encoded)
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

/// The bytes of a short key with the zeros that `EncodedKey` asks for: filling a whole `IndexKey` takes longer than
/// entering a node.
private struct ShortKey {
  static var maximumLength: Int { 56 }
  private var words = InlineArray<8, UInt64>(repeating: 0)
  private let length: Int

  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer) {
    length = min(bytes.count, Self.maximumLength)
    var span = words.mutableSpan
    let length = length
    span.withUnsafeMutableBytes { buffer in
      if length > 0, let target = buffer.baseAddress, let source = bytes.baseAddress { memcpy(target, source, length) }
    }
  }

  @inline(__always)
  func find(in index: IndexView) throws(StoreError) -> Int64? {
    let length = length
    return try words.span.withUnsafeBytes { (buffer) throws(StoreError) in
      // The buffer is never empty.
      try index.find(EncodedKey(bytes: buffer.baseAddress.unsafelyUnwrapped, length: length))
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

/// Bytes of a String (as UTF-8) or Data property, in place: nothing is copied.
///
/// Keeps its snapshot alive. Within a write transaction it is valid until the next change.
///
/// ```swift
/// if ship.nameUTF8 == "Rocinante" { … }        // compares bytes, makes no String
/// ship.nameUTF8.withUnsafeBytes { … }
/// ```
public struct StoredBytes: RandomAccessCollection, @unchecked Sendable {
  @usableFromInline let base: UnsafeRawBufferPointer
  @usableFromInline let owner: RowOwner

  @inlinable @inline(__always)
  init(_ base: UnsafeRawBufferPointer, owner: RowOwner) {
    self.base = base
    self.owner = owner
  }

  @inlinable public var startIndex: Int { 0 }
  @inlinable public var endIndex: Int { base.count }
  /// The byte at a position, counted from 0.
  @inlinable public subscript(position: Int) -> UInt8 { base[position] }

  /// Lends the bytes where they lie, for algorithms over contiguous memory.
  @inlinable public func withContiguousStorageIfAvailable<R>(
    _ body: (UnsafeBufferPointer<UInt8>) throws -> R
  ) rethrows -> R? {
    try withExtendedLifetime(owner) { try base.withMemoryRebound(to: UInt8.self, body) }
  }

  /// Calls `body` with the bytes where they lie. The pointer must not be used after it returns.
  @inlinable public func withUnsafeBytes<R, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> R
  ) throws(Failure) -> R {
    defer { withExtendedLifetime(owner) {} }
    return try body(base)
  }

  /// Whether these are the UTF-8 bytes of `text`.
  @inlinable public static func == (bytes: StoredBytes, text: StaticString) -> Bool {
    guard text.hasPointerRepresentation else { return bytes.elementsEqual(text.description.utf8) }
    let other = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    return bytes.base.count == other.count && bytes.base.elementsEqual(other)
  }
}

extension StoredBytes: Equatable {
  @inlinable public static func == (left: StoredBytes, right: StoredBytes) -> Bool {
    left.base.count == right.base.count && left.base.elementsEqual(right.base)
  }
}

extension String {
  /// A copy of stored text.
  @inlinable public init(_ bytes: StoredBytes) { self.init(decoding: bytes.base, as: UTF8.self) }
}

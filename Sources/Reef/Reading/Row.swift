/// One stored object of one version, untyped: where its leaf lies, and its place there.
///
/// ``Model()`` reads properties through it. A row keeps its snapshot alive; reading copies nothing and allocates nothing,
/// except where a value itself needs it (a long String, Data).
public struct Row: @unchecked Sendable {
  @usableFromInline let owner: RowOwner
  @usableFromInline let leaf: UnsafeRawPointer
  @usableFromInline let key: Int64
  /// How many column entries the leaf holds, and which columns an iteration found sound for all its rows.
  @usableFromInline let columns: RowColumns
  @usableFromInline let generation: UInt32
  @usableFromInline let table: UInt16
  @usableFromInline let row: UInt16

  @inlinable @inline(__always)
  package init(_ leaf: LeafView, _ row: Int, table: Int, owner: RowOwner) {
    self.init(leaf, row, key: leaf.key(row), table: table, owner: owner)
  }

  @inlinable @inline(__always)
  package init(_ leaf: LeafView, _ row: Int, columns: RowColumns? = nil, key: Int64, table: Int, owner: RowOwner) {
    self.owner = owner
    self.leaf = leaf.pointer
    self.key = key
    self.generation = owner.generation
    self.table = UInt16(truncatingIfNeeded: table)
    self.row = UInt16(truncatingIfNeeded: row)
    self.columns = columns ?? RowColumns(count: leaf.columnCount)
  }

  @inlinable @inline(__always)
  package init(_ place: RowPlace, key: Int64, table: Int, owner: RowOwner) {
    self.owner = owner
    self.leaf = place.leaf
    self.key = key
    self.generation = owner.generation
    self.table = UInt16(truncatingIfNeeded: table)
    self.row = UInt16(truncatingIfNeeded: place.row)
    self.columns = RowColumns(count: Int(place.columnCount))
  }

  @inlinable init(
    leaf: UnsafeRawPointer, row: UInt16, columnCount: UInt32, key: Int64, table: UInt16, generation: UInt32,
    owner: RowOwner
  ) {
    self.owner = owner
    self.leaf = leaf
    self.key = key
    self.generation = generation
    self.table = table
    self.row = row
    self.columns = RowColumns(count: Int(columnCount))
  }

  /// The number that the store knows the object by: its key where that is an Int, else counted up on insertion.
  @inlinable public var objectKey: Int64 { key }

  /// The value of an Int key, which has no column of its own.
  @inlinable public var integerKey: Int { Int(truncatingIfNeeded: key) }

  /// The value of a property. An Int key is read with ``integerKey`` instead.
  @inlinable @inline(__always)
  public func value<V: Storable>(_ column: Int) -> V { V(cell(column)) }

  /// The bytes of a String (its UTF-8) or Data property, in place.
  @inlinable @inline(__always)
  public func bytes(_ column: Int) -> StoredBytes { StoredBytes(cell(column).bytes, owner: owner) }

  /// The bytes of an optional String or Data property, in place.
  @inlinable @inline(__always)
  public func optionalBytes(_ column: Int) -> StoredBytes? {
    let cell = cell(column)
    return cell.isNull ? nil : StoredBytes(cell.bytes, owner: owner)
  }

  /// A property's value where it lies.
  @inlinable @inline(__always)
  public func cell(_ column: Int) -> Cell {
    let owner = owner
    if columns.areChecked {
      if columns.isChecked(column), let entered = owner.view.checkedColumn(Self.columnEntry(leaf, column)) {
        return Cell(entered, Int(row))
      }
      return owner.uncheckedCell(leaf, row, columns, table, column)
    }
    if generation != owner.generation { return owner.refoundCell(key, table, column) }
    let view = owner.view
    guard UInt(bitPattern: column) < columns.count else { return Cell(ColumnView(absentIn: view), 0) }
    let entry = Self.columnEntry(leaf, column)
    guard entry != 0 else { return Cell(ColumnView(absentIn: view), 0) }
    guard let sound = view.soundColumn(entry, count: Int(row) &+ 1) else { return owner.damagedCell(entry) }
    return Cell(sound, Int(row))
  }

  @inlinable @inline(__always)
  static func columnEntry(_ leaf: UnsafeRawPointer, _ column: Int) -> UInt64 {
    leaf.load(fromByteOffset: DataLayout.Leaf.columns &+ column &* DataLayout.entrySize, as: UInt64.self)
  }
}

// The unusual ways of reading a property, out of line. They release nothing that their caller sees, and say so: then
// walking a result costs no reference counting.
extension RowOwner {
  /// A property of a row that was found before the transaction's last change.
  @_effects(releasenone) @inline(never) @usableFromInline
  final func refoundCell(_ key: Int64, _ table: UInt16, _ column: Int) -> Cell {
    refind(key, table: Int(table)).cell(column)
  }

  /// A property that the iteration did not know to be wanted when it entered the leaf.
  @_effects(releasenone) @inline(never) @usableFromInline
  final func uncheckedCell(
    _ leaf: UnsafeRawPointer, _ row: UInt16, _ columns: RowColumns, _ table: UInt16, _ column: Int
  ) -> Cell {
    wanted.note(column, of: Int(table))
    guard UInt(bitPattern: column) < columns.count else { return Cell(ColumnView(absentIn: view), 0) }
    let entry = Row.columnEntry(leaf, column)
    guard entry != 0 else { return Cell(ColumnView(absentIn: view), 0) }
    guard let sound = view.soundColumn(entry, count: Int(row) &+ 1) else { return damagedCell(entry) }
    return Cell(sound, Int(row))
  }

  /// A property whose node is not sound.
  @_effects(releasenone) @inline(never) @usableFromInline
  final func damagedCell(_ entry: UInt64) -> Cell {
    note(view.unsoundColumn(entry))
    return Cell(ColumnView(absentIn: view), 0)
  }
}

/// One property of one row, where it lies. What a ``Storable`` type reads itself from.
///
/// A value asked for as something else than it is stored as reads as zero.
public struct Cell {
  @usableFromInline let column: ColumnView
  @usableFromInline let row: Int

  @inlinable @inline(__always)
  package init(_ column: ColumnView, _ row: Int) {
    self.column = column
    self.row = row
  }

  /// Whether an optional property is nil.
  @inlinable public var isNull: Bool { @inline(__always) get { column.isNull(row) } }
  @inlinable public var bool: Bool { @inline(__always) get { column.bool(row) } }
  /// An integer of any width but UInt64.
  @inlinable public var int: Int64 { @inline(__always) get { column.int(row) } }
  /// A UInt64, or the bits of a Double or Date.
  @inlinable public var bits: UInt64 { @inline(__always) get { column.bits(row) } }
  @inlinable public var float: Float { @inline(__always) get { column.float(row) } }
  /// A Double, or the seconds of a Date since the reference date.
  @inlinable public var double: Double { @inline(__always) get { column.double(row) } }
  @inlinable public var uuid: UUIDBytes { @inline(__always) get { column.uuid(row) } }
  /// The bytes of a String or Data, in the mapped store: valid only as long as the row's snapshot.
  @inlinable public var bytes: UnsafeRawBufferPointer { @inline(__always) get { column.bytes(row) } }
  /// A copy of a String.
  @inlinable public var string: String { String(decoding: column.bytes(row), as: UTF8.self) }
}

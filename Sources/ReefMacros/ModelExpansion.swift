import SwiftSyntax

/// The text of the extension that `@Model` writes. It uses nothing but Reef's public symbols, since it lands in the
/// user's module; everything in it can be written by hand just the same.
struct ModelExpansion {
  /// The struct as an extension names it, outer types included.
  var type: String
  var storedName: String
  /// `public ` or the like, with a space after it; empty for internal.
  var access: String
  var properties: [StoredProperty]

  static func access(of structure: StructDeclSyntax) -> String {
    switch structure.modifiers.access {
    case "public", "open": "public "
    case "package": "package "
    case "private", "fileprivate": "fileprivate "
    default: ""
    }
  }

  /// A property that says it is narrower than its struct stays so.
  private func access(of property: StoredProperty) -> String {
    switch property.access {
    case "private", "fileprivate": "fileprivate "
    case "internal": access == "public " || access == "package " ? "" : access
    case "package": access == "public " ? "package " : access
    default: access
    }
  }

  var key: StoredProperty? { properties.first(where: \.isKey) }

  var text: String {
    """
    extension \(type): Reef.Model {
    \(schema)

    \(columns)

    \(view)

    \(mutable)

    \(coding)
    }
    """
  }

  private var schema: String {
    let list = properties.map { property in
      let stored = property.storedName ?? "\"\(property.plainName)\""
      var text = "    Reef.PropertySchema(\(stored), .\(property.valueType)"
      if property.isOptional { text += ", isOptional: true" }
      if property.isIndexed { text += ", isIndexed: true" }
      return text + "),"
    }
    let position = properties.firstIndex(where: \.isKey).map(String.init) ?? "nil"
    return """
        \(access)typealias PrimaryKey = \(key?.base ?? "Reef.ObjectKey")
        \(access)static let schema = Reef.TypeSchema("\(storedName)", [
      \(list.joined(separator: "\n  "))
        ], key: \(position))
        \(access)static var columns: Columns { Columns() }
      """
  }

  private var columns: String {
    let list = properties.enumerated().map { column, property in
      "    \(access(of: property))var \(property.name): Reef.Column<\(type), \(property.type)> { Reef.Column(\(column)) }"
    }
    return """
        \(access)struct Columns: Sendable {
          \(access)init() {}
      \(list.joined(separator: "\n"))
        }
      """
  }

  private var view: String {
    let taken = Set(properties.map(\.plainName))
    var list: [String] = []
    for (column, property) in properties.enumerated() {
      let level = access(of: property)
      let inlined = level == "public " ? "@inlinable " : ""
      // The attribute must stand at the accessor: at the property it is without effect.
      list.append(
        "    \(inlined)\(level)var \(property.name): \(property.type) { "
          + "@inline(__always) get { \(read(property, column)) } }")
      let bytes = property.plainName + (property.valueType == "string" ? "UTF8" : "Bytes")
      if ["string", "data"].contains(property.valueType), !taken.contains(bytes) {
        let question = property.isOptional ? "?" : ""
        let call = property.isOptional ? "optionalBytes" : "bytes"
        list.append(
          "    \(inlined)\(level)var \(bytes): Reef.StoredBytes\(question) { "
            + "@inline(__always) get { _row.\(call)(\(column)) } }")
      }
    }
    let inlined = access == "public " ? "@inlinable " : ""
    return """
        \(access)struct View: Reef.ObjectView {
          \(access)typealias Object = \(type)
          \(access)let _row: Reef.Row
          \(inlined)@inline(__always) \(access)init(_row: Reef.Row) { self._row = _row }
      \(list.joined(separator: "\n"))
        }
      """
  }

  private func read(_ property: StoredProperty, _ column: Int) -> String {
    property.isKey && property.base.hasSuffix("Int") ? "_row.integerKey" : "_row.value(\(column))"
  }

  private var mutable: String {
    let list = properties.enumerated().map { column, property in
      let head = "    \(access(of: property))var \(property.name): \(property.type)"
      if property.isKey && property.base.hasSuffix("Int") { return head + " { _change.integerKey }" }
      if property.isKey || property.isConstant { return head + " { _change.value(\(column)) }" }
      return head + """
         {
              get { _change.value(\(column)) }
              nonmutating set { _change.set(\(column), newValue) }
            }
        """
    }
    return """
        \(access)struct Mutable: Reef.MutableObject {
          \(access)typealias Object = \(type)
          \(access)let _change: Reef.ObjectChange
          \(access)init(_change: Reef.ObjectChange) { self._change = _change }
      \(list.joined(separator: "\n"))
        }
      """
  }

  private var coding: String {
    let writes = properties.enumerated().map { column, property in "    encoder.set(\(column), \(property.name))" }
    let reads = properties.enumerated().map { column, property in
      "    self.\(property.name) = \(readRow(property, column))"
    }
    return """
        \(access)func encode(into encoder: inout Reef.RowEncoder) {
      \(writes.joined(separator: "\n"))
        }

        \(access)init(row: Reef.Row) {
      \(reads.joined(separator: "\n"))
        }
      """
  }

  private func readRow(_ property: StoredProperty, _ column: Int) -> String {
    property.isKey && property.base.hasSuffix("Int") ? "row.integerKey" : "row.value(\(column))"
  }
}

import SwiftDiagnostics
import SwiftSyntax

/// One property of the struct that Reef stores, read from its declaration.
struct StoredProperty {
  /// As written, with backticks where it has them.
  var name: String
  /// The name in the schema, where `@Stored(as:)` gives no other.
  var plainName: String
  /// The name that `@Stored(as:)` gives, as the expression that stands there.
  var storedName: String?
  /// `Int`, `Date`…, without the question mark.
  var base: String
  var isOptional: Bool
  /// The type as the generated code writes it.
  var type: String { isOptional ? base + "?" : base }
  var valueType: String
  var isKey = false
  var isIndexed = false
  var isConstant = false
  /// `private`, `fileprivate`… where the declaration says so.
  var access: String?
}

extension StoredProperty {
  /// The types that can be stored, and the case of `ValueType` for each.
  static let valueTypes: [String: String] = [
    "Bool": "bool", "Int": "int64", "Int8": "int8", "Int16": "int16", "Int32": "int32", "Int64": "int64",
    "UInt": "uint64", "UInt8": "uint8", "UInt16": "uint16", "UInt32": "uint32", "UInt64": "uint64",
    "Float": "float", "Double": "double", "String": "string", "Data": "data", "Date": "date", "UUID": "uuid",
  ]
  static let keyTypes: Set<String> = ["Int", "String", "UUID"]
}

/// The stored properties of a struct, and what is wrong with them.
struct StoredProperties {
  private(set) var list: [StoredProperty] = []
  private(set) var diagnostics: [Diagnostic] = []

  init(of declaration: some DeclGroupSyntax) {
    for member in declaration.memberBlock.members {
      guard let variable = member.decl.as(VariableDeclSyntax.self), !variable.isStatic else { continue }
      add(variable)
    }
    checkKeys(in: declaration)
  }

  private mutating func add(_ variable: VariableDeclSyntax) {
    let markers = variable.markers
    // In `var a, b: Int` the type stands at the last binding and holds for those before it.
    var following: TypeSyntax?
    var found: [StoredProperty] = []
    for binding in variable.bindings.reversed() {
      if let written = binding.typeAnnotation?.type {
        following = written
      } else if binding.initializer != nil {
        following = nil
      }
      guard !binding.isComputed else { continue }
      guard let pattern = binding.pattern.as(IdentifierPatternSyntax.self) else {
        if !markers.contains("Ignored") { diagnostics.append(ModelDiagnostic.notAName.at(binding.pattern)) }
        continue
      }
      let name = pattern.identifier.text
      let plain = name.hasPrefix("`") ? String(name.dropFirst().dropLast()) : name
      if markers.contains("Ignored") {
        checkIgnored(plain, binding, variable, type: following, markers: markers)
        continue
      }
      if let property = property(name, plain, binding, variable, type: following, markers: markers) {
        found.append(property)
      }
    }
    list.append(contentsOf: found.reversed())
  }

  private mutating func checkIgnored(
    _ name: String, _ binding: PatternBindingSyntax, _ variable: VariableDeclSyntax, type: TypeSyntax?,
    markers: Set<String>
  ) {
    for marker in ["Key", "Indexed"] where markers.contains(marker) {
      diagnostics.append(ModelDiagnostic.markedIgnored(property: name, marker: marker).at(binding.pattern))
    }
    let startsNil = type?.is(OptionalTypeSyntax.self) == true && !variable.isConstant
    if binding.initializer == nil && !startsNil {
      diagnostics.append(ModelDiagnostic.ignoredWithoutValue(property: name).at(binding.pattern))
    }
  }

  private mutating func property(
    _ name: String, _ plain: String, _ binding: PatternBindingSyntax, _ variable: VariableDeclSyntax, type: TypeSyntax?,
    markers: Set<String>
  ) -> StoredProperty? {
    if variable.isConstant && binding.initializer != nil {
      diagnostics.append(ModelDiagnostic.constantWithValue(property: plain).at(binding.pattern))
      return nil
    }
    if variable.modifiers.contains(where: { $0.name.tokenKind == .keyword(.lazy) }) {
      diagnostics.append(ModelDiagnostic.lazyProperty(property: plain).at(binding.pattern))
      return nil
    }
    let base: String
    var isOptional = false
    if let type {
      (base, isOptional) = Self.unwrap(type)
    } else if let inferred = binding.initializer?.value.inferredType {
      base = inferred
    } else {
      diagnostics.append(ModelDiagnostic.unknownType(property: plain).at(binding.pattern))
      return nil
    }
    let known = base.split(separator: ".").last.map(String.init) ?? base
    guard let valueType = StoredProperty.valueTypes[known] else {
      let written = type?.trimmedDescription ?? base
      diagnostics.append(
        ModelDiagnostic.unsupportedType(property: plain, type: written).at(type.map(Syntax.init) ?? Syntax(binding)))
      return nil
    }
    let isKey = markers.contains("Key")
    if isKey && isOptional {
      diagnostics.append(ModelDiagnostic.optionalKey(property: plain).at(type.map(Syntax.init) ?? Syntax(binding)))
    } else if isKey && !StoredProperty.keyTypes.contains(known) {
      diagnostics.append(
        ModelDiagnostic.keyType(property: plain, type: base).at(type.map(Syntax.init) ?? Syntax(binding)))
    }
    var stored = StoredProperty(
      name: name, plainName: plain, base: base, isOptional: isOptional, valueType: valueType, isKey: isKey,
      isIndexed: markers.contains("Indexed"), isConstant: variable.isConstant, access: variable.access)
    stored.storedName = variable.storedName
    return stored
  }

  private mutating func checkKeys(in declaration: some DeclGroupSyntax) {
    let keys = list.filter(\.isKey)
    guard keys.count > 1 else { return }
    for second in keys.dropFirst() {
      let place = declaration.memberBlock.members.first { member in
        member.decl.as(VariableDeclSyntax.self)?.bindings.contains {
          $0.pattern.as(IdentifierPatternSyntax.self)?.identifier.text == second.name
        } == true
      }
      diagnostics.append(
        ModelDiagnostic.twoKeys(first: keys[0].plainName, second: second.plainName)
          .at(place.map { Syntax($0.decl) } ?? Syntax(declaration)))
    }
  }

  /// `Int?`, `Optional<Int>` → `Int`, true
  private static func unwrap(_ type: TypeSyntax) -> (base: String, isOptional: Bool) {
    if let optional = type.as(OptionalTypeSyntax.self) { return (optional.wrappedType.trimmedDescription, true) }
    if let identifier = type.as(IdentifierTypeSyntax.self), identifier.name.text == "Optional",
      let argument = identifier.genericArgumentClause?.arguments.first
    {
      return (argument.argument.trimmedDescription, true)
    }
    return (type.trimmedDescription, false)
  }
}

extension VariableDeclSyntax {
  var isStatic: Bool {
    modifiers.contains { [.keyword(.static), .keyword(.class)].contains($0.name.tokenKind) }
  }

  var isConstant: Bool { bindingSpecifier.tokenKind == .keyword(.let) }

  /// What stands in `@Stored(as: …)`.
  var storedName: String? {
    for element in attributes {
      guard let attribute = element.as(AttributeSyntax.self),
        attribute.attributeName.trimmedDescription.split(separator: ".").last == "Stored",
        let arguments = attribute.arguments?.as(LabeledExprListSyntax.self), let first = arguments.first
      else { continue }
      return first.expression.trimmedDescription
    }
    return nil
  }

  /// The names of the markers on it: `Key`, `Indexed`, `Ignored`, `Stored`.
  var markers: Set<String> {
    Set(
      attributes.compactMap { element in
        element.as(AttributeSyntax.self)?.attributeName.trimmedDescription.split(separator: ".").last.map(String.init)
      })
  }

  var access: String? { modifiers.access }
}

extension DeclModifierListSyntax {
  /// The access level written here; that of a setter alone does not count.
  var access: String? {
    let levels = ["private", "fileprivate", "internal", "package", "public", "open"]
    return lazy.filter { $0.detail == nil }.map(\.name.text).first(where: levels.contains)
  }
}

extension PatternBindingSyntax {
  /// Observers (`willSet`, `didSet`) leave a property stored; any other accessor makes it computed.
  var isComputed: Bool {
    guard let accessorBlock else { return false }
    guard case .accessors(let list) = accessorBlock.accessors else { return true }
    return list.contains {
      ![.keyword(.willSet), .keyword(.didSet)].contains($0.accessorSpecifier.tokenKind)
    }
  }
}

extension ExprSyntax {
  /// The type of a literal. Anything else has to be written down: a macro sees syntax, not types.
  var inferredType: String? {
    if self.is(IntegerLiteralExprSyntax.self) { return "Int" }
    if self.is(FloatLiteralExprSyntax.self) { return "Double" }
    if self.is(BooleanLiteralExprSyntax.self) { return "Bool" }
    if self.is(StringLiteralExprSyntax.self) { return "String" }
    if let negative = self.as(PrefixOperatorExprSyntax.self), negative.operator.text == "-" {
      return negative.expression.inferredType
    }
    if let call = self.as(FunctionCallExprSyntax.self) {
      let name = call.calledExpression.trimmedDescription
      if StoredProperty.valueTypes[name] != nil { return name }
    }
    return nil
  }
}

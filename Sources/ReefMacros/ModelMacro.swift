import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@Model`: writes an extension that makes the struct a `Reef.Model`.
struct ModelMacro: ExtensionMacro {
  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol,
    conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    guard let structure = declaration.as(StructDeclSyntax.self) else {
      context.diagnose(ModelDiagnostic.notAStruct.at(node))
      return []
    }
    if let parameters = structure.genericParameterClause {
      context.diagnose(ModelDiagnostic.generic.at(parameters))
      return []
    }
    let properties = StoredProperties(of: structure)
    properties.diagnostics.forEach(context.diagnose)
    guard properties.diagnostics.isEmpty else { return [] }
    guard !properties.list.isEmpty else {
      context.diagnose(ModelDiagnostic.noProperties(type: structure.name.text).at(structure.name))
      return []
    }
    let expansion = ModelExpansion(
      type: type.trimmedDescription, storedName: structure.name.text.filter { $0 != "`" },
      access: ModelExpansion.access(of: structure), properties: properties.list)
    let text: DeclSyntax = "\(raw: expansion.text)"
    return text.as(ExtensionDeclSyntax.self).map { [$0] } ?? []
  }
}

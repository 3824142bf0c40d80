import SwiftSyntax
import SwiftSyntaxMacros

/// `@Key`, `@Indexed` and `@Ignored` only mark a property for `@Model`, which reads them; alone they make nothing.
struct MarkerMacro: PeerMacro {
  static func expansion(
    of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    []
  }
}

import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// What `@Model` reports, each at the declaration that causes it.
enum ModelDiagnostic: DiagnosticMessage {
  case notAStruct
  case generic
  case noProperties(type: String)
  case unsupportedType(property: String, type: String)
  case unknownType(property: String)
  case twoKeys(first: String, second: String)
  case optionalKey(property: String)
  case keyType(property: String, type: String)
  case constantWithValue(property: String)
  case lazyProperty(property: String)
  case ignoredWithoutValue(property: String)
  case markedIgnored(property: String, marker: String)
  case notAName

  var severity: DiagnosticSeverity { .error }

  var diagnosticID: MessageID { MessageID(domain: "Reef", id: "\(self)") }

  var message: String {
    switch self {
    case .notAStruct:
      "@Model goes on a struct: objects are values, and a view or a snapshot takes the place of shared references"
    case .generic:
      "@Model cannot go on a generic struct: a stored type has one list of properties"
    case .noProperties(let type):
      "'\(type)' has no stored property that Reef could keep"
    case .unsupportedType(let property, let type):
      "'\(property)' has the type '\(type)', which Reef cannot store. Stored are Bool, Int, Int8…Int64, UInt, UInt8…UInt64, "
        + "Float, Double, String, Data, Date and UUID, each also optional; mark anything else @Ignored"
    case .unknownType(let property):
      "the type of '\(property)' cannot be seen here: write it down, as in 'var \(property): Int'"
    case .twoKeys(let first, let second):
      "'\(second)' is a second key beside '\(first)': an object has one primary key"
    case .optionalKey(let property):
      "the key '\(property)' cannot be optional: every object has one"
    case .keyType(let property, let type):
      "the key '\(property)' has the type '\(type)': a key is an Int, a String or a UUID"
    case .constantWithValue(let property):
      "'\(property)' always has the same value and could not be read back: make it 'var', or mark it @Ignored"
    case .lazyProperty(let property):
      "'\(property)' is lazy: mark it @Ignored"
    case .ignoredWithoutValue(let property):
      "'\(property)' is not stored, so it needs a value to start with when an object is read"
    case .markedIgnored(let property, let marker):
      "'\(property)' is @Ignored and @\(marker) at once"
    case .notAName:
      "Reef stores one property per name: write the parts of this pattern as properties of their own"
    }
  }

  func at(_ node: some SyntaxProtocol) -> Diagnostic { Diagnostic(node: Syntax(node), message: self) }
}

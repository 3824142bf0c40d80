import Foundation
import Testing

@testable import ReefEngine

/// The hand-written JSON of the stored schema against Foundation's, both ways.
struct SchemaTextTests {
  private static let names = ["a", "Größe", "a\"b\\c/d", "tab\tline\nnul\u{1}\u{1f}", "🚀 emoji", "x\u{8}\u{c}\r", "日本"]

  private func random(_ generator: inout TestRandom) -> Schema {
    Schema(
      (0..<Int.random(in: 0...4, using: &generator)).map { index in
        let properties = (0..<Int.random(in: 0...6, using: &generator)).map { column in
          PropertySchema(
            "\(SchemaTextTests.names.randomElement(using: &generator) ?? "")\(column)",
            ValueType.allCases.randomElement(using: &generator) ?? .bool,
            isOptional: .random(using: &generator), isIndexed: .random(using: &generator))
        }
        let name = "\(SchemaTextTests.names.randomElement(using: &generator) ?? "")\(index)"
        return TypeSchema(name, properties, key: properties.indices.randomElement(using: &generator))
      })
  }

  private func read(_ bytes: some Sequence<UInt8>) -> Schema? {
    Array(bytes).withUnsafeBytes { SchemaText.schema(from: $0) }
  }

  @Test func sameAsFoundation() throws {
    var generator = TestRandom(seed: freshSeed("sameAsFoundation"))
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    for _ in 0..<300 {
      let schema = random(&generator)
      let expected = try encoder.encode(schema)
      let bytes = SchemaText.bytes(of: schema)
      #expect(bytes == Array(expected))
      #expect(read(expected) == schema)
      #expect(try JSONDecoder().decode(Schema.self, from: Data(bytes)) == schema)
    }
  }

  @Test func otherForms() throws {
    let spaced = """
       { "more" : [1, -2.5e3, {"a": null, "b": [true, "x"]}], "types" : [ { "properties" : [ { "type" : 4,
       "name" : "\\u0069\\ud83d\\ude80", "isOptional" : false, "isIndexed" : true } ], "key" : null, "name" : "T" } ] }
      """
    let expected = Schema([TypeSchema("T", [PropertySchema("i🚀", .int64, isIndexed: true)])])
    #expect(read(spaced.utf8) == expected)
  }

  /// Cut anywhere, or with any byte replaced, it is read as something or refused, and never more than that.
  @Test func damaged() {
    let bytes = SchemaText.bytes(of: Schema([TypeSchema("T\n", [PropertySchema("id", .int64)], key: 0)]))
    for length in bytes.indices { #expect(read(bytes.prefix(length)) == nil) }
    for index in bytes.indices {
      for byte: UInt8 in [0, 34, 44, 48, 92, 93, 117, 125, 255] {
        var other = bytes
        other[index] = byte
        _ = read(other)
      }
    }
    let deep = String(repeating: "[", count: 100_000)
    for text in ["{}", "[]", "{\"types\":[{}]}", "{\"types\":[]} x", deep, "\"\\ud800\""] {
      #expect(read(text.utf8) == nil)
    }
    #expect(read("{\"a\":\(deep)".utf8) == nil)
    #expect(read("{\"types\":[{\"name\":\"T\",\"properties\":[],\"key\":99999999999999999999}]}".utf8) == nil)
  }
}

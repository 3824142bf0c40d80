import Foundation
import Testing

/// The three storeys: each may import the one below and nothing above. Checked over the sources, so that an upward
/// import fails here even where the build would let it pass.
@Suite struct LayerTests {
  /// Modules of this package that each folder of `Sources` may import.
  static let allowed: [String: Set<String>] = [
    "ReefSystem": ["CReefSystem", "CNuma"],
    "ReefEngine": ["ReefSystem", "CReefSystem", "CReefKernels", "CXXHash"],
    "Reef": ["ReefEngine", "ReefSystem", "ReefMacros"],
    "ReefMacros": [],
    "ReefCommand": ["ReefEngine", "ReefSystem"],
  ]
  static let ours: Set<String> = [
    "CReefSystem", "CReefKernels", "CNuma", "CXXHash", "ReefSystem", "ReefEngine", "Reef", "ReefMacros", "reef",
    "CLMDB", "CSQLite3", "reef_bench", "reef_demo",
  ]

  static let top = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  struct Source {
    var path: String
    var text: String
    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }
  }

  static func sources(_ folders: [String], _ endings: Set<String>) -> [Source] {
    var found: [Source] = []
    for folder in folders {
      let files = FileManager.default.enumerator(atPath: top.appendingPathComponent(folder).path)
      while let name = files?.nextObject() as? String {
        let file = top.appendingPathComponent(folder).appendingPathComponent(name)
        guard endings.contains(file.pathExtension), let text = try? String(contentsOf: file, encoding: .utf8) else {
          continue
        }
        found.append(Source(path: "\(folder)/\(name)", text: text))
      }
    }
    return found
  }

  /// The module that a line imports, whatever attributes and access level stand before it; nil for other lines.
  static func importedModule(_ line: Substring) -> String? {
    let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
    guard let at = words.firstIndex(of: "import"), at + 1 < words.count else { return nil }
    let modifiers: Set<Substring> = ["public", "package", "internal", "fileprivate", "private"]
    guard words[..<at].allSatisfy({ $0.hasPrefix("@") || modifiers.contains($0) }) else { return nil }
    let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "typealias", "func", "let", "var"]
    let name = kinds.contains(words[at + 1]) && at + 2 < words.count ? words[at + 2] : words[at + 1]
    return name.split(separator: ".").first.map(String.init)
  }

  @Test func noStoreyImportsOneAbove() {
    let sources = Self.sources(["Sources"], ["swift"])
    #expect(sources.count > 5, "the sources were not found")
    for source in sources {
      let folder = String(source.path.split(separator: "/")[1])
      guard let allowed = Self.allowed[folder] else {
        Issue.record("\(folder) is not in the table of storeys: add it")
        continue
      }
      for module in source.lines.compactMap(Self.importedModule) where Self.ours.contains(module) {
        #expect(allowed.contains(module), "\(source.path) imports \(module)")
      }
    }
  }

  @Test func theImportScannerSeesEveryForm() {
    #expect(Self.importedModule("import Reef") == "Reef")
    #expect(Self.importedModule("@testable package import ReefEngine") == "ReefEngine")
    #expect(Self.importedModule("public import struct Reef.Store") == "Reef")
    #expect(Self.importedModule("// import Reef") == nil)
    #expect(Self.importedModule("let text = \"import Reef\"") == nil)
  }

  @Test func noFileIsTooLong() {
    for source in Self.sources(["Sources", "Tests", "Examples", "tools"], ["swift", "c", "h"]) {
      #expect(source.lines.count <= 600, "\(source.path) has \(source.lines.count) lines: split it by concept")
    }
  }

  @Test func nothingIsLeftUnfinished() {
    let marks = ["TO" + "DO", "FIX" + "ME", "fatalError(\"un" + "implemented", "fatalError(\"not " + "implemented"]
    for source in Self.sources(["Sources", "Tests", "Examples", "tools"], ["swift", "c", "h"]) {
      for mark in marks { #expect(!source.text.contains(mark), "\(source.path) contains \(mark)") }
    }
  }
}

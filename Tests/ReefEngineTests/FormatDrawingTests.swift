import Foundation
import Testing

@testable import ReefEngine

/// docs/format.md says what the code does: each offset and number in its tables is that of the constant named beside it,
/// and each constant is there.
@Suite struct FormatDrawingTests {
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  private static let layouts: Set = ["DataLayout", "LockLayout", "NodeKind", "ColumnForm", "ExtentState"]

  /// The numbers in the page's tables, by group and name. A table belongs to the group that the comment before it names:
  /// its first column is the number, its second the name.
  private func documented() throws -> [String: [String: UInt64]] {
    let page = try String(contentsOf: Self.root.appending(path: "docs/format.md"), encoding: .utf8)
    var result: [String: [String: UInt64]] = [:]
    var group: String?
    for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
      if let name = line.wholeMatch(of: /<!-- constants: ([\w.]+) -->/) {
        group = String(name.1)
      } else if !line.hasPrefix("|") {
        group = nil
      } else if let group, let row = line.prefixMatch(of: /\| (0x)?([0-9a-f]+) \| `([\w.]+)` \|/) {
        let value = try #require(UInt64(row.2, radix: row.1 == nil ? 10 : 16), "\(line)")
        let old = result[group, default: [:]].updateValue(value, forKey: String(row.3))
        #expect(old == nil, "\(group).\(row.3) is listed twice")
      }
    }
    return result
  }

  @Test func numbersAgree() throws {
    let documented = try documented()
    for (group, constants) in layoutConstants {
      for (name, value) in constants {
        #expect(documented[group]?[name] == value, "docs/format.md, \(group).\(name)")
      }
    }
    for (group, names) in documented {
      for name in names.keys {
        #expect(layoutConstants[group]?[name] != nil, "docs/format.md lists \(group).\(name), which does not exist")
      }
    }
  }

  /// The list of constants that the other test compares is complete, by the sources.
  @Test(arguments: [
    "Format/DataLayout.swift", "Format/DataLayout+Redo.swift", "Index/IndexLayout.swift", "Session/LockLayout.swift",
    "Session/LockLayout+Redo.swift", "Space/Space.swift",
  ])
  func everyConstantIsListed(_ file: String) throws {
    let source = try String(
      contentsOf: Self.root.appending(path: "Sources/ReefEngine/" + file), encoding: .utf8)
    var scopes: [(name: String, depth: Int)] = []
    var depth = 0
    var found = 0
    for line in source.split(separator: "\n") {
      let code = line.firstRange(of: "//").map { line[..<$0.lowerBound] } ?? line
      if let scope = code.firstMatch(of: /(enum|extension|struct) (\w+)[^{]*\{/) {
        scopes.append((String(scope.2), depth))
      }
      let group = scopes.map(\.name).joined(separator: ".")
      if let constant = code.firstMatch(of: /static (?:var|let) (\w+)/),
        let outer = scopes.first?.name, Self.layouts.contains(outer)
      {
        let name = String(constant.1)
        let listed = layoutConstants[group] ?? [:]
        let isListed = listed[name] != nil || (listed[name + ".0"] != nil && listed[name + ".1"] != nil)
        #expect(isListed, "\(group).\(name) is missing in LayoutConstants.swift and docs/format.md")
        found += 1
      }
      depth += code.count { $0 == "{" } - code.count { $0 == "}" }
      while let last = scopes.last, depth <= last.depth { scopes.removeLast() }
    }
    #expect(found > 0)
  }

  /// Boxes of the drawings begin and end where the tables say: each field that the next table lists is drawn at its
  /// offset, sixteen bytes a row.
  @Test func boxesAgree() throws {
    let page = try String(contentsOf: Self.root.appending(path: "docs/format.md"), encoding: .utf8)
    var boxes: [String: Int] = [:]
    var isDrawing = false
    var compared = 0
    for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("      0   1   2   3") {
        isDrawing = true
        boxes = [:]
      } else if line == "```" {
        isDrawing = false
      } else if isDrawing, let row = line.prefixMatch(of: /\s*(\d+) │/), let offset = Int(row.1) {
        // Four characters a byte, after the row's offset and the first bar.
        var column = 0
        for cell in line.dropFirst(6).dropLast().split(separator: "│", omittingEmptySubsequences: false) {
          let name = cell.drop { $0 == " " }.prefix { $0.isLetter || $0.isNumber }
          if !name.isEmpty { boxes[String(name)] = offset + column / 4 }
          column += cell.count + 1
        }
        #expect(column == 64, "\(line)")
      } else if let row = line.prefixMatch(of: /\| (\d+) \| `(\w+)` \|/), let at = boxes[String(row.2)] {
        #expect(Int(row.1) == at, "the drawing of \(row.2)")
        compared += 1
      } else if line.hasPrefix("#") {
        boxes = [:]
      }
    }
    #expect(compared > 60)
  }
}

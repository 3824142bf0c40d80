import Foundation
import Testing

/// docs/protocols.md and the code name the same steps: those at which tests kill and stop processes.
@Suite struct ProtocolStepsTests {
  @Test func stepsAgree() throws {
    let root = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    var passed: Set<String> = []
    let sources = root.appending(path: "Sources")
    let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    for case let file as URL in files where file.pathExtension == "swift" {
      let source = try String(contentsOf: file, encoding: .utf8)
      for step in source.matches(of: /FaultPoint\.step\("([\w.]+)"\)/) { passed.insert(String(step.1)) }
    }
    let page = try String(contentsOf: root.appending(path: "docs/protocols.md"), encoding: .utf8)
    let documented = Set(page.matches(of: /\(`([a-z]+\.[A-Za-z]+)`\)/).map { String($0.1) })
    #expect(passed.subtracting(documented).sorted() == [], "steps that docs/protocols.md does not name")
    #expect(documented.subtracting(passed).sorted() == [], "steps in docs/protocols.md that no code passes")
  }
}

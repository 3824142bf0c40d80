import Foundation
import Testing

/// What the compiler says of mistakes in a `@Model`, each at the declaration that causes it. Runs the compiler with the
/// plugin that was built beside these tests.
@Suite struct MacroDiagnosticTests {
  static let plugin: String? = {
    guard let binary = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else { return nil }
    let folder = URL(fileURLWithPath: binary).deletingLastPathComponent().path
    let arguments = CommandLine.arguments.first.map { URL(fileURLWithPath: $0).deletingLastPathComponent().path }
    let folders = [folder, arguments ?? folder] + folder.components(separatedBy: "/ReefPackageTests").prefix(1)
    return folders.map { $0 + "/ReefMacros-tool" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }()

  /// Errors of the compiler in this source, as "line: text".
  static func errors(_ source: String) throws -> [String] {
    let plugin = try #require(plugin)
    return try withFolder { folder in
      let file = folder + "/case.swift"
      let head = """
        @attached(extension) macro Model() = #externalMacro(module: "ReefMacros", type: "ModelMacro")
        @attached(peer) macro Key() = #externalMacro(module: "ReefMacros", type: "MarkerMacro")
        @attached(peer) macro Indexed() = #externalMacro(module: "ReefMacros", type: "MarkerMacro")
        @attached(peer) macro Ignored() = #externalMacro(module: "ReefMacros", type: "MarkerMacro")

        """
      try (head + source).write(toFile: file, atomically: true, encoding: .utf8)
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = ["swiftc", "-typecheck", "-load-plugin-executable", plugin + "#ReefMacros", file]
      let pipe = Pipe()
      process.standardError = pipe
      process.standardOutput = pipe
      try process.run()
      let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      return output.split(separator: "\n").compactMap { line in
        guard let place = line.range(of: "case.swift:"), let error = line.range(of: ": error: ") else { return nil }
        let number = Int(line[place.upperBound...].prefix { $0.isNumber }) ?? 0
        return "\(number - 4): \(line[error.upperBound...])"
      }
    }
  }

  @Test(
    .enabled(if: plugin != nil, "the plugin lies beside the tests"),
    arguments: [
      ("@Model class Ship { var id = 1 }", "1: @Model goes on a struct"),
      ("@Model struct Box<T> { var id: Int }", "1: @Model cannot go on a generic struct"),
      ("@Model struct None {\n  var twice: Int { 2 }\n}", "1: 'None' has no stored property"),
      (
        "@Model struct A {\n  @Key var id: Int\n  var list: [Int]\n}",
        "3: 'list' has the type '[Int]', which Reef cannot store"
      ),
      ("@Model struct A {\n  @Key var id: Int\n  var any: Any?\n}", "3: 'any' has the type 'Any?'"),
      (
        "@Model struct A {\n  var made = make()\n}\nfunc make() -> Int { 1 }",
        "2: the type of 'made' cannot be seen here"
      ),
      ("@Model struct A {\n  @Key var a: Int\n  @Key var b: String\n}", "3: 'b' is a second key beside 'a'"),
      ("@Model struct A {\n  @Key var a: Int?\n}", "2: the key 'a' cannot be optional"),
      ("@Model struct A {\n  @Key var a: Double\n}", "2: the key 'a' has the type 'Double'"),
      ("@Model struct A {\n  let a = 5\n}", "2: 'a' always has the same value"),
      ("@Model struct A {\n  var id: Int\n  lazy var a: Int = 3\n}", "3: 'a' is lazy"),
      ("@Model struct A {\n  var id: Int\n  @Ignored var a: Int\n}", "3: 'a' is not stored, so it needs a value"),
      ("@Model struct A {\n  var id: Int\n  @Ignored @Indexed var a = 3\n}", "3: 'a' is @Ignored and @Indexed at once"),
      ("@Model struct A {\n  var (a, b): (Int, Int)\n}", "2: Reef stores one property per name"),
    ])
  func saysWhatIsWrong(source: String, expected: String) throws {
    let errors = try Self.errors(source)
    #expect(errors.contains { $0.hasPrefix(expected) }, "\(errors)")
  }
}

import Foundation
@_spi(PluginMessage) import SwiftCompilerPluginMessageHandling
import SwiftSyntaxMacros

// The toolchain ships swift-syntax without the `SwiftCompilerPlugin` convenience module, so the plugin speaks the
// compiler's protocol itself: messages over standard input and output, each a little-endian 64-bit length and JSON.

@main
enum Plugin {
  static var macros: [String: any Macro.Type] {
    ["ModelMacro": ModelMacro.self, "MarkerMacro": MarkerMacro.self]
  }

  static func main() throws {
    let connection = try StandardStreams()
    try CompilerPluginMessageListener(connection: connection, provider: Provider()).main()
  }
}

private struct Provider: PluginProvider {
  struct Unknown: Error, CustomStringConvertible {
    let description: String
  }

  var features: [PluginFeature] { [] }

  func resolveMacro(moduleName: String, typeName: String) throws -> any Macro.Type {
    guard let macro = Plugin.macros[typeName] else {
      throw Unknown(description: "Reef has no macro implementation named \(moduleName).\(typeName)")
    }
    return macro
  }

  func loadPluginLibrary(libraryPath: String, moduleName: String) throws {
    throw Unknown(description: "Reef's macro plugin loads no libraries")
  }
}

/// The two streams to the compiler. Standard output is pointed at standard error afterwards, so that a stray
/// `print` cannot break a message.
private final class StandardStreams: MessageConnection {
  private let input: Int32
  private let output: Int32

  struct Broken: Error {}

  init() throws {
    input = dup(STDIN_FILENO)
    output = dup(STDOUT_FILENO)
    guard input >= 0, output >= 0, dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 else { throw Broken() }
    close(STDIN_FILENO)
  }

  func sendMessage<TX: Encodable>(_ message: TX) throws {
    let body = try JSONEncoder().encode(message)
    var frame = Data()
    withUnsafeBytes(of: UInt64(body.count).littleEndian) { frame.append(contentsOf: $0) }
    frame.append(body)
    try frame.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let written = write(output, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        guard written > 0 else { throw Broken() }
        rest = rest.dropFirst(written)
      }
    }
  }

  func waitForNextMessage<RX: Decodable>(_ type: RX.Type) throws -> RX? {
    guard let header = try receive(8) else { return nil }
    let count = header.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
    // The compiler ends with an empty message, or by closing the stream.
    if count == 0 { return nil }
    guard let body = try receive(Int(count)) else { throw Broken() }
    return try JSONDecoder().decode(type, from: body)
  }

  /// Exactly `count` bytes, or nil where the stream ends before the first.
  private func receive(_ count: Int) throws -> Data? {
    var data = Data(count: count)
    var filled = 0
    while filled < count {
      let got = data.withUnsafeMutableBytes { read(input, $0.baseAddress! + filled, count - filled) }
      guard got > 0 else {
        if got == 0 && filled == 0 { return nil }
        throw Broken()
      }
      filled += got
    }
    return data
  }
}

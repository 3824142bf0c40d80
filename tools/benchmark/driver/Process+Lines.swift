import Foundation
import Glibc

/// What the driver put somewhere and takes away again, however it ends.
nonisolated(unsafe) var foldersToRemove: [String] = []

func removeFolders() {
  for folder in foldersToRemove { try? FileManager.default.removeItem(atPath: folder) }
}

func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data("reef-bench: \(message)\n".utf8))
  removeFolders()
  exit(1)
}

/// Lines from a descriptor, without a buffer that outlives the reader's process.
struct LineReader {
  let descriptor: Int32
  private var buffer: [UInt8] = []

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  mutating func next() -> String? {
    while true {
      if let end = buffer.firstIndex(of: 10) {
        let line = String(decoding: buffer[..<end], as: UTF8.self)
        buffer.removeSubrange(...end)
        return line
      }
      var chunk = [UInt8](repeating: 0, count: 65536)
      let got = read(descriptor, &chunk, chunk.count)
      if got < 0 && errno == EINTR { continue }
      if got <= 0 { return nil }
      buffer.append(contentsOf: chunk[..<got])
    }
  }
}

func writeLine(_ text: String, to descriptor: Int32 = 1) {
  let bytes = Array((text + "\n").utf8)
  var done = 0
  while done < bytes.count {
    let wrote = bytes[done...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    if wrote < 0 && errno == EINTR { continue }
    if wrote <= 0 { return }
    done += wrote
  }
}

/// Another run of this same program, spoken to in lines: a real second process.
final class Helper {
  let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var reader: LineReader
  let title: String

  init(_ arguments: [String]) {
    title = arguments.joined(separator: " ")
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = arguments
    process.standardInput = input
    process.standardOutput = output
    reader = LineReader(output.fileHandleForReading.fileDescriptor)
    do { try process.run() } catch { fail("cannot start \(title): \(error)") }
  }

  func send(_ line: String) { writeLine(line, to: input.fileHandleForWriting.fileDescriptor) }

  func receive() -> String {
    guard let line = reader.next() else {
      process.waitUntilExit()
      fail("'\(title)' ended early with status \(process.terminationStatus)")
    }
    return line
  }

  func expect(_ word: String) {
    let line = receive()
    if line != word { fail("'\(title)' said '\(line)' instead of '\(word)'") }
  }

  /// Starts it, has it do its work, and ends it: the figures that it says.
  static func figures(_ count: Int, of arguments: [String]) -> [Double] {
    let helper = Helper(arguments)
    helper.expect("ready")
    helper.send("run")
    let figures = helper.receive().split(separator: " ").compactMap { Double($0) }
    helper.finish()
    guard figures.count == count else { fail("'\(helper.title)' did not say \(count) figures") }
    return figures
  }

  /// Ends it at once, in whatever it is doing.
  func kill() {
    Glibc.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// Closes its input, which every helper takes as its order to leave, and waits.
  func finish() {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }
}

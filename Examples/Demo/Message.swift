import Foundation
import Synchronization

/// What a process of the demo tells the conductor: one JSON object a line.
struct Message: Codable, Sendable {
  enum Kind: String, Codable {
    /// Something for people to read.
    case say
    /// The loader has filled the store.
    case loaded
    /// A worker has its first picture.
    case ready
    /// The loader's life is over.
    case lived
    /// A worker's last picture, compared.
    case picture
  }
  var kind: Kind
  var text = ""
  var objects = 0
  var commits = 0
  var bulk = 0
  var notices = 0
  var version = 0
  var isEqual = false
  var digest: UInt64 = 0
  /// µs from just before the commit to the change set in the worker's hands.
  var latencies: [Double] = []

  func send() {
    guard let json = try? JSONEncoder().encode(self) else { return }
    FileHandle.standardOutput.write(json + Data("\n".utf8))
  }

  static func say(_ text: String) { Message(kind: .say, text: text).send() }
}

/// A process that the demo started: this same program in another role.
final class Role: @unchecked Sendable {
  let name: String
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()

  init(_ name: String, _ arguments: [String], mailbox: Mailbox) throws {
    self.name = name
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = arguments
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    let handle = output.fileHandleForReading
    Thread.detachNewThread { [self] in
      var rest = Data()
      while case let chunk = handle.availableData, !chunk.isEmpty {
        rest.append(chunk)
        while let end = rest.firstIndex(of: 10) {
          if let message = try? JSONDecoder().decode(Message.self, from: rest[rest.startIndex..<end]) {
            mailbox.put(.message(self, message))
          }
          rest = Data(rest[(end + 1)...])
        }
      }
      process.waitUntilExit()
      mailbox.put(.ended(self, process.terminationStatus, bySignal: process.terminationReason == .uncaughtSignal))
    }
  }

  var identifier: Int32 { process.processIdentifier }
  func go() { input.fileHandleForWriting.write(Data("go\n".utf8)) }
  func kill() { Foundation.kill(process.processIdentifier, SIGKILL) }
}

/// Everything that reaches the conductor, in order.
final class Mailbox: Sendable {
  enum Letter: Sendable {
    case message(Role, Message)
    case ended(Role, Int32, bySignal: Bool)
  }
  private let letters = Mutex<[Letter]>([])
  private let arrived = DispatchSemaphore(value: 0)

  func put(_ letter: Letter) {
    letters.withLock { $0.append(letter) }
    arrived.signal()
  }

  /// The next letter; nil when none comes in time.
  func next(within seconds: Double) -> Letter? {
    guard arrived.wait(timeout: .now() + seconds) == .success else { return nil }
    return letters.withLock { $0.isEmpty ? nil : $0.removeFirst() }
  }
}

/// The conductor's orders to go on, counted as they come.
final class Orders: Sendable {
  private let received = Mutex(0)
  private let arrived = DispatchSemaphore(value: 0)

  init() {
    Thread.detachNewThread { [self] in
      while readLine() != nil {
        received.withLock { $0 += 1 }
        arrived.signal()
      }
      // The conductor is gone: nobody will say more.
      exit(1)
    }
  }

  var count: Int { received.withLock { $0 } }
  func wait(for count: Int) { while self.count < count { arrived.wait() } }
}

/// Nanoseconds of the monotonic clock, the same in all processes.
func clockNow() -> Int { Int(clamping: DispatchTime.now().uptimeNanoseconds) }

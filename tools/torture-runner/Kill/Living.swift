import Foundation

/// A victim as long as it lives: a child of this process, or of one in another name space.
final class Living {
  let role: Victim.Role
  let words: SharedWords
  let isInside: Bool
  private let wordsPath: String
  private let process = Process()
  private let ward: TenantProcess?
  private var id: Int64 = 0

  init(_ role: Victim.Role, _ store: String, _ wordsPath: String, _ seed: UInt64, in ward: TenantProcess?) throws {
    self.role = role
    self.wordsPath = wordsPath
    self.ward = ward
    isInside = ward != nil
    words = try SharedWords(wordsPath, create: true)
    if let ward {
      guard let id = try ward.ask("start \(wordsPath) \(role.rawValue) \(seed)", within: 30).value else {
        throw TortureError("nothing can be started in the other name space")
      }
      self.id = id
    } else {
      process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      process.arguments = ["--victim", store, wordsPath, role.rawValue, "\(seed)"]
      try process.run()
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: wordsPath) }

  /// Of one inside nobody asks: whoever waits for it has patience.
  var isRunning: Bool { ward != nil || process.isRunning }

  /// Kills it, as somebody of its own name space. The status, where it had ended by itself.
  func kill() throws -> Int32? {
    if let ward {
      guard let answer = try ward.ask("end \(id)", within: 30).value else {
        throw TortureError("the ward is of no use")
      }
      return answer == 0 ? nil : Int32(answer - 1000)
    }
    if let end = ChildEnd.of(process, wait: false) { return end.status }
    Glibc.kill(process.processIdentifier, SIGKILL)
    _ = ChildEnd.of(process, wait: true)
    return nil
  }
}

import Foundation

/// A program that the tests run by the thousand: worth an optimised build where there is one of this very source.
struct Tool {
  let url: URL
  let isFast: Bool

  init(_ name: String) {
    let folder = URL(fileURLWithPath: Worker.executable).deletingLastPathComponent()
    let build = folder.deletingLastPathComponent().deletingLastPathComponent()
    let release = build.appendingPathComponent("release/\(name)")
    let root = build.deletingLastPathComponent()
    isFast = Tool.isNewer(
      release, than: ["Sources", "tools", "Tests/ScenarioWorker"].map { root.appendingPathComponent($0) })
    url = isFast ? release : folder.appendingPathComponent(name)
  }

  private static func date(_ url: URL) -> Date? {
    (try? FileManager.default.attributesOfItem(atPath: url.resolvingSymlinksInPath().path))?[.modificationDate] as? Date
  }

  private static func isNewer(_ program: URL, than folders: [URL]) -> Bool {
    guard let made = date(program) else { return false }
    for folder in folders {
      guard let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil) else {
        return false
      }
      for case let file as URL in files where ["swift", "c", "h"].contains(file.pathExtension) {
        if let changed = date(file), changed > made { return false }
      }
    }
    return true
  }
}

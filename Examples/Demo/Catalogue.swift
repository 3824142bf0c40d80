import Foundation

/// The machine's own package catalogue: what dpkg has installed, and what apt could install.
enum Catalogue {
  static let status = "/var/lib/dpkg/status"
  static let lists = "/var/lib/apt/lists"

  private static let fields = [
    "Package", "Status", "Version", "Section", "Priority", "Architecture", "Maintainer", "Source", "Installed-Size",
    "Size", "Essential", "Homepage", "Depends", "Description", "SHA256",
  ]

  struct Unreadable: Error, CustomStringConvertible { var description: String }

  /// All packages by name, installed ones over available ones.
  static func read(progress: (String) -> Void) throws -> [Package] {
    guard let installed = FileManager.default.contents(atPath: status), !installed.isEmpty else {
      throw Unreadable(description: "\(status) cannot be read: the demo needs a Debian system's package catalogue")
    }
    var packages: [String: Package] = [:]
    for file in availableLists() {
      guard let text = decompressed(file) else {
        progress("skipped \(file): apt could not read it")
        continue
      }
      Deb822.forEachParagraph(in: text, wanted: fields) { paragraph in
        if let package = Package(paragraph, isInstalled: false) { packages[package.name] = package }
      }
    }
    let available = packages.count
    Deb822.forEachParagraph(in: installed, wanted: fields) { paragraph in
      guard paragraph["Status"]?.hasSuffix(" installed") == true, var package = Package(paragraph, isInstalled: true)
      else { return }
      // dpkg keeps no download size or checksum: take those of the same version from the lists.
      if let known = packages[package.name], known.version == package.version {
        package.downloadSize = known.downloadSize
        package.sha256 = known.sha256
      }
      packages[package.name] = package
    }
    progress("\(packages.count) packages read: \(available) from apt's lists, the rest from \(status)")
    return packages.values.sorted { $0.name < $1.name }
  }

  private static func availableLists() -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: lists)) ?? []
    return names.filter { $0.contains("_Packages") && !$0.hasSuffix(".diff") }.sorted().map { "\(lists)/\($0)" }
  }

  /// apt keeps lists plain or compressed, as it likes; its own helper reads them all.
  private static func decompressed(_ file: String) -> Data? {
    if file.hasSuffix("_Packages") { return FileManager.default.contents(atPath: file) }
    let helper = "/usr/lib/apt/apt-helper"
    guard FileManager.default.isExecutableFile(atPath: helper) else { return nil }
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: helper)
    process.arguments = ["cat-file", file]
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return process.terminationStatus == 0 && !text.isEmpty ? text : nil
  }
}

extension Package {
  init?(_ fields: [String: String], isInstalled: Bool) {
    guard let name = fields["Package"], let version = fields["Version"] else { return nil }
    self.init(
      name: name, version: version, section: fields["Section"] ?? "unknown", priority: fields["Priority"],
      architecture: fields["Architecture"] ?? "all", maintainer: fields["Maintainer"] ?? "", source: fields["Source"],
      installedSize: fields["Installed-Size"].flatMap { Int($0) } ?? 0,
      downloadSize: fields["Size"].flatMap { Int($0) },
      isInstalled: isInstalled, isEssential: fields["Essential"] == "yes", homepage: fields["Homepage"],
      depends: fields["Depends"], summary: fields["Description"] ?? "",
      sha256: fields["SHA256"].flatMap(Data.init(hex:)))
  }
}

extension Data {
  init?(hex: String) {
    let digits = Array(hex.utf8)
    guard digits.count % 2 == 0 else { return nil }
    self.init(capacity: digits.count / 2)
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) else { return nil }
      append(byte)
    }
  }
}

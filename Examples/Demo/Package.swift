import Foundation
import Reef

/// One Debian package, with the fields that dpkg and apt know it by.
@Model struct Package {
  @Key var name: String
  var version: String
  @Indexed var section: String
  var priority: String?
  var architecture: String
  var maintainer: String
  var source: String?
  /// KiB once unpacked
  @Indexed var installedSize: Int
  /// Bytes to fetch
  var downloadSize: Int?
  var isInstalled: Bool
  var isEssential: Bool
  var homepage: String?
  var depends: String?
  var summary: String
  var sha256: Data?
}

/// What the loader stores with each commit, so that a listener knows how long the news took.
@Model struct Pulse {
  @Key var id: Int
  /// The monotonic clock, ns, just before the commit.
  var committedAt: Int
  /// How many of the loader's commits there were.
  var sequence: Int
  /// Set with the very last commit: pictures are compared now.
  var isLast: Bool
}

import Foundation

/// Time for the rounds of a test whose pace is the disk's, or the machine's: once it is used up, each loop makes one round
/// and no more. Where `REEF_ROUNDS` says how many, all are made.
struct Budget {
  private let end: Date
  private static let isUnlimited = ProcessInfo.processInfo.environment["REEF_ROUNDS"] != nil

  init(seconds: Double) { end = Date().addingTimeInterval(seconds) }

  func allows(_ round: Int) -> Bool { round == 0 || Budget.isUnlimited || Date() < end }
}

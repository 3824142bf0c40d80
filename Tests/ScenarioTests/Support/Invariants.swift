import ReefEngine
import ReefSystem
import Testing

/// What must hold between transactions: every block that the newest version needs has its bit set, no block waits twice
/// or is both free and in use, and blocks in use are live, waiting, in a magazine, or a declared leak.
enum Invariants {
  static func check(_ engine: Engine, _ context: String, allowLeaks: Bool = true) throws {
    let transaction = try engine.write(.after(.seconds(10)))
    defer { transaction.rollback() }
    let report = try transaction.spaceReport()
    #expect(report.liveWithoutBit == 0, "\(context): \(report)")
    #expect(report.waitingTwice == 0, "\(context): \(report)")
    #expect(report.liveAndFree == 0, "\(context): \(report)")
    #expect(report.damaged == 0, "\(context): \(report)")
    if !allowLeaks { #expect(report.leaked == 0, "\(context): \(report)") }
  }
}

import Foundation

/// What a suite is asked to do.
struct Request {
  var seed: UInt64
  var size: Size
  /// Only this case, with all it has to say.
  var only: Int?
  /// Of its own, gone when the run ends.
  var folder: String

  enum Size {
    case small, night
    case number(Int)

    /// How many cases that is, for a suite that takes so many for a test slice, and so many for a night.
    func count(small: Int, night: Int) -> Int {
      switch self {
      case .small: small
      case .night: night
      case .number(let number): number
      }
    }
  }
}

/// One way of breaking a store. A new suite is a line in `Suites.all`.
struct Suite: Sendable {
  var name: String
  var summary: String
  var run: @Sendable (Request) throws -> Report
  /// For suites made of cases: what a child process runs them with.
  var cases: (@Sendable (Request) throws -> any CaseSuite)?
}

/// A suite that is a number of independent cases, each of which may kill the process that runs it: they run in a child.
protocol CaseSuite: AnyObject {
  /// Cases belong to classes, which the report tells apart.
  var classes: [String] { get }
  /// Class of a case.
  func kind(of index: Int) -> Int
  /// Runs a case. `explain`: says what it does and finds, for a person.
  func run(_ index: Int, explain: Bool) -> Verdict
}

struct Verdict {
  var outcome: Outcome
  /// What went wrong, or which error it was.
  var detail: String
}

enum Outcome: UInt8, CaseIterable {
  case notRun = 0
  case right, error, earlier, forged, wrong, death, hang

  var name: String {
    switch self {
    case .notRun: "not run"
    case .right: "right"
    case .error: "typed error"
    case .earlier: "earlier version"
    case .forged: "forged"
    case .wrong: "wrong"
    case .death: "death"
    case .hang: "hang"
    }
  }
  var isFailure: Bool { self == .wrong || self == .death || self == .hang }
}

enum Suites {
  /// Suites that read a store's own promise first, in the order of `docs/reliability.md`.
  static let all: [Suite] = [
    PowerLossSuite.suite, KillSuite.suite, StepSuite.suite, InterleavingSuite.suite, DamageSuite.suite,
    ExhaustionSuite.suite, CrowdSuite.suite, InjectionSuite.suite, EnvironmentSuite.suite, HistorySuite.suite,
    ProofSuite.suite, PeerSuite.suite,
  ]
  /// Asked for by name only, and of a build that has them.
  static let others = [MutantSuite.suite]

  static func named(_ name: String) -> Suite? { (all + others).first { $0.name == name } }
}

// swift-tools-version: 6.2
import CompilerPluginSupport
import Foundation
import PackageDescription

// The macro is built against the swift-syntax that ships inside the toolchain (usr/lib/swift/host):
// no outside package is needed and nothing is compiled twice. The price is an unsafe flag, which
// SwiftPM refuses for a package that is depended on by version tag; such users name the
// swift-syntax package instead.
let toolchainHost: String = {
  let manager = FileManager.default
  let environment = ProcessInfo.processInfo.environment
  for folder in (environment["PATH"] ?? "").split(separator: ":") {
    let candidate = URL(fileURLWithPath: "\(folder)/swiftc").resolvingSymlinksInPath()
    let host = candidate.deletingLastPathComponent().deletingLastPathComponent().path + "/lib/swift/host"
    if manager.fileExists(atPath: host + "/libSwiftSyntax.so") { return host }
  }
  return "/usr/lib/swift/host"
}()

// Coverage-guided fuzzing (tools/fuzz) is a build of its own, in a scratch path of its own: instrumented, and linked with
// the toolchain's libFuzzer. REEF_FUZZ=address adds the address sanitizer. Without the variable none of it is there.
let fuzzing = ProcessInfo.processInfo.environment["REEF_FUZZ"] ?? ""
let isFuzzing = !fuzzing.isEmpty
let isSanitized = fuzzing == "address"
let coverage: [SwiftSetting] =
  isFuzzing
  ? [.unsafeFlags(["-sanitize=fuzzer\(isSanitized ? ",address" : "")", "-O"]), .define("REEF_FUZZ")] : []
let coverageC: [CSetting] =
  isFuzzing ? [.unsafeFlags(["-O2", "-fsanitize=fuzzer-no-link\(isSanitized ? ",address" : "")"])] : []
#if arch(arm64)
  let machine = "aarch64"
#else
  let machine = "x86_64"
#endif
let fuzzer: [LinkerSetting] =
  isFuzzing
  ? [
    .unsafeFlags(["-Xlinker", toolchainHost + "/../clang/lib/linux/libclang_rt.fuzzer_no_main-\(machine).a"]),
    .linkedLibrary("stdc++"),
    .unsafeFlags(["-use-ld=lld"] + (isSanitized ? ["-sanitize=address"] : [])),
  ] : []

let warnings: [SwiftSetting] = [.swiftLanguageMode(.v6)]
// Bugs to be found by the suites that search for bugs: see `Mutant`. Never in a release build.
let engine = warnings + (isFuzzing ? [] : [.define("REEF_MUTATIONS", .when(configuration: .debug))])

let hostSyntax = [
  "SwiftSyntax", "SwiftSyntaxBuilder", "SwiftSyntaxMacros", "SwiftDiagnostics", "SwiftCompilerPluginMessageHandling",
]

let package = Package(
  name: "Reef",
  products: [
    .library(name: "Reef", targets: ["Reef"]),
    .executable(name: "reef", targets: ["reef"]),
    // Nobody's but the torture's: the engine as a plug-in brings it along.
    .library(name: "reef-copy", type: .dynamic, targets: ["ReefCopy"]),
  ],
  targets: [
    .systemLibrary(name: "CNuma", providers: [.apt(["libnuma-dev"])]),
    .systemLibrary(name: "CXXHash", providers: [.apt(["libxxhash-dev"])]),
    .target(name: "CReefSystem", cSettings: [.define("_GNU_SOURCE")] + coverageC),
    .target(name: "CReefKernels", cSettings: [.unsafeFlags(["-O3"], .when(configuration: .release))] + coverageC),
    .target(name: "ReefSystem", dependencies: ["CReefSystem", "CNuma"], swiftSettings: engine + coverage),
    .target(
      name: "ReefEngine", dependencies: ["ReefSystem", "CReefKernels", "CXXHash"],
      swiftSettings: engine + coverage),
    .macro(
      name: "ReefMacros",
      swiftSettings: warnings + [.unsafeFlags(["-I", toolchainHost])],
      linkerSettings: [
        .unsafeFlags(
          ["-L", toolchainHost, "-Xlinker", "-rpath", "-Xlinker", toolchainHost] + hostSyntax.map { "-l\($0)" })
      ]),
    .target(name: "Reef", dependencies: ["ReefEngine", "ReefMacros"], swiftSettings: warnings),
    .executableTarget(
      name: "reef", dependencies: ["ReefEngine", "ReefSystem"], path: "Sources/ReefCommand", swiftSettings: warnings),
    .executableTarget(name: "reef-demo", dependencies: ["Reef"], path: "Examples/Demo", swiftSettings: warnings),

    // Measuring: the peers are used here only.
    .systemLibrary(name: "CLMDB", path: "tools/benchmark/CLMDB", providers: [.apt(["liblmdb-dev"])]),
    .systemLibrary(name: "CSQLite3", path: "tools/benchmark/CSQLite3", providers: [.apt(["libsqlite3-dev"])]),
    .target(
      name: "CBench", dependencies: ["CLMDB", "CSQLite3"], path: "tools/benchmark/native",
      cSettings: [.define("_GNU_SOURCE")], linkerSettings: [.linkedLibrary("lmdb"), .linkedLibrary("sqlite3")]),
    .executableTarget(
      name: "reef-bench", dependencies: ["Reef", "CBench"], path: "tools/benchmark/driver", swiftSettings: warnings),

    // Searching for what breaks a store.
    .target(
      name: "CStepper", dependencies: ["CReefSystem"], path: "tools/torture-stepper",
      cSettings: [.define("_GNU_SOURCE")]),
    .target(
      name: "ReefCopy", dependencies: ["ReefSystem", "ReefEngine"], path: "tools/torture-copy", swiftSettings: warnings),
    .executableTarget(
      name: "reef-torture", dependencies: ["ReefSystem", "ReefEngine", "CStepper", "CXXHash", "CLMDB", "CSQLite3"],
      path: "tools/torture-runner", exclude: isFuzzing ? [] : ["Fuzz"], swiftSettings: warnings + coverage,
      linkerSettings: [.linkedLibrary("lmdb"), .linkedLibrary("sqlite3")] + fuzzer),

    .testTarget(
      name: "ReefEngineTests", dependencies: ["ReefEngine", "CReefKernels", "CXXHash"], swiftSettings: warnings),
    .executableTarget(
      name: "reef-test-worker", dependencies: ["ReefSystem", "ReefEngine"], path: "Tests/Worker",
      swiftSettings: warnings),
    .executableTarget(
      name: "reef-scenario", dependencies: ["ReefSystem", "ReefEngine", "CXXHash"], path: "Tests/ScenarioWorker",
      swiftSettings: warnings),
    .testTarget(
      name: "ScenarioTests", dependencies: ["ReefEngine", "reef-scenario", "reef-torture"], swiftSettings: warnings),
    .executableTarget(
      name: "reef-numa-probe", dependencies: ["Reef"], path: "Tests/NumaProbe", swiftSettings: warnings),
    .testTarget(
      name: "ReefTests", dependencies: ["Reef", "reef", "reef-bench", "reef-numa-probe"], swiftSettings: warnings),
    .testTarget(
      name: "ReefSystemTests", dependencies: ["ReefSystem", "ReefEngine", "reef-test-worker"],
      swiftSettings: warnings),
  ]
)

import Foundation
import Reef
import Testing

/// Real placement of a store's pages, in small virtual machines with several memory nodes. Skipped, and visibly so, where
/// the emulator or a kernel for it is not to be had: `tools/setup --all` installs them.
@Suite(.serialized) struct NumaPlacementTests {
  @Test func pagesLieWhereThePolicySaysOnTwoNodes() async throws { try await check(nodes: 2) }
  @Test func pagesLieWhereThePolicySaysOnFourNodes() async throws { try await check(nodes: 4) }

  private func check(nodes: Int) async throws {
    let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().path
    for program in ["qemu-system-x86_64", "busybox", "numactl"] where Programs.inPath(program) == nil {
      try Test.cancel("\(program) is not installed: tools/setup --all brings it")
    }
    let result = try await Programs.run(
      "\(top)/tools/numa-vm",
      ["--nodes", "\(nodes)", "--timeout", "300", "--", try Programs.built("reef-numa-probe")])
    if result.status == 125, result.output.contains("downloaded") || result.output.contains("cannot write to") {
      try Test.cancel("no kernel for the virtual machine: \(result.output.suffix(300))")
    }
    #expect(result.status == 0, "\(result.output)")
    #expect(result.output.contains("\(nodes) nodes"), "\(result.output)")
    for policy in ["interleave", "prefer(\(nodes - 1))", "bind(1)", "none"] {
      #expect(result.output.contains("ok: \(policy), filled"), "\(result.output)")
      #expect(result.output.contains("ok: \(policy), grown"), "\(result.output)")
    }
  }

  @Test func anOrdinaryFileSystemRefusesAPolicy() throws {
    let folder = try Programs.diskFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var configuration = Store.Configuration(location: .file("\(folder)/numa.reef"), models: [Note.self])
    configuration.numa = .interleave
    #expect {
      _ = try Store(configuration)
    } throws: { error in
      if case StoreError.policyUnsupported = error { true } else { false }
    }
  }

  @Model struct Note {
    @Key var id: Int
    var text: String
  }
}

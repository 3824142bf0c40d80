import Foundation
import ReefEngine
import ReefSystem

@_silgen_name("LLVMFuzzerRunDriver")
private func drive(
  _ count: UnsafeMutablePointer<CInt>,
  _ words: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ body: @convention(c) (UnsafePointer<UInt8>, Int) -> CInt
) -> CInt

/// `reef-torture fuzz TARGET FOLDER [options of libFuzzer]`: inputs that reach what no other has reached are kept and
/// changed further. See tools/fuzz.
enum Fuzzer {
  nonisolated(unsafe) private static var samples: [FuzzSample] = []
  nonisolated(unsafe) private static var target = FuzzTarget.open
  nonisolated(unsafe) private static var path = ""
  /// Seconds of processor time that an input may take.
  private static let limit = 1.0

  static func run(_ words: [String]) throws {
    guard words.count >= 2, let target = FuzzTarget(rawValue: words[0]) else {
      throw TortureError(
        "fuzz TARGET FOLDER: targets are \(FuzzTarget.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    self.target = target
    samples = try FuzzSample.all(words[1] + "/samples")
    let folder = "/dev/shm/reef-fuzz-\(getpid())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    path = folder + "/jobs.reef"
    if let corpus = words.dropFirst(2).first(where: { !$0.hasPrefix("-") }) { try seed(corpus) }
    var count = CInt(words.count - 1)
    let pointers = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: words.count + 1)
    for (index, word) in ([CommandLine.arguments[0]] + words.dropFirst(2)).enumerated() {
      pointers[index] = strdup(word)
    }
    pointers[Int(count)] = nil
    var arguments = pointers
    atexit { Fuzzer.clean() }
    let status = drive(&count, &arguments) { bytes, count in
      Fuzzer.one(UnsafeBufferPointer(start: bytes, count: count))
      return 0
    }
    exit(status)
  }

  private static func clean() {
    try? FileManager.default.removeItem(atPath: URL(fileURLWithPath: path).deletingLastPathComponent().path)
  }

  /// To begin with: each sample as it is, and one change of each kind.
  private static func seed(_ corpus: String) throws {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: corpus, isDirectory: &isFolder), isFolder.boolValue,
      try FileManager.default.contentsOfDirectory(atPath: corpus).isEmpty
    else { return }
    var random = Mix(1, 9)
    for sample in 0..<FuzzSample.count {
      var input = FuzzInput()
      input.sample = sample
      for kind in [FuzzInput.Change.Kind?.none] + (sample < 4 ? FuzzInput.Change.Kind.allCases : []) {
        input.changes = []
        if let kind {
          input.changes = [FuzzInput.Change.random(&random)]
          input.changes[0].kind = kind
        }
        let name = "\(corpus)/seed-\(sample)-\(kind.map { "\($0)" } ?? "whole")"
        try Data(input.encoded).write(to: URL(fileURLWithPath: name))
      }
    }
  }

  private static func one(_ bytes: UnsafeBufferPointer<UInt8>) {
    let input = FuzzInput(bytes)
    let began = seconds
    run(input)
    guard seconds - began > limit else { return }
    // A second may pass on a busy machine: once more.
    let again = seconds
    run(input)
    if seconds - again > limit { fatalError("took \(seconds - again) s of processor time, twice") }
  }

  private static func run(_ input: FuzzInput) {
    let sample = samples[input.sample]
    let (file, lock) = input.files(sample)
    for suffix in ["", ".lock", ".note"] { unlink(path + suffix) }
    write(file, input.changes.isEmpty ? sample.filled : FuzzSample.filled(file), to: path)
    if input.changes.contains(where: { $0.kind == .lock }) || target == .lock {
      write(lock, FuzzSample.filled(lock), to: path + ".lock")
    }
    var fuzz = FuzzCase(target, input, path: path)
    fuzz.run()
  }

  private static func write(_ bytes: [UInt8], _ parts: [Range<Int>], to path: String) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0, ftruncate(descriptor, off_t(bytes.count)) == 0 else { fatalError("cannot write \(path)") }
    defer { close(descriptor) }
    bytes.withUnsafeBytes { all in
      for part in parts {
        guard let base = all.baseAddress,
          pwrite(descriptor, base + part.lowerBound, part.count, off_t(part.lowerBound)) == part.count
        else { fatalError("cannot write \(path)") }
      }
    }
  }

  private static var seconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

import CXXHash
import Glibc
import ReefEngine
import ReefSystem

/// A disk that forgets: what the file held at its last completed sync is safe; of everything stored since, any part may
/// have reached the disk, in any order, a sector at a time, in any state it had in between.
///
/// It watches a real file through the fault points of the system storey: at each named step and at the start of each sync
/// it takes down what is in the file.
final class SimulatedDisk: @unchecked Sendable {
  static let sector = 512
  typealias Image = [UInt8]

  private let path: String
  /// Content at the last completed sync.
  private(set) var durable: Image = []
  /// Contents since, oldest first; the last is the present one.
  private(set) var since: [Image] = []
  /// Syncs of the file that it heard of: none would mean that it watches another.
  private(set) var syncs = 0
  /// A sync is under way: it completes with the next event.
  private var syncing: Image?
  /// Where the file is written synchronously: those writes are durable by themselves, once they return.
  var ring: () -> Range<Int>? = { nil }
  /// Appends that it saw.
  private(set) var appends = 0
  /// Called after a step was looked at: for what other processes do meanwhile.
  var beside: (String) -> Void = { _ in }
  /// Called at every event, before anything more happens.
  var onEvent: (String) -> Void = { _ in }

  init(path: String, durable: Image = []) {
    self.path = path
    self.durable = durable
  }

  func attach() {
    FaultPoint.install { [self] call, target in
      // Directories and sidecars have no say in it.
      if call == "fsync" || call == "fdatasync", target == path { event(call, isSync: true) }
      return nil
    }
    FaultPoint.install(steps: { [self] step in
      event(step, isSync: false)
      if !isBusy, pthread_equal(thread, pthread_self()) != 0 { beside(step) }
    })
  }

  func detach() {
    FaultPoint.install(nil)
    FaultPoint.install(steps: nil)
  }

  /// Images are opened while the disk is being watched: that is nothing to watch.
  private var isBusy = false

  /// Runs without looking at what happens.
  func unwatched(_ body: () throws -> Void) rethrows {
    isBusy = true
    defer { isBusy = false }
    try body()
  }

  /// An event of the test's own.
  func mark(_ name: String) { event(name, isSync: false) }

  private let thread = pthread_self()

  private func event(_ name: String, isSync: Bool) {
    // Keepers and mark passes run beside: what they store is seen at the next event of the one thread that is watched.
    if isBusy || pthread_equal(thread, pthread_self()) == 0 { return }
    isBusy = true
    defer { isBusy = false }
    if let content = syncing {
      durable = content
      since = []
      syncing = nil
    }
    let now = read()
    if since.last != now { since.append(now) }
    // An append that returned: a power loss before it did may have left any part of it, one after it none but all.
    onEvent(name)
    if name == "append.written", let ring = ring() {
      appends += 1
      settle(ring, now)
      onEvent(name + ", durable")
    }
    if isSync {
      syncing = now
      syncs += 1
    }
  }

  /// The range is durable as it is now; the rest of the file is not.
  private func settle(_ ring: Range<Int>, _ now: Image) {
    func patch(_ image: inout Image) {
      let range = ring.clamped(to: 0..<min(image.count, now.count))
      image.replaceSubrange(range, with: now[range])
    }
    patch(&durable)
    for index in since.indices { patch(&since[index]) }
  }

  /// The last sync of a call that returned has completed, too.
  func settle() {
    if let content = syncing {
      durable = content
      since = []
      syncing = nil
    }
  }

  private func read() -> Image {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    var status = stat()
    fstat(descriptor, &status)
    let size = Int(status.st_size)
    return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      count = max(0, pread(descriptor, buffer.baseAddress, size, 0))
    }
  }

  /// Sectors in which any of the contents since differs from the durable one.
  func dirtySectors() -> [Int] {
    var dirty: Set<Int> = []
    for content in since { SimulatedDisk.differences(durable, content, &dirty) }
    return dirty.sorted()
  }

  private static func differences(_ one: Image, _ two: Image, _ dirty: inout Set<Int>) {
    let shared = min(one.count, two.count)
    one.withUnsafeBytes { one in
      two.withUnsafeBytes { two in
        guard let first = one.baseAddress, let second = two.baseAddress else { return }
        var offset = 0
        while offset < shared {
          let block = min(65536, shared - offset)
          if memcmp(first + offset, second + offset, block) != 0 {
            var at = offset
            while at < offset + block {
              let length = min(sector, offset + block - at)
              if memcmp(first + at, second + at, length) != 0 { dirty.insert(at / sector) }
              at += sector
            }
          }
          offset += block
        }
      }
    }
    if two.count > one.count { for index in (one.count / sector)..<(two.count / sector) { dirty.insert(index) } }
  }

  static func hash(_ image: Image, _ salt: Int) -> UInt64 {
    image.withUnsafeBytes { XXH3_64bits_withSeed($0.baseAddress, $0.count, UInt64(bitPattern: Int64(salt))) }
  }

  /// An image after power loss: the durable content with some sectors in a later state. `choose` gives for a sector the
  /// index into `since`, or nil for what was durable. `keepsSize`: the file's size is the durable one.
  func image(_ sectors: [Int], keepsSize: Bool, _ choose: (Int) -> Int?) -> Image {
    var image = durable
    let size = keepsSize ? durable.count : since.last?.count ?? durable.count
    // A longer file reads as zeros where nothing arrived.
    if image.count < size { image.append(contentsOf: repeatElement(0, count: size - image.count)) }
    if image.count > size { image.removeLast(image.count - size) }
    for index in sectors {
      guard let pick = choose(index) else { continue }
      let content = since[pick]
      let start = index * SimulatedDisk.sector
      let end = min(start + SimulatedDisk.sector, min(content.count, image.count))
      if start < end { image.replaceSubrange(start..<end, with: content[start..<end]) }
    }
    return image
  }

  /// Of a sector that was being written when power went the first bytes are the newest and the rest is durable, or the reverse.
  func tear(_ image: inout Image, _ sector: Int, cut: Int, isFirstNew: Bool) {
    let start = sector * SimulatedDisk.sector
    guard let newest = since.last, start + SimulatedDisk.sector <= min(image.count, newest.count) else { return }
    for index in start..<(start + SimulatedDisk.sector) {
      let isNew = (index - start < cut) == isFirstNew
      image[index] = isNew ? newest[index] : index < durable.count ? durable[index] : 0
    }
  }
}

import CReefSystem
import Glibc
import ReefSystem

/// A store's file as bytes in memory, for looking at it whatever is wrong with it. Nobody's mapping: a file that is cut off
/// meanwhile, or has holes on a full disk, is no signal here.
package final class StoreImage {
  package let path: String
  package let size: Int
  package let base: UnsafeMutableRawPointer

  /// Reads the whole file. Throws `notFound`, `permission`, and what else opening a file can say.
  package init(_ path: String) throws(StoreError) {
    self.path = path
    let descriptor = try storing(path) { () throws(SystemError) in try File.open(path, .readOnly) }
    defer { File.close(descriptor) }
    size = try storing(path) { () throws(SystemError) in try File.status(descriptor).size }
    // Beyond its end too: a page that says it is longer is looked at as zeros.
    guard let memory = calloc(size + DataLayout.extentSize, 1) else {
      throw .system(call: "calloc", errno: ENOMEM, path: path)
    }
    base = memory
    var at = 0
    while at < size {
      let count = min(1 << 20, size - at)
      let part = UnsafeMutableRawBufferPointer(start: memory + at, count: count)
      let offset = at
      let done = try storing(path) { () throws(SystemError) in
        try File.read(descriptor, into: part, at: offset, path: path)
      }
      if done <= 0 { break }
      at += done
    }
  }

  deinit { free(base) }

  /// Whether it begins as a store does.
  package var isStore: Bool {
    size >= DataLayout.Header.size && base.load(as: UInt64.self) == DataLayout.magic
  }

  /// Whether entries carry checksums. Asked of the slots, which have one of their own; the header has none.
  package var isChecked: Bool { versions.contains { $0.slot.root >> 32 != 0 } }

  /// The slots that hold, newest first, each version once: durable ones before heads of the same version.
  package var versions: [(slot: RootSlot, name: String)] {
    let places = [
      (DataLayout.durableSlotOffset.0, "durable slot 0"), (DataLayout.durableSlotOffset.1, "durable slot 1"),
      (DataLayout.headSlotOffset.0, "head slot 0"), (DataLayout.headSlotOffset.1, "head slot 1"),
    ]
    var found: [(slot: RootSlot, name: String)] = []
    for (offset, name) in places {
      guard offset + DataLayout.Slot.size <= size, let slot = RootSlot(at: base + offset) else { continue }
      if !found.contains(where: { $0.slot.version == slot.version && $0.slot.root == slot.root }) {
        found.append((slot, name))
      }
    }
    return found.sorted { $0.slot.version > $1.slot.version }
  }

  package func view(_ slot: RootSlot) -> ReadView {
    let limit = min(slot.extents << UInt64(DataLayout.extentShift), UInt64(size))
    return ReadView(base: UnsafeRawPointer(base), limit: max(limit, 2), root: slot.root, version: slot.version)
  }
}

import Foundation

/// A second engine in this process, with its own everything: loaded from a file that nobody else has loaded.
struct LoadedCopy {
  private typealias Obey = @convention(c) (UnsafePointer<CChar>, UnsafeMutablePointer<CChar>) -> Void
  private let obey: Obey

  /// `apart`: in a name space of the loader's, with a Swift and a C library of its own.
  init(_ path: String, apart: Bool) throws {
    let how = RTLD_NOW | RTLD_LOCAL
    guard let library = apart ? dlmopen(-1, path, how) : dlopen(path, how), let found = dlsym(library, "reef_copy_obey")
    else { throw StoreErrorText("\(dlerror().map { String(cString: $0) } ?? "no reason")") }
    obey = unsafeBitCast(found, to: Obey.self)
  }

  /// Its answer, as a tenant gives one.
  func callAsFunction(_ line: String) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1024) { answer in
      guard let base = answer.baseAddress else { return "wrong no memory" }
      obey(line, base)
      return String(cString: base)
    }
  }
}

/// An answer that is an error to the one that asked.
struct StoreErrorText: Error {
  let text: String
  init(_ text: String) { self.text = text }
}

/// `dlmopen`, which the module does not have. −1: a new space.
@_silgen_name("dlmopen")
private func dlmopen(_ space: Int, _ path: UnsafePointer<CChar>, _ how: Int32) -> UnsafeMutableRawPointer?

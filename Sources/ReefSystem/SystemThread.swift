import CReefSystem

/// A thread of the engine's own: no signals, a name, and it must be joined or detached.
package final class SystemThread: @unchecked Sendable {
  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }
  private let handle: UInt64

  package init(name: String, _ run: @escaping @Sendable () -> Void) throws(SystemError) {
    var handle: UInt64 = 0
    let body = Unmanaged.passRetained(Body(run))
    do {
      try systemCall("pthread_create") {
        reef_thread_start(
          &handle,
          { context in
            guard let context else { return }
            Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
          }, body.toOpaque(), String(name.prefix(15)))
      }
    } catch {
      body.release()
      throw error
    }
    self.handle = handle
  }

  /// Waits for the thread to end. Once, and not from the thread itself.
  package func join() { _ = reef_thread_join(handle) }

  /// Lets the thread end by itself. Instead of `join`.
  package func detach() { _ = reef_thread_detach(handle) }
}

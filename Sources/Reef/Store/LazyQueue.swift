import Dispatch
import Synchronization

/// A dispatch queue that is made when it is needed: most processes never do, and opening a store should not wait for it.
final class LazyQueue: Sendable {
  private let label: String
  private let made = Mutex<DispatchQueue?>(nil)

  init(label: String) { self.label = label }

  var queue: DispatchQueue {
    made.withLock { made in
      if let made { return made }
      let queue = DispatchQueue(label: label)
      made = queue
      return queue
    }
  }
}

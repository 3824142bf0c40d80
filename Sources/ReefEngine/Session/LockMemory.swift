import ReefSystem
import Synchronization

/// Typed access to the lock file's shared memory, by the offsets of `LockLayout`.
///
/// Plain `word` and `set` are relaxed atomics: never torn, and ordered only by the atomics around them.
package struct LockMemory: @unchecked Sendable {
  package let base: UnsafeMutableRawPointer

  @inlinable @inline(__always)
  package init(base: UnsafeMutableRawPointer) { self.base = base }

  @inlinable @inline(__always)
  package func atomic(_ offset: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
    (base + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
  }
  @inlinable @inline(__always)
  package func atomic32(_ offset: Int) -> UnsafeMutablePointer<Atomic<UInt32>> {
    (base + offset).assumingMemoryBound(to: Atomic<UInt32>.self)
  }

  // 64 bits
  @inlinable @inline(__always)
  package func word(_ offset: Int) -> UInt64 { atomic(offset).pointee.load(ordering: .relaxed) }
  @inlinable @inline(__always)
  package func set(_ offset: Int, _ value: UInt64) { atomic(offset).pointee.store(value, ordering: .relaxed) }
  @inlinable @inline(__always)
  package func loadAcquire(_ offset: Int) -> UInt64 { atomic(offset).pointee.load(ordering: .acquiring) }
  @inlinable @inline(__always)
  package func storeRelease(_ offset: Int, _ value: UInt64) {
    atomic(offset).pointee.store(value, ordering: .releasing)
  }
  @inlinable @inline(__always)
  package func loadSeqCst(_ offset: Int) -> UInt64 { atomic(offset).pointee.load(ordering: .sequentiallyConsistent) }
  @inlinable @inline(__always)
  package func storeSeqCst(_ offset: Int, _ value: UInt64) {
    atomic(offset).pointee.store(value, ordering: .sequentiallyConsistent)
  }
  @inlinable @inline(__always)
  package func exchangeSeqCst(_ offset: Int, _ value: UInt64) -> UInt64 {
    atomic(offset).pointee.exchange(value, ordering: .sequentiallyConsistent)
  }
  /// Whether the word was `expected` and is `desired` now.
  @inlinable @inline(__always)
  package func compareExchange(_ offset: Int, _ expected: UInt64, _ desired: UInt64) -> Bool {
    atomic(offset).pointee.compareExchange(expected: expected, desired: desired, ordering: .sequentiallyConsistent)
      .exchanged
  }
  /// Sets bits; returns the word as it was.
  @inlinable @inline(__always)
  @discardableResult
  package func fetchOr(_ offset: Int, _ bits: UInt64) -> UInt64 {
    atomic(offset).pointee.bitwiseOr(bits, ordering: .sequentiallyConsistent).oldValue
  }
  /// Keeps only these bits; returns the word as it was.
  @inlinable @inline(__always)
  @discardableResult
  package func fetchAnd(_ offset: Int, _ bits: UInt64) -> UInt64 {
    atomic(offset).pointee.bitwiseAnd(bits, ordering: .sequentiallyConsistent).oldValue
  }
  /// Adds, wrapping; returns the word as it was.
  @inlinable @inline(__always)
  @discardableResult
  package func fetchAdd(_ offset: Int, _ amount: UInt64) -> UInt64 {
    atomic(offset).pointee.wrappingAdd(amount, ordering: .sequentiallyConsistent).oldValue
  }
  /// Raises the word to `value` if it is lower.
  @inlinable
  package func raise(_ offset: Int, to value: UInt64) {
    var old = word(offset)
    while old < value {
      let result = atomic(offset).pointee.compareExchange(
        expected: old, desired: value, ordering: .sequentiallyConsistent)
      if result.exchanged { return }
      old = result.original
    }
  }

  // 32 bits
  @inlinable @inline(__always)
  package func word32(_ offset: Int) -> UInt32 { atomic32(offset).pointee.load(ordering: .relaxed) }
  @inlinable @inline(__always)
  package func set32(_ offset: Int, _ value: UInt32) { atomic32(offset).pointee.store(value, ordering: .relaxed) }
  @inlinable @inline(__always)
  package func loadAcquire32(_ offset: Int) -> UInt32 { atomic32(offset).pointee.load(ordering: .acquiring) }
  @inlinable @inline(__always)
  package func storeRelease32(_ offset: Int, _ value: UInt32) {
    atomic32(offset).pointee.store(value, ordering: .releasing)
  }
  @inlinable @inline(__always)
  package func exchangeSeqCst32(_ offset: Int, _ value: UInt32) -> UInt32 {
    atomic32(offset).pointee.exchange(value, ordering: .sequentiallyConsistent)
  }

  /// A sequentially consistent fence.
  @inlinable @inline(__always)
  package static func fence() { atomicMemoryFence(ordering: .sequentiallyConsistent) }

  /// The fence after a sequentially consistent exchange or store: nothing to do on x86, where those are full barriers.
  @inlinable @inline(__always)
  package static func fenceAfterExchange() {
    #if !arch(x86_64)
      atomicMemoryFence(ordering: .sequentiallyConsistent)
    #endif
  }
}

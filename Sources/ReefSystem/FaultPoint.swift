import CReefSystem
import Glibc
import Synchronization

/// Where tests make system calls fail and processes die. One relaxed load when nobody asked.
///
/// In the process itself: `install`. For a spawned process, by environment, each a comma-separated list:
/// - `REEF_FAULT=fallocate:3:ENOSPC` – the third `fallocate` fails; `fallocate:3+:ENOSPC` – it and all later ones
/// - `REEF_KILL=publish:2` – SIGKILL at the second passing of the step `publish`; `*` counts every step
/// - `REEF_STOP=publish:2` – SIGSTOP there
@usableFromInline package enum FaultPoint {
  /// Gets the call's name and path, returns the errno it shall fail with.
  package typealias Hook = @Sendable (_ call: String, _ path: String?) -> Int32?
  /// Gets the step's name.
  package typealias StepHook = @Sendable (_ step: String) -> Void

  private struct State {
    var hook: Hook?
    var stepHook: StepHook?
    var plan: FaultPlan?
  }
  private static let state = Mutex(State())

  /// Makes `hook` decide about every system call of this process; nil: no more.
  package static func install(_ hook: Hook?) {
    state.withLock { $0.hook = hook }
    arm()
  }

  /// Makes `hook` hear of every named step; nil: no more.
  package static func install(steps hook: StepHook?) {
    state.withLock { $0.stepHook = hook }
    arm()
  }

  private static func arm() {
    let armed = state.withLock { state in
      let plan = state.plan ?? FaultPlan.fromEnvironment()
      state.plan = plan
      return state.hook != nil || state.stepHook != nil || !plan.isEmpty
    }
    reef_faults_arm(armed)
  }

  /// The errno with which a call shall fail, or nil.
  @inline(__always)
  static func error(for call: StaticString, _ path: @autoclosure () -> String?) -> Int32? {
    reef_faults_armed() ? slowError(call.description, path()) : nil
  }

  @inline(never)
  private static func slowError(_ call: String, _ path: String?) -> Int32? {
    let (hook, planned) = state.withLock { state -> (Hook?, Int32?) in
      if state.plan == nil { state.plan = FaultPlan.fromEnvironment() }
      return (state.hook, state.plan?.error(for: call))
    }
    return planned ?? hook?(call, path)
  }

  /// A named step at which a test may end or stop this process. The engine passes one between any two effects that
  /// others could see.
  @inlinable @inline(__always)
  package static func step(_ name: StaticString) {
    if reef_faults_armed() { slowStep(name) }
  }

  @inline(never) @usableFromInline
  static func slowStep(_ name: StaticString) {
    let (hook, fate) = state.withLock { state -> (StepHook?, FaultPlan.Fate) in
      if state.plan == nil { state.plan = FaultPlan.fromEnvironment() }
      return (state.stepHook, state.plan?.fate(at: name.description) ?? .live)
    }
    hook?(name.description)
    switch fate {
    case .live: break
    case .die: reef_kill_self(false)
    case .stop: reef_kill_self(true)
    }
  }
}

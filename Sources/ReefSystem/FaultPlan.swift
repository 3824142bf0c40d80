import Glibc

/// What the environment of a spawned test process asks for. See `FaultPoint`.
struct FaultPlan {
  enum Fate { case live, die, stop }

  struct Rule {
    var name: String
    /// Passings left until it strikes; 0: it has struck.
    var left: Int
    var repeats = false
    var errno: Int32 = 0
    var fate = Fate.live

    mutating func strikes(_ passing: String) -> Bool {
      guard name == passing || name == "*", left > 0 else { return false }
      if left > 1 {
        left -= 1
        return false
      }
      if !repeats { left = 0 }
      return true
    }
  }

  var calls: [Rule] = []
  var steps: [Rule] = []
  var isEmpty: Bool { calls.isEmpty && steps.isEmpty }

  mutating func error(for call: String) -> Int32? {
    for index in calls.indices where calls[index].strikes(call) { return calls[index].errno }
    return nil
  }

  mutating func fate(at step: String) -> Fate {
    for index in steps.indices where steps[index].strikes(step) { return steps[index].fate }
    return .live
  }

  static func fromEnvironment() -> FaultPlan {
    var plan = FaultPlan()
    for part in parts("REEF_FAULT") where part.count >= 2 {
      let count = part[1].hasSuffix("+") ? part[1].dropLast() : part[1]
      plan.calls.append(
        Rule(
          name: String(part[0]), left: Int(count) ?? 1, repeats: part[1].hasSuffix("+"),
          errno: part.count > 2 ? errorNumber(String(part[2])) : EIO))
    }
    for (variable, fate) in [("REEF_KILL", Fate.die), ("REEF_STOP", Fate.stop)] {
      for part in parts(variable) {
        plan.steps.append(Rule(name: String(part[0]), left: part.count > 1 ? Int(part[1]) ?? 1 : 1, fate: fate))
      }
    }
    return plan
  }

  private static func parts(_ variable: String) -> [[Substring]] {
    guard let value = getenv(variable) else { return [] }
    return String(cString: value).split(separator: ",").map { $0.split(separator: ":") }
  }

  private static func errorNumber(_ name: String) -> Int32 {
    switch name {
    case "ENOSPC": ENOSPC
    case "EDQUOT": EDQUOT
    case "EIO": EIO
    case "ENOMEM": ENOMEM
    case "EACCES": EACCES
    case "EPERM": EPERM
    case "EROFS": EROFS
    case "ENOSYS": ENOSYS
    case "EOPNOTSUPP": EOPNOTSUPP
    case "EMFILE": EMFILE
    case "EINVAL": EINVAL
    case "EAGAIN": EAGAIN
    default: Int32(name) ?? EIO
    }
  }
}

import ReefSystem

extension Store {
  /// How a store is opened.
  ///
  /// ```swift
  /// var configuration = Store.Configuration(location: .file("fleet.reef"), models: [Spaceship.self, Pilot.self])
  /// configuration.durability = .relaxed
  /// configuration.numa = .interleave
  /// let store = try Store(configuration)
  /// ```
  public struct Configuration: Sendable {
    /// Where a store is.
    public enum Location: Sendable, Hashable {
      /// A data file, made where it is not there, with two sidecars beside it (`.lock`, `.note`).
      case file(String)
      /// Shared memory under a name, for all processes of the user: there as long as anyone has it open.
      case memory(String)
    }

    /// The file, or the name in shared memory.
    public var location: Location
    /// The types that this program uses. Those that the store does not know yet are added to it; a store may hold others.
    public var models: [any Model.Type]
    /// What a commit survives: a power loss (`full`, for files unless you say otherwise), or the death of processes.
    /// Stores in memory have `memory` always.
    public var durability: Durability
    /// Where the store's pages lie on a machine with several memory nodes. Recorded in the store when it is made.
    public var numa: MemoryPolicy = .none
    /// How long opening waits for others that open or repair the store.
    public var deadline: Duration = .seconds(30)
    /// The name that other processes see this one under; nil: the program's name.
    public var name: String?
    /// Never write. Sidecars are still needed while others may write.
    public var isReadOnly = false
    /// Whether a store that is not there is made.
    public var createsStore = true
    /// How much of a store that is there already is verified before it is believed.
    public var verification: Verification = .header
    /// How much of the past readers may keep alive, and what happens to one that keeps more. Nil: the file grows.
    public var retention: Retention?
    /// Address space to reserve, in bytes, which bounds how large the store can become here; nil: 64 GiB.
    public var reservation: Int?

    /// Everything but these as it is by default.
    public init(location: Location, models: [any Model.Type], durability: Durability? = nil) {
      self.location = location
      self.models = models
      self.durability =
        durability
        ?? {
          if case .memory = location { .memory } else { .full }
        }()
    }
  }

  /// How much of a store that is there already is verified before it is believed.
  ///
  /// Nodes of stores on a disk carry checksums. Those of stores in memory do not: what could damage them takes them along.
  public enum Verification: Sendable, Hashable {
    /// What opening needs: header, slots, the redo ring, and after a crash what is newer than the durable version. Damage
    /// elsewhere may be read as wrong values. For data that is checked by other means.
    case none
    /// That, and each node when it is read or changed for the first time in a session. Reading costs the same once a node is
    /// proven, opening always. Damage throws ``StoreError/damaged(path:what:)`` where reading throws, and is noted in
    /// ``Snapshot/damage`` where it does not.
    case header
    /// All that the newest version reaches, as `reef check` does, before the store is handed out: objects against their
    /// counts and indexes too. Opening takes as long as reading everything; throws ``StoreError/damaged(path:what:)``, which
    /// names the first problem.
    case full
  }

  /// Where pages lie on a machine with several memory nodes.
  ///
  /// Carried by stores in memory and on tmpfs, for every process that maps them; other file systems refuse with
  /// ``StoreError/policyUnsupported(path:reason:)``.
  public enum MemoryPolicy: Sendable, Hashable {
    /// As the system has it.
    case none
    /// Page by page over all nodes.
    case interleave
    /// On this node, elsewhere when it is full.
    case prefer(Int)
    /// On this node only.
    case bind(Int)
    /// On the node of the process that touches a page first.
    case local

    var policy: NumaPolicy {
      switch self {
      case .none: .none
      case .interleave: .interleave
      case .prefer(let node): .prefer(node: node)
      case .bind(let node): .bind(node: node)
      case .local: .local
      }
    }
  }
}

extension Store.Configuration {
  var engine: EngineConfiguration {
    var options: Session.Options
    switch location {
    case .file(let path): options = Session.Options(location: .file(path))
    case .memory(let name): options = Session.Options(location: .memory(name))
    }
    options.create = createsStore
    options.readOnly = isReadOnly
    options.verifiesNodes = verification != .none
    options.openTimeout = deadline
    options.peerName = name ?? ""
    options.numa = numa.policy
    if let reservation { options.reserve = reservation }
    var isMemory = false
    if case .memory = location { isMemory = true }
    var configuration = EngineConfiguration(session: options, durability: isMemory ? .memory : durability)
    configuration.retention = retention?.limits
    configuration.verifiesAll = verification == .full
    return configuration
  }

  var schema: Schema { Schema(models.map { $0.schema }) }
}

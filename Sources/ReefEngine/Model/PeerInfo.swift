/// A process that has a store open, as others see it.
public struct PeerInfo: Sendable, Hashable, CustomStringConvertible {
  /// Its place in the store's peer table.
  public let index: Int
  /// The name it gave when it opened the store; its program's name where it gave none.
  public let name: String
  /// Its process id as it sees it itself: in another container it may belong to another process.
  public let process: Int32
  /// When it opened the store, in seconds since 1970.
  public let joined: Double
  /// Whether it is this process.
  public let isSelf: Bool
  /// Whether it is writing now.
  public let isWriting: Bool
  /// The versions it holds, oldest first.
  public let held: [HeldVersion]

  /// A version that a peer holds.
  public struct HeldVersion: Sendable, Hashable {
    public let version: UInt64
    /// It holds every later version as well.
    public let holdsLater: Bool
    /// Since when the store keeps space for it: the time, in seconds since 1970, of the commit that followed it. Nil
    /// while it is the newest version, which costs nothing.
    public let since: Double?

    package init(version: UInt64, holdsLater: Bool, since: Double?) {
      self.version = version
      self.holdsLater = holdsLater
      self.since = since
    }
  }

  package init(
    index: Int, name: String, process: Int32, joined: Double, isSelf: Bool, isWriting: Bool, held: [HeldVersion]
  ) {
    self.index = index
    self.name = name
    self.process = process
    self.joined = joined
    self.isSelf = isSelf
    self.isWriting = isWriting
    self.held = held
  }

  public var description: String { "\(name) (process \(process))" }
}

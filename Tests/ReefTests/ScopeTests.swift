import Reef
import Testing

/// Reads in a scope, snapshots that move on, and the transaction that write blocks share: all reuse one object from one
/// use to the next, and none may show it to somebody who kept something.
@Suite(.timeLimit(.minutes(15))) struct ScopeTests {
  private func stored(_ body: (Store) throws -> Void) throws {
    try withFolder { folder in
      let store = try Store(at: folder + "/scope.reef", models: Spaceship.self)
      let ships = (0..<600).map { Spaceship(id: $0, name: "ship \($0)", maxSpeed: 1) }
      try store.write { try $0.insert(contentsOf: ships) }
      try body(store)
    }
  }

  private func failure(_ body: () throws -> Void) -> StoreError? {
    do { try body() } catch { return error as? StoreError }
    return nil
  }

  private func speed(_ store: Store, _ speed: Double) throws {
    try store.write { transaction in
      for key in 0..<600 { try transaction.update(Spaceship.self, key: key) { $0.maxSpeed = speed } }
    }
  }

  @Test func scopeSeesTheNewest() throws {
    try stored { store in
      for round in 1...5 {
        try speed(store, Double(round))
        let seen = try store.read { ($0[Spaceship.self, key: 7]?.maxSpeed, $0.version) }
        #expect(seen.0 == Double(round) && seen.1 == store.version)
      }
    }
  }

  @Test func whatAScopeLetsOutStays() throws {
    try stored { store in
      var views: [Spaceship.View] = []
      var snapshots: [Snapshot] = []
      for round in 1...40 {
        try speed(store, Double(round))
        try store.read { snapshot in
          if round % 2 == 0 { snapshots.append(snapshot) }
          if round % 3 == 0, let view = snapshot[Spaceship.self, key: round] { views.append(view) }
        }
      }
      for round in 41...60 { try speed(store, Double(round)) }
      #expect(views.map(\.maxSpeed) == (1...40).filter { $0 % 3 == 0 }.map(Double.init))
      for (index, snapshot) in snapshots.enumerated() {
        #expect(snapshot.objects(Spaceship.self).sum(of: \.maxSpeed) == Double((index + 1) * 2 * 600))
      }
    }
  }

  @Test func scopesNest() throws {
    try stored { store in
      let sum = try store.read { outer in
        try speed(store, 2)
        let inner = try store.read { inner in
          try speed(store, 3)
          return inner.objects(Spaceship.self).sum(of: \.maxSpeed)
        }
        return outer.objects(Spaceship.self).sum(of: \.maxSpeed) * 10_000 + inner
      }
      #expect(sum == 600 * 10_000 + 1200)
    }
  }

  @Test func errorsLeaveAScope() throws {
    struct Odd: Error {}
    try stored { store in
      var thrown = 0
      for _ in 0..<2000 {
        do { try store.read { (_: Snapshot) throws in throw Odd() } } catch is Odd { thrown += 1 }
      }
      let peers = try store.peers
      #expect(thrown == 2000 && peers.allSatisfy { $0.held.isEmpty })
    }
  }

  @Test func snapshotsMoveOn() throws {
    try stored { store in
      var snapshot = try store.snapshot()
      let kept = try #require(snapshot[Spaceship.self, key: 3])
      try speed(store, 2)
      #expect(snapshot[Spaceship.self, key: 3]?.maxSpeed == 1)
      // A view of it is kept: it gets another pin.
      try snapshot.advance()
      #expect(snapshot[Spaceship.self, key: 3]?.maxSpeed == 2 && kept.maxSpeed == 1)
      let copy = snapshot
      try speed(store, 3)
      try snapshot.advance()
      #expect(snapshot.version == store.version && copy.version == snapshot.version - 1)
      for round in 4...30 {
        try speed(store, Double(round))
        // Nothing is kept: it moves in place.
        try snapshot.advance()
        #expect(snapshot.objects(Spaceship.self).sum(of: \.maxSpeed) == Double(round * 600))
      }
      #expect(kept.maxSpeed == 1 && copy[Spaceship.self, key: 3]?.maxSpeed == 2)
    }
  }

  @Test func keptTransactionsAreNotUsedAgain() throws {
    try stored { store in
      var kept: [Transaction] = []
      for round in 1...10 {
        try store.write { transaction in
          try transaction.update(Spaceship.self, key: 1) { $0.maxSpeed = Double(round * 10) }
          kept.append(transaction)
        }
        let late = failure { try kept[round - 1].update(Spaceship.self, key: 1) { $0.maxSpeed = 0 } }
        #expect(late == .closed)
      }
      #expect(Set(kept.map { ObjectIdentifier($0) }).count == 10)
      let last = try store.read { $0[Spaceship.self, key: 1]?.maxSpeed }
      #expect(last == 100)
    }
  }

  @Test func blocksThatEndTheirTransaction() throws {
    try stored { store in
      for round in 1...5 {
        let committed = failure {
          try store.write { transaction in
            try transaction.update(Spaceship.self, key: 1) { $0.maxSpeed = Double(round + 1) }
            try transaction.commit()
            let late = failure { try transaction.update(Spaceship.self, key: 1) { $0.maxSpeed = 0 } }
            #expect(late == .closed)
          }
        }
        let cancelled = failure { try store.write { $0.cancel() } }
        #expect(committed == .closed && cancelled == .closed)
        try store.write { try $0.update(Spaceship.self, key: 2) { $0.maxSpeed = Double(round) } }
        let speed = try store.read { $0[Spaceship.self, key: 1]?.maxSpeed }
        #expect(speed == Double(round + 1))
      }
    }
  }

  /// Reading an object that is being changed: before the first change, after one, and beside changes of others.
  @Test func readingWhatIsChanged() throws {
    try stored { store in
      try store.write { transaction in
        for _ in 0..<3 {
          try transaction.update(Spaceship.self, key: 5) { ship in
            let before = ship.maxSpeed
            ship.maxSpeed += 1
            #expect(ship.maxSpeed == before + 1 && ship.name == "ship 5" && ship.id == 5)
          }
          try transaction.insert(Spaceship(id: 1000 + transaction.count(of: Spaceship.self), name: "new"))
        }
        try transaction.update(Spaceship.self, key: 5) { $0.name = "renamed" }
        let missing = failure { try transaction.update(Spaceship.self, key: -1) { $0.maxSpeed = 0 } }
        #expect(missing != nil)
      }
      let ship = try store.read { $0[Spaceship.self, key: 5]?.value }
      #expect(ship?.maxSpeed == 4 && ship?.name == "renamed")
    }
  }
}

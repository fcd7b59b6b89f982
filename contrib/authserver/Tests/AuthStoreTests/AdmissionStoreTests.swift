import AuthCore
import AuthStore
import AuthTestSupport
import Testing

/// The quota and the guesses that all servers count together, and what is swept. The same on both databases.
@Suite(.serialized) struct AdmissionStoreTests {
  private let now = Example.now

  @Test(arguments: TestDatabase.allCases)
  func theQuotaIsSharedByAllServers(_ database: TestDatabase) async throws {
    let place = try database.make()
    let now = now
    let stores = try (0..<3).map { _ in try AuthStore(place) }
    try await stores[0].migrate()
    let taken = try await withThrowingTaskGroup(of: Int.self) { group in
      for store in stores {
        for _ in 0..<10 { group.addTask { try await store.takeQuota(20, rate: 40, at: now) } }
      }
      return try await group.reduce(0, +)
    }
    #expect(taken == 40)
    #expect(try await stores[1].takeQuota(20, rate: 40, at: now + .seconds(1)) == 20)
    for store in stores { await store.close() }
  }

  @Test(arguments: TestDatabase.allCases)
  func guessesAreCountedBeforeThePasswordIsLookedAt(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let keys = Guesses.Keys(user: "zoe", source: "web1")
    let now = now
    // Twenty at once: no more than the free ones get through.
    let passed = try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<20 {
        group.addTask { try await store.beginGuess(keys, now: now) == nil }
      }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(passed == Int(Limits.freeGuesses.pair))
    #expect(try await store.beginGuess(keys, now: now) == .seconds(1))
    // Trying during the pause makes it no longer.
    #expect(try await store.beginGuess(keys, now: now + .seconds(1)) == nil)
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func nobodyIsLockedOutFromElsewhere(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let mine = Guesses.Keys(user: "zoe", source: "web1")
    #expect(try await store.beginGuess(mine, now: now) == nil)
    try await store.endGuess(mine, now: now)
    var time = now
    // An hour of guesses from a hundred other hosts.
    for index in 0..<300 {
      time = time + .seconds(12)
      let keys = Guesses.Keys(user: "zoe", source: "evil\(index % 100)")
      _ = try await store.beginGuess(keys, now: time)
    }
    let other = Guesses.Keys(user: "zoe", source: "new")
    let pause = try #require(try await store.beginGuess(other, now: time))
    #expect(pause <= Limits.longestPause)
    #expect(try await store.beginGuess(mine, now: time) == nil)
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func aTryThatIsNotAdmittedLeavesNothing(_ database: TestDatabase) async throws {
    let place = try database.make()
    let store = try AuthStore(place)
    try await store.migrate()
    for index in 0..<Limits.freeGuesses.source + 50 {
      _ = try await store.beginGuess(.init(user: "u\(index)", source: "evil"), now: now)
    }
    // A row for the source, and two for each name that was admitted.
    let count = try Example.run("SELECT COUNT(*) FROM guesses", place)
    #expect(count == String(Limits.freeGuesses.source * 2 + 1))
    try await store.sweep(now: now + .hours(1))
    #expect(try Example.run("SELECT COUNT(*) FROM guesses", place) == "0")
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func whatHasEndedIsSwept(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let sessions = [Example.ticket(.session), Example.ticket(.session)]
    try await store.enrol(try Example.host(), token: Example.ticket(.host))
    try await store.registerZoe()
    for (index, session) in sessions.enumerated() {
      let opened = Example.session(session, until: now + .hours(12 * Int64(index + 1)))
      #expect(try await store.open(opened, on: Example.host(), password: "h"))
    }
    try await store.sweep(now: now + .hours(13))
    #expect(try await store.close(session: sessions[0], host: "web1", now: now) == nil)
    #expect(try await store.close(session: sessions[1], host: "web1", now: now) != nil)
    await store.close()
  }
}

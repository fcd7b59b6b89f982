import AuthCore
import AuthStore
import AuthTestSupport
import Testing

/// Hosts, their tokens, and what a callback is decided by. The same on both databases.
@Suite(.serialized) struct HostStoreTests {
  private let now = Example.now

  @Test(arguments: TestDatabase.allCases)
  func aHostIsFoundByItsToken(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let token = Example.ticket(.host)
    try await store.enrol(try Example.host(), token: token)
    #expect(try await store.host(of: .ticket(token), now: now) == Example.host())
    #expect(try await store.host(of: .certificate(name: "web1"), now: now) == Example.host())
    #expect(try await store.host(of: .certificate(name: "web2"), now: now) == nil)
    // The id alone is not enough.
    let forged = try #require(
      Ticket("crh1_\(token.id)_" + String(repeating: "0", count: 64), .host))
    #expect(try await store.host(of: .ticket(forged), now: now) == nil)
    #expect(try await store.host(of: .ticket(token), now: now + .days(91)) == nil)
    await #expect(throws: StoreError.conflict) {
      try await store.enrol(try Example.host(), token: Example.ticket(.host))
    }
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func aRotatedTokenLivesOnForAWhile(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let (first, second) = (Example.ticket(.host), Example.ticket(.host))
    try await store.enrol(try Example.host(), token: first)
    #expect(
      try await store.rotate(
        host: "web1", token: second, earlierUntil: now + .hours(24), expires: now + .days(180),
        now: now))
    for token in [first, second] {
      #expect(try await store.host(of: .ticket(token), now: now + .hours(23)) != nil)
    }
    #expect(try await store.host(of: .ticket(first), now: now + .hours(24)) == nil)
    #expect(try await store.host(of: .ticket(second), now: now + .days(100)) != nil)
    #expect(try await store.revoke(host: "web1", now: now))
    #expect(try await store.host(of: .ticket(second), now: now) == nil)
    #expect(!(try await store.revoke(host: "web1", now: now)))
    // The name is free again.
    try await store.enrol(try Example.host(), token: Example.ticket(.host))
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func factsOfACallback(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let (token, session) = (Example.ticket(.host), Example.ticket(.session))
    try await store.enrol(try Example.host(), token: token)
    let user = try await store.registerZoe()
    let opened = Example.session(session)
    #expect(try await store.open(opened, on: Example.host(), password: "h"))
    _ = try await store.commit(
      [IdentityRecord(pool: "work", user: user, identityID: "us-east-1:aa")], notes: [],
      chain: "t", now: now)
    let read = try await store.facts(
      of: .ticket(token), session: session, user: user.text, pool: "work", now: now)
    let facts = try #require(read)
    #expect(facts.host == (try Example.host()))
    #expect(facts.session == opened)
    #expect(facts.user?.kind == .account)
    #expect(facts.identityID == "us-east-1:aa")
    // The right id with a wrong secret is no sign-in.
    let forged = try #require(
      Ticket("crs1_\(session.id)_" + String(repeating: "0", count: 64), .session))
    let without = try await store.facts(
      of: .ticket(token), session: forged, user: user.text, pool: "other", now: now)
    #expect(without?.session == nil)
    #expect(without?.identityID == nil)
    #expect(try await store.close(session: session, host: "web2", now: now) == nil)
    #expect(try await store.close(session: session, host: "web1", now: now)?.provider == "dev")
    #expect(try await store.close(session: session, host: "web1", now: now) == nil)
    await store.close()
  }
}

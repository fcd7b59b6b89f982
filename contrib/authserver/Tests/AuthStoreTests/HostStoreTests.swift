import AuthCore
import AuthTestSupport
import Testing

@testable import AuthStore

/// Hosts, their tokens, and what a callback is decided by. The same on both databases.
@Suite(.serialized) struct HostStoreTests {
  private let now = Example.now

  @Test(arguments: TestDatabase.allCases)
  func aHostIsFoundByItsToken(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let token = Example.ticket(.host)
    try await store.enrol(try Example.host(), token: token)
    #expect(try await store.host(of: .ticket(token), now: now) == Example.host())
    let certificate = HostProof.certificate(Example.certificate("web1"))
    #expect(try await store.host(of: certificate, now: now) == Example.host())
    #expect(try await store.host(of: .certificate(Example.certificate("web2")), now: now) == nil)
    // The id alone is not enough.
    let forged = try #require(
      Ticket("crh1_\(token.id)_" + String(repeating: "0", count: 64), .host))
    #expect(try await store.host(of: .ticket(forged), now: now) == nil)
    let late = now + .days(91)
    #expect(try await store.host(of: .ticket(token), now: late)?.isValid(at: late) == false)
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
    let rotation = try await store.rotate(
      host: "web1", token: second, earlierUntil: now + .hours(24),
      expires: Lifetime("180d"), now: now)
    #expect(rotation?.earlierUntil == now + .hours(24))
    #expect(rotation?.expires == now + .days(180))
    for token in [first, second] {
      #expect(try await store.host(of: .ticket(token), now: now + .hours(23)) != nil)
    }
    #expect(try await store.host(of: .ticket(first), now: now + .hours(24)) == nil)
    #expect(try await store.host(of: .ticket(second), now: now + .days(100)) != nil)
    #expect(try await store.revoke(host: "web1", now: now))
    #expect(try await store.host(of: .ticket(second), now: now) == nil)
    #expect(!(try await store.revoke(host: "web1", now: now)))
    #expect(
      try await store.rotate(host: "web1", token: second, earlierUntil: now, now: now) == nil)
    // The name is free again.
    try await store.enrol(try Example.host(), token: Example.ticket(.host))
    await store.close()
  }

  /// With shared names. What is refused changes nothing.
  @Test(arguments: TestDatabase.allCases)
  func noHostComesToSpeakForAnAccount(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    try await store.registerZoe()
    let covered = CoveredAccount(account: "account:zoe", host: "web1")
    let (own, all) = (try Patterns("svc"), try Patterns("ZO*"))
    await #expect(throws: covered) {
      try await store.enrol(
        try Example.host(), token: Example.ticket(.host), avoidsAccounts: true)
    }
    #expect(try await store.hosts().isEmpty)
    let group = HostGroup(
      name: "web", rights: HostRights(vouches: own, pools: ["work"]), created: now)
    try await store.add(group)
    var host = try Example.host(vouches: "svc")
    host.group = group
    try await store.enrol(host, token: Example.ticket(.host), avoidsAccounts: true)
    await #expect(throws: covered) {
      try await store.change(host: "web1", avoidsAccounts: true) { $0.rights.vouches = all }
    }
    await #expect(throws: covered) {
      try await store.change(group: "web", avoidsAccounts: true) { $0.rights.vouches = all }
    }
    #expect(try await store.hosts() == [host])
    await store.close()
  }

  private static let names: [(vouches: String, account: String, isCovered: Bool)] = [
    ("zoe", "zoe", true), ("ZOE", "zoe", true), ("a b zoe", "Zoe", true), ("z*", "Zoe", true),
    ("*E", "zoe", true), ("?oe", "zoe", true), ("*", "zoe", true), ("Z*e", "zoe", true),
    ("{host}", "WEB1", true), ("{host}-*", "web1-a", true), ("x-{host}", "X-web1", true),
    ("STRASSE", "straße", true), ("stra?e", "straße", true), ("stras*", "straße", true),
    ("J*", "J\u{30C}x", true), ("\u{1F0}*", "J\u{30C}x", true),
    // One letter, and the folded name has two there.
    ("STRA?E", "straße", false),
    ("zo", "zoe", false), ("z?", "zoe", false), ("zoe?", "zoe", false), ("zoe2*", "zoe", false),
    ("{host}", "web10", false), ("{host}-*", "web10-a", false), ("account", "zoe", false),
  ]

  /// Whoever comes second is refused, however the two are spelt.
  @Test(arguments: TestDatabase.allCases)
  func aPatternAndAnAccountMeetInEitherOrder(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    for (vouches, account, isCovered) in Self.names {
      for shared in [true, false] {
        let host = try Example.host(vouches: vouches)
        let user = try Identifier(registering: account, as: .account, shared: shared)
        func register() async throws -> AuthStore.Registration {
          try await store.register(
            user, password: "h", invitation: nil, avoidsEnrolments: true, now: now)
        }
        try await store.enrol(host, token: nil, avoidsAccounts: true)
        let registration = try await register()
        #expect(
          registration == (isCovered ? .nameCovered(host: "web1") : .done), "\(vouches) \(account)")
        _ = try await store.revoke(host: "web1", now: now)
        // Cognito has an identity for the name still. Other patterns give it up.
        if isCovered {
          #expect(try await register() == .nameCovered(host: "web1"), "\(vouches) \(account)")
          try await store.enrol(try Example.host(vouches: "nobody"), token: nil)
          #expect(try await register() == .done)
          _ = try await store.revoke(host: "web1", now: now)
        }
        let isRefused: Bool
        do {
          try await store.enrol(host, token: nil, avoidsAccounts: true)
          isRefused = false
        } catch is CoveredAccount { isRefused = true }
        #expect(isRefused == isCovered, "\(vouches) \(account)")
        _ = try await store.revoke(host: "web1", now: now)
        _ = try await store.delete(user: user.text, freesName: true)
      }
    }
    await store.close()
  }

  /// A registration and a change at once: one of the two sees the other.
  @Test(arguments: TestDatabase.allCases)
  func ofARegistrationAndAChangeOneIsRefused(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    try await store.enrol(try Example.host(vouches: "nobody"), token: Example.ticket(.host))
    for index in 0..<30 {
      let user = try Identifier(registering: "u\(index)", as: .account, shared: true)
      let pattern = try Patterns(user.name)
      let time = now
      async let registration = store.register(
        user, password: "h", invitation: nil, avoidsEnrolments: true, now: time)
      async let change = store.change(host: "web1", avoidsAccounts: true) {
        $0.rights.vouches = pattern
      }
      let isRegistered = try await registration == .done
      let isChanged = (try? await change) != nil
      #expect(isRegistered != isChanged)
    }
    await store.close()
  }

  /// A token that was stolen before is known as this host's, and does not count again.
  @Test(arguments: TestDatabase.allCases)
  func aHostThatIsEnrolledAnewKeepsTheIdsOfItsTokens(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let (old, new) = (Example.ticket(.host), Example.ticket(.host))
    try await store.enrol(try Example.host(vouches: "svc"), token: old)
    _ = try await store.revoke(host: "web1", now: now)
    let host = try Example.host(vouches: "other")
    try await store.enrol(host, token: new)
    #expect(try await store.hosts() == [host])
    #expect(try await store.host(of: .ticket(old), now: now) == nil)
    #expect(try await store.host(of: .ticket(new), now: now) == host)
    let fault = try await store.fault(of: .ticket(old), now: now)
    #expect(fault.host == "web1" && fault.reason == .replaced)
    await #expect(throws: StoreError.conflict) { try await store.enrol(host, token: nil) }
    await store.close()
  }

  /// A certificate that was stolen before the host was revoked has its name still.
  @Test(arguments: TestDatabase.allCases)
  func aHostThatIsEnrolledAnewWantsANewCertificate(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    var host = try Example.host()
    let (old, new) = (
      Example.certificate("web1", from: now + .hours(-1)), Example.certificate("web1", from: now)
    )
    // The first enrolment takes one that was made before it.
    try await store.enrol(host, token: nil)
    #expect(try await store.host(of: .certificate(old), now: now) == host)
    _ = try await store.revoke(host: "web1", now: now)
    // Within the second that the certificate names as its start.
    host.created = now + Interval(milliseconds: 999)
    try await store.enrol(host, token: nil)
    #expect(try await store.host(of: .certificate(old), now: now) == nil)
    #expect(try await store.host(of: .certificate(new), now: now) == host)
    let facts = try await store.facts(
      of: .certificate(old), session: nil, user: "alice", pool: "work", now: now)
    #expect(facts == nil)
    func reason(_ certificate: ClientCertificate) async throws -> AuthStore.ProofFault {
      try await store.fault(of: .certificate(certificate), now: now)
    }
    #expect(try await reason(old) == .init(reason: .outdated, host: "web1"))
    #expect(try await reason(new) == .init(reason: .expired, host: "web1"))
    _ = try await store.revoke(host: "web1", now: now)
    #expect(try await reason(old) == .init(reason: .revoked, host: "web1"))
    await store.close()
  }

  /// What `rotate` says of the earlier token's end is when it ends.
  @Test(arguments: TestDatabase.allCases)
  func anEarlierTokenLivesNoLongerThanItWouldHave(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let tokens = (0..<4).map { _ in Example.ticket(.host) }
    try await store.enrol(try Example.host(), token: tokens[0])
    // The enrolment would have ended before the overlap does.
    var time = now + .days(90) + .hours(-1)
    var rotation = try await store.rotate(
      host: "web1", token: tokens[1], earlierUntil: time + .hours(24), now: time)
    #expect(rotation?.earlierUntil == now + .days(90))
    #expect(rotation?.expires == time + .days(90))
    #expect(try await store.host(of: .ticket(tokens[0]), now: now + .days(90)) == nil)
    #expect(try await store.host(of: .ticket(tokens[1]), now: now + .days(90)) != nil)
    // After its end a new token gives the old one no new life.
    time = time + .days(91)
    rotation = try await store.rotate(
      host: "web1", token: tokens[2], earlierUntil: time + .hours(24), now: time)
    #expect(try #require(rotation?.earlierUntil) < time)
    #expect(try await store.host(of: .ticket(tokens[1]), now: time) == nil)
    // Nor does it outlive an end that comes sooner.
    rotation = try await store.rotate(
      host: "web1", token: tokens[3], earlierUntil: time + .hours(24),
      expires: Lifetime("1h"), now: time)
    #expect(rotation?.earlierUntil == time + .hours(1))
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func anEnrolmentChangesWithoutANewToken(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let token = Example.ticket(.host)
    try await store.enrol(try Example.host(), token: token)
    let (patterns, end) = (try Patterns("svc-*"), now + .days(365))
    let changed = try await store.change(
      host: "web1",
      trail: { change in
        AuditTrail(chain: "t", .init("c", ["n": change.after.name], at: change.after.created))
      }
    ) { host in
      host.rights.vouches = patterns
      host.expires = end
    }
    #expect(changed?.before == (try Example.host()))
    #expect(changed?.after.rights.vouches == patterns)
    // The same token, beyond the end that it was made with.
    let found = try await store.host(of: .ticket(token), now: now + .days(100))
    #expect(found == changed?.after)
    #expect(try await store.auditEntries(latest: 9).map(\.event) == ["c"])
    #expect(try await store.change(host: "web2") { _ in } == nil)
    // What a change refuses leaves everything as it was.
    struct Refused: Error {}
    await #expect(throws: Refused.self) {
      try await store.change(host: "web1") { host in
        host.rights = .none
        throw Refused()
      }
    }
    #expect(try await store.hosts() == [changed?.after])
    await store.close()
  }

  /// The audit says whose an ended token was.
  @Test(arguments: TestDatabase.allCases)
  func whyAProofIsNoneIsKnown(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let (first, second) = (Example.ticket(.host), Example.ticket(.host))
    try await store.enrol(try Example.host(), token: first)
    func fault(_ ticket: Ticket, _ time: Timestamp) async throws -> String {
      let fault = try await store.fault(of: .ticket(ticket), now: time)
      return "\(fault.reason) \(fault.host ?? "")"
    }
    #expect(try await fault(first, now + .days(91)) == "expired web1")
    _ = try await store.rotate(host: "web1", token: second, earlierUntil: now + .hours(1), now: now)
    try await store.sweep(now: now + .days(1))
    #expect(try await fault(first, now + .days(1)) == "replaced web1")
    let forged = try #require(
      Ticket("crh1_\(second.id)_" + String(repeating: "0", count: 64), .host))
    #expect(try await fault(forged, now) == "wrong web1")
    #expect(try await fault(Example.ticket(.host), now) == "unknown ")
    #expect(try await store.revoke(host: "web1", now: now + .hours(2)))
    #expect(try await fault(second, now + .hours(3)) == "revoked web1")
    let certificate = try await store.fault(of: .certificate(Example.certificate("web1")), now: now)
    #expect(certificate == AuthStore.ProofFault(reason: .revoked, host: "web1"))
    // Not for ever.
    try await store.sweep(now: now + .days(100))
    #expect(try await fault(first, now + .days(100)) == "unknown ")
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func theNextEndsAreFound(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let ends = [("past", -1), ("soon", 3), ("next", 2), ("later", 60), ("revoked", 1)]
    for (name, days) in ends {
      var host = try Example.host(name)
      host.expires = now + .days(Int64(days))
      try await store.enrol(host, token: nil)
    }
    var endless = try Example.host("endless")
    endless.expires = nil
    try await store.enrol(endless, token: nil)
    #expect(try await store.revoke(host: "revoked", now: now))
    let found = try await store.ends(after: now, before: now + .days(30))
    #expect(found.map(\.name) == ["next", "soon"])
    #expect(found.first?.end == now + .days(2))
    let all = try await store.ends(after: now, before: .init(milliseconds: .max), limit: 1)
    #expect(all.map(\.name) == ["next"])
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func aGroupsRightsAreItsHosts(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let group = HostGroup(
      name: "web", rights: HostRights(vouches: try Patterns("svc-*"), pools: ["work"]), created: now
    )
    try await store.add(group)
    await #expect(throws: StoreError.conflict) { try await store.add(group) }
    let token = Example.ticket(.host)
    try await store.enrol(
      Enrolment(name: "web1", rights: .none, group: group, created: now), token: token)
    #expect(try await store.host(of: .ticket(token), now: now)?.group == group)
    let pools = ["work", "other"]
    #expect(try await store.change(group: "web") { $0.rights.pools = pools }?.before == group)
    #expect(try await store.host(of: .ticket(token), now: now)?.pools == pools)
    #expect(try await store.change(group: "mail") { _ in } == nil)
    #expect(try await store.remove(group: "web") == .hasHosts(["web1"]))
    #expect(try await store.remove(group: "mail") == .unknown)
    #expect(try await store.change(host: "web1") { $0.group = nil }?.after.pools == [])
    #expect(try await store.remove(group: "web") == .done)
    #expect(try await store.groups().isEmpty)
    // A host never comes into a group that is gone.
    await #expect(throws: StoreError.conflict) {
      try await store.change(host: "web1") { $0.group = group }
    }
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

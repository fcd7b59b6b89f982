import AuthCore
import Testing

/// Names, patterns, and for whom a host speaks.
struct NameTests {
  @Test func accountsAndVouchedNamesNeverMeet() throws {
    let account = try Identifier(registering: "alice", as: .account)
    #expect(account.text == "account:alice")
    #expect(try Identifier("alice").text == "alice")
    #expect(try Identifier("alice") != account)
    #expect(try Identifier("account:alice") == account)
    #expect(try Identifier("account:alice").name == "alice")
    for name in ["account:alice", "Account:alice", "SAMPLE:alice"] {
      #expect(throws: InvalidName.self) { try Identifier(registering: name, as: .account) }
    }
    #expect(try Identifier(registering: "alice", as: .account, shared: true).text == "alice")
  }

  @Test(arguments: [
    "", " alice", "alice ", "a\nb", "a\u{0}b", "a\u{200B}b", "a\u{202E}b", "account:",
    "e\u{301}", String(repeating: "a", count: 1025), String(repeating: "\u{4E00}", count: 342),
    // A mark joins what stands before it, and fillers are blank.
    "\u{301}bob", "account:\u{301}bob", "\u{20E3}bob", "bo\u{FE0F}b", "\u{3164}", "\u{115F}bob",
  ])
  func namesThatPeopleCannotTellApartAreRefused(_ name: String) {
    #expect(throws: InvalidName.self) { try Identifier(name) }
  }

  @Test func registeredNamesThatDifferInCaseAloneAreOne() throws {
    let one = try Identifier(registering: "Straße", as: .account)
    let other = try Identifier(registering: "STRASSE", as: .account)
    #expect(one.uniqueKey == other.uniqueKey)
    let capital = try Identifier(registering: "STRA\u{1E9E}E", as: .account)
    #expect(capital.uniqueKey == one.uniqueKey)
    // A host's users may differ in case alone.
    #expect(try Identifier("bob").uniqueKey != Identifier("Bob").uniqueKey)
    // Nor does a vouched name take an account's key.
    #expect(try Identifier("x").uniqueKey != Identifier(registering: "x", as: .account).uniqueKey)
  }

  /// A letter and whatever Unicode calls its other case are one, all of them.
  @Test func foldingKnowsEveryCase() {
    for value in 0...0x1FFFF as ClosedRange<UInt32> {
      guard let scalar = Unicode.Scalar(value), scalar.properties.isCased else { continue }
      let properties = scalar.properties
      let folded = Identifier.fold(String(scalar))
      let others = [
        properties.lowercaseMapping, properties.uppercaseMapping, properties.titlecaseMapping,
        folded,
      ]
      for other in others where !Identifier.fold(other).utf8.elementsEqual(folded.utf8) {
        Issue.record("\(scalar) is not \(other)")
      }
    }
  }

  @Test func aPatternCoversTheWholeName() throws {
    let patterns = try Patterns("alice, svc-* {host}-?")
    #expect(patterns.cover("alice", host: "web1"))
    #expect(!patterns.cover("alice2", host: "web1"))
    #expect(!patterns.cover("malice", host: "web1"))
    #expect(patterns.cover("svc-a-b", host: "web1"))
    #expect(patterns.cover("web1-x", host: "web1"))
    #expect(!patterns.cover("web2-x", host: "web1"))
    #expect(!patterns.cover("Alice", host: "web1"))
    #expect(patterns.cover("ALICE", host: "web1", folded: true))
    #expect(!Patterns.none.cover("alice", host: "web1"))
  }

  @Test func aHostsNameIsNoPattern() throws {
    #expect(!(try Patterns("{host}").cover("alice", host: "*")))
    #expect(try Patterns("{host}").cover("*", host: "*"))
  }

  @Test func aPatternOfManyStarsIsAnsweredAtOnce() throws {
    let patterns = try Patterns(String(repeating: "a*", count: 100) + "b")
    #expect(!patterns.cover(String(repeating: "a", count: 1024), host: "h"))
  }

  @Test(arguments: ["account:*", "sample:x", "{user}", "a{b"])
  func patternsThatMeanSomethingElseAreRefused(_ text: String) {
    #expect(throws: InvalidName.self) { try Patterns(text) }
  }

  @Test func ticketsAreFoundByIdAndComparedByHash() throws {
    var random = SystemRandomNumberGenerator()
    let ticket = Ticket(.host, random: &random)
    #expect(ticket.text.hasPrefix("crh1_\(ticket.id)_"))
    let read = try #require(Ticket(ticket.text, .host))
    #expect(read.matches(hash: ticket.hash))
    #expect(Ticket(ticket.text, .session) == nil)
    #expect(Ticket(ticket.text + "0", .host) == nil)
    #expect(!ticket.hash.contains(ticket.text.suffix(64)))
    #expect(!Ticket(.host, random: &random).matches(hash: ticket.hash))
  }
}

struct VouchingTests {
  private let now = Timestamp(milliseconds: 1_000_000)
  private var host: Enrolment {
    get throws {
      Enrolment(
        name: "web1",
        rights: HostRights(
          vouches: try Patterns("svc-*"), signsIn: try Patterns("alice"), pools: ["work"]),
        created: now)
    }
  }

  private func decide(
    _ host: Enrolment, _ user: String, pool: String = "work", session: SignInSession? = nil,
    at time: Timestamp? = nil
  ) throws -> Vouching.Means {
    let user = try Identifier(user)
    return try Vouching.decide(
      host, for: user, pool: pool, provider: "dev", session: session,
      isAccount: user.kind == .account, at: time ?? now
    ).means
  }

  private func session(
    host: String = "web1", user: String = "account:alice", provider: String = "dev"
  ) -> SignInSession {
    SignInSession(
      id: "1", hash: "", host: host, identifier: user, provider: provider, created: now,
      expires: now + .hours(1))
  }

  @Test func aHostSpeaksForThoseItsEnrolmentNames() throws {
    #expect(try decide(host, "svc-web") == .vouched)
    #expect(throws: Refusal.notVouched) { try decide(host, "root") }
    #expect(throws: Refusal.notVouched) { try decide(host, "svc-web", pool: "other") }
  }

  @Test func whoMaySignInNeedsASignIn() throws {
    #expect(throws: Refusal.signInRequired) { try decide(host, "account:alice") }
    #expect(try decide(host, "account:alice", session: session()) == .signedIn)
    // The bare name is another user, for whom the host may not speak.
    #expect(throws: Refusal.notVouched) { try decide(host, "alice") }
    #expect(throws: Refusal.notVouched) { try decide(host, "account:bob") }
  }

  @Test func aSignInBelongsToHostUserAndProvider() throws {
    for stolen in [
      session(host: "web2"), session(user: "account:bob"), session(provider: "other"),
    ] {
      #expect(throws: Refusal.sessionUnknown) {
        try decide(host, "account:alice", session: stolen)
      }
    }
    #expect(throws: Refusal.sessionUnknown) {
      try decide(host, "account:alice", session: session(), at: now + .hours(2))
    }
    // Nor does it speak for a name that the host vouches for.
    #expect(throws: Refusal.sessionUnknown) { try decide(host, "svc-web", session: session()) }
  }

  @Test func aRightThatWasWithdrawnEndsSignInsToo() throws {
    var host = try host
    host.rights.signsIn = .none
    #expect(throws: Refusal.notVouched) {
      try decide(host, "account:alice", session: session())
    }
  }

  @Test func anEnrolmentEnds() throws {
    var host = try host
    host.expires = now + .seconds(1)
    #expect(try decide(host, "svc-web") == .vouched)
    #expect(throws: Refusal.hostNotAuthorized) {
      try decide(host, "svc-web", at: now + .seconds(1))
    }
    host.expires = nil
    host.revoked = now
    #expect(throws: Refusal.hostNotAuthorized) { try decide(host, "svc-web") }
  }

  /// Users of one do not come into pools of the other, nor does a right of the one hold for the other's.
  @Test func aGroupsRightsAndTheHostsOwnCountEachByThemselves() throws {
    var host = try host
    host.group = HostGroup(
      name: "web",
      rights: HostRights(
        vouches: try Patterns("nightly"), signsIn: try Patterns("bob"), pools: ["other"],
        mayLink: true),
      created: now)
    #expect(host.pools == ["work", "other"])
    #expect(try decide(host, "svc-web") == .vouched)
    #expect(try decide(host, "nightly", pool: "other") == .vouched)
    #expect(throws: Refusal.notVouched) { try decide(host, "nightly") }
    #expect(throws: Refusal.notVouched) { try decide(host, "svc-web", pool: "other") }
    #expect(throws: Refusal.signInRequired) { try decide(host, "account:bob", pool: "other") }
    #expect(throws: Refusal.notVouched) { try decide(host, "account:bob") }
    func mayLink(_ user: String, in pool: String) throws -> Bool {
      try Vouching.decide(
        host, for: Identifier(user), pool: pool, provider: "dev", session: nil, isAccount: false,
        at: now
      ).mayLink
    }
    #expect(try mayLink("nightly", in: "other"))
    #expect(try !mayLink("svc-web", in: "work"))
    #expect(host.maySignIn("bob"))
    #expect(host.vouchesForOneLike("NIGHTLY"))
  }

  @Test func anEndIsRenewedAndNeverIsKept() throws {
    var host = try host
    #expect(host.renewedEnd(nil, at: now) == nil)
    #expect(host.renewedEnd(Lifetime("1d"), at: now) == now + .days(1))
    host.expires = now + .days(2)
    #expect(host.renewedEnd(nil, at: now) == now + .days(90))
    #expect(host.renewedEnd(Lifetime("0"), at: now) == nil)
    host.expires = now + .days(365)
    #expect(host.renewedEnd(nil, at: now) == now + .days(365))
    #expect(Lifetime("soon") == nil)
  }

  @Test func rightsThatMeanNothingAreRefused() throws {
    #expect(HostRights.none.fault == nil)
    #expect(HostRights(pools: ["work"]).fault?.contains("--vouches") == true)
    #expect(HostRights(mayLink: true).fault?.contains("--vouches") == true)
    #expect(HostRights(vouches: try Patterns("a")).fault?.contains("--pool") == true)
    #expect(HostRights(signsIn: try Patterns("a"), pools: ["work"]).fault == nil)
  }

  @Test func theSampleProtocolsAccountsAreNobodysToVouchFor() throws {
    var host = try host
    host.rights.vouches = try Patterns("*")
    host.rights.signsIn = try Patterns("*")
    #expect(throws: Refusal.notVouched) { try decide(host, "sample:alice") }
  }
}

struct IdentityChoiceTests {
  private let mine = "us-east-1:aa"
  private let others = "us-east-1:bb"

  @Test func aClaimIsMeasuredByTheRecords() {
    #expect(IdentityChoice.question(claimed: others, recorded: mine) == .none)
    #expect(
      IdentityChoice.choose(claimed: others, recorded: mine) == .ignore(.recordedOther))
    #expect(IdentityChoice.choose(claimed: mine, recorded: mine) == .ask(identityID: nil))
    #expect(IdentityChoice.choose(claimed: nil, recorded: nil) == .ask(identityID: nil))
    #expect(IdentityChoice.question(claimed: others, recorded: nil) == .owner(of: others))
  }

  @Test func elseByWhatCognitoSays() throws {
    let user = try Identifier("alice")
    func choose(_ owners: [String]?, _ logins: [String] = [], adopt: Bool = true)
      -> IdentityChoice.Choice
    {
      IdentityChoice.choose(
        claimed: others, for: user, owners: owners, logins: logins, mayAdoptGuests: adopt)
    }
    #expect(choose(nil) == .ignore(.unknownToCognito))
    #expect(choose(["bob"]) == .ignore(.othersIdentity))
    #expect(choose(["bob", "alice"]) == .ask(identityID: others))
    #expect(choose([], ["accounts.google.com"]) == .ignore(.hasLogins))
    #expect(choose([]) == .ask(identityID: others))
    #expect(choose([], adopt: false) == .ignore(.adoptionNotPermitted))
  }
}

import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// What was derived goes at once with what it was derived from.
struct DerivedDropTests: DerivedTesting {
  private static let password = "login_url = http://127.0.0.1/login"

  private func held(_ fixture: ServiceFixture, _ profile: String = "narrow") -> Credentials? {
    session(profile, fixture)?.machine.credentials?.credentials
  }

  @Test(arguments: [
    #"{"op":"logout","profile":"work"}"#,
    #"{"op":"clear","profile":"work","what":"credentials"}"#,
    #"{"op":"clear","profile":"work","what":"identity"}"#,
    #"{"op":"clear","profile":"hop","what":"credentials"}"#,
  ])
  func aClientsWordAboutTheSourceDropsIt(_ line: String) throws {
    let last = Configured.derived("last", from: "hop", "policy_file = \(Self.policyPath)")
    let fixture = try fixture(Self.text(Self.hop(), last))
    _ = try key(fixture, "last")
    expect(held(fixture, "last") != nil)
    let reply = try fixture.ask(line)
    expect(reply.errorCode, equals: nil, "\(reply)")
    expect(held(fixture, "hop") == nil)
    expect(held(fixture, "last") == nil)
  }

  @Test func anotherIdentityOfTheSourceDropsIt() throws {
    let fixture = try fixture(Self.text(backend: Self.password, Self.hop(), Self.narrow()))
    func login(_ user: String) throws {
      let reply = try fixture.ask(
        #"{"op":"login","profile":"work","username":"\#(user)","password":"\#(user)-password"}"#)
      expect(reply.state, equals: "signedIn", "\(reply)")
    }
    try login("alice")
    let first = try key(fixture)
    _ = try key(fixture, "hop")
    try login("bob")
    expect(held(fixture, "hop") == nil)
    let second = try key(fixture)
    let keys = fixture.host.upstreams.sts.keys
    expect(keys[second]?.identity != keys[first]?.identity)
    expect(
      session("narrow", fixture)?.machine.identityID?.description, equals: keys[second]?.identity)
  }

  @Test func anAnswerUnderWayGoesToo() throws {
    let fixture = try fixture(Self.text(backend: Self.password, Self.narrow()))
    _ = try fixture.ask(
      #"{"op":"login","profile":"work","username":"alice","password":"alice-password"}"#)
    fixture.host.upstreams.delays["GetScopedCredentials"] = .seconds(2)
    let client = fixture.connect()
    client.send(get("narrow", #","wait":10"#))
    fixture.advance(by: .seconds(1))
    _ = try fixture.ask(#"{"op":"logout","profile":"work"}"#)
    fixture.advance(by: .seconds(20))
    expect(try client.next().errorCode, equals: "SignInRequired")
    expect(held(fixture) == nil)
  }

  @Test func theNextPersonOfAUidGetsNothingOfTheFormer() throws {
    let fixture = try fixture(Self.text(Self.hop(), Self.narrow()))
    let first = try key(fixture)
    _ = try key(fixture, "hop")
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "carol")
    fixture.advance(by: .seconds(600))
    let second = try key(fixture)
    expect(second != first)
    expect(policies(of: second, fixture), equals: [Self.policy(for: "carol")])
    let keys = fixture.host.upstreams.sts.keys
    expect(keys[second]?.identity != keys[first]?.identity)
    expect(held(fixture, "hop") == nil)
  }

  /// A waiting client of the former person gets its answer.
  @Test func clientsOfTheFormerPersonAreRefused() throws {
    let fixture = try fixture(Self.text(backend: Self.password, Self.narrow()))
    let client = fixture.connect()
    client.send(get("narrow", #","wait":300"#))
    expect(client.isWaiting)
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "carol")
    fixture.advance(by: .seconds(120))
    _ = try fixture.ask(get("work", #","wait":0"#))
    expect(try client.next().errorCode, equals: "AccessDenied")
  }

  @Test(arguments: [
    Self.narrow("duration = 30m"), Self.narrow("allow_users = alice bob"),
    Self.narrow("session_description = other"),
  ])
  func aReloadThatChangesAnyKeyDropsIt(_ derived: String) throws {
    let fixture = try fixture()
    let first = try key(fixture)
    try fixture.reload(Self.text(derived))
    expect(held(fixture) == nil)
    expect(try key(fixture) != first)
  }

  @Test func aReloadWithOtherBytesOfThePolicyDropsIt() throws {
    let fixture = try fixture()
    _ = try key(fixture)
    try fixture.reload(Self.text())
    expect(held(fixture) != nil)
    fixture.host.queries.files[Self.policyPath] = Self.policy(for: "other")
    try fixture.reload(Self.text())
    expect(held(fixture) == nil)
    expect(policies(of: try key(fixture), fixture), equals: [Self.policy(for: "other")])
  }

  @Test func aReloadThatChangesTheSourceDropsIt() throws {
    let fixture = try fixture(Self.text(Self.hop()))
    _ = try key(fixture, "hop")
    try fixture.reload(Self.text(work: "forget_after = 9d", Self.hop()))
    expect(held(fixture, "hop") == nil)
  }

  @Test func aReloadThatTakesAnotherSourceBeginsAnew() throws {
    let other = Configured.profile(
      "other", identifier: "x-{user}", "sts_endpoint = http://127.0.0.1:4599")
    let fixture = try fixture(Self.text(other, Self.narrow()))
    let first = try key(fixture)
    try fixture.reload(Self.text(other, Self.narrow(from: "other")))
    expect(held(fixture) == nil)
    let second = try key(fixture)
    let keys = fixture.host.upstreams.sts.keys
    expect(keys[second]?.identity != keys[first]?.identity)
  }

  /// The middle of a chain goes elsewhere: who waits at its end is answered.
  @Test func aReloadThatMovesTheMiddleOfAChainAnswersWhoWaits() throws {
    let other = Configured.profile(
      "other", identifier: "x-{user}", "sts_endpoint = http://127.0.0.1:4599")
    func text(_ source: String) -> String {
      Self.text(
        backend: Self.password, other,
        Configured.derived("mid", from: source, "role_arn = \(Self.role)"),
        Configured.derived("last", from: "mid", "policy_file = \(Self.policyPath)"))
    }
    let fixture = try fixture(text("work"))
    let client = fixture.connect()
    client.send(get("last", #","wait":300"#))
    expect(client.isWaiting)
    try fixture.reload(text("other"))
    fixture.advance(by: .seconds(310))
    expect(!client.isWaiting && !client.hasReadAll)
  }

  /// Until the new identity has credentials of its own, nothing is derived from those of the former one.
  @Test func nothingIsDerivedFromCredentialsOfAFormerIdentity() throws {
    let fixture = try fixture(Self.text(Self.narrow(), Self.hop()))
    let first = try key(fixture)
    fixture.advance(by: .seconds(60))
    fixture.host.upstreams.replaceIdentity(of: "alice")
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(503)
    _ = try fixture.ask(get("work", #","refresh":true,"wait":2"#))
    let reply = try fixture.ask(get("hop", #","wait":2"#))
    expect(reply.accessKeyID, equals: nil)
    expect(held(fixture) == nil)
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = nil
    fixture.advance(by: .seconds(400))
    let keys = fixture.host.upstreams.sts.keys
    expect(keys[try key(fixture, "hop")]?.identity != keys[first]?.identity)
  }

  @Test func aForgottenSignOutOfItsSourceLocksNobodyOut() throws {
    let fixture = try fixture(Self.text(backend: Self.password, Self.narrow()))
    func login() throws {
      _ = try fixture.ask(
        #"{"op":"login","profile":"work","username":"alice","password":"alice-password"}"#)
    }
    try login()
    _ = try key(fixture)
    _ = try fixture.ask(#"{"op":"logout","profile":"work"}"#)
    fixture.advance(by: .seconds(60 * 86_400))
    try fixture.restart(Self.text(backend: Self.password, Self.narrow()))
    try login()
    expect(policies(of: try key(fixture), fixture)?.count, equals: 1)
  }

  // MARK: Restart

  @Test func itOutlivesARestart() throws {
    let fixture = try fixture()
    let first = try key(fixture)
    try fixture.restart(Self.text())
    expect(try key(fixture), equals: first)
    expect(calls("GetScopedCredentials", fixture), equals: 1)
    fixture.advance(by: .seconds(2400))
    expect(policies(of: try key(fixture), fixture)?.count, equals: 1)
    expect(session("narrow", fixture)?.source === session("work", fixture))
  }

  @Test func afterARestartAnotherPolicyCounts() throws {
    let fixture = try fixture()
    _ = try key(fixture)
    fixture.host.queries.files[Self.policyPath] = Self.policy(for: "other")
    try fixture.restart(Self.text())
    expect(policies(of: try key(fixture), fixture), equals: [Self.policy(for: "other")])
  }

  @Test func withoutItsSourceNothingComesBack() throws {
    let fixture = try fixture(Self.text(Self.hop()))
    _ = try key(fixture, "hop")
    fixture.host.store.records[SessionKey(uid: 1000, profile: "work")] = nil
    try fixture.restart(Self.text(Self.hop()))
    expect(session("hop", fixture) == nil)
    expect(fixture.host.store.records[SessionKey(uid: 1000, profile: "hop")] == nil)
  }

  @Test func ofAnotherUsersSourceNothingComesBack() throws {
    let fixture = try fixture(Self.text(backend: Self.password, Self.hop()))
    func login(_ user: String) throws {
      _ = try fixture.ask(
        #"{"op":"login","profile":"work","username":"\#(user)","password":"\#(user)-password"}"#)
    }
    try login("alice")
    _ = try key(fixture, "hop")
    let record = fixture.host.store.records[SessionKey(uid: 1000, profile: "hop")]
    try login("bob")
    // The process was killed between the two.
    fixture.host.store.records[SessionKey(uid: 1000, profile: "hop")] = record
    try fixture.restart(Self.text(backend: Self.password, Self.hop()))
    expect(held(fixture, "hop") == nil)
  }

  @Test func aRecordIsReadAsItWasWritten() throws {
    let fixture = try fixture()
    _ = try key(fixture)
    let record = try #require(
      fixture.host.store.records[SessionKey(uid: 1000, profile: "narrow")])
    expect(try SessionRecord(reading: record.encoded[...]), equals: record)
  }
}

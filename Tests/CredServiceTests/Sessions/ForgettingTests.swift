import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Sessions that nobody uses are forgotten.
struct ForgettingTests {
  private static let day = Duration.seconds(86_400)

  private static func text(_ time: String = "8d") -> String {
    Configured.usual(profile: "forget_after = \(time)")
  }

  private func advance(_ fixture: ServiceFixture, days: Int) {
    for _ in 0..<days { fixture.advance(by: Self.day) }
  }

  @Test func aSessionThatNobodyUsesIsForgotten() throws {
    let fixture = try ServiceFixture(Self.text())
    let watcher = fixture.connect()
    watcher.send(#"{"op":"watch"}"#)
    let identity = try fixture.ask(#"{"op":"token"}"#)["IdentityId"]?.text
    expect(try fixture.ask().accessKeyID != nil)
    expect(fixture.host.store.records.count, equals: 1)
    advance(fixture, days: 8)
    expect(fixture.service.sessions.count, equals: 1)
    advance(fixture, days: 3)
    expect(fixture.service.sessions.isEmpty)
    expect(fixture.service.sessionTable.count, equals: 0)
    expect(fixture.host.store.records.isEmpty)
    expect(fixture.service.sessionTable.nextDue == nil)
    expect(watcher.replies.last?.state, equals: "signedOut")
    expect(fixture.host.log.messages.contains("session forgotten: nobody used it"))
    // The IdentityId on disk stays, and the backend gets it with the next callback.
    expect(fixture.host.store.identities.count, equals: 1)
    expect(try fixture.ask().accessKeyID != nil)
    expect(try fixture.ask(#"{"op":"identity"}"#)["IdentityId"]?.text, equals: identity)
    let callback = fixture.host.http.requests.last { $0.operation == "token" }
    expect(callback?.json?["IdentityId"]?.text, equals: identity)
  }

  /// A cached answer records nothing: the session is in use all the same.
  @Test(arguments: ["8d", "40m"])
  func aSessionThatIsOnlyAnsweredFromTheCacheIsKept(_ time: String) throws {
    let fixture = try ServiceFixture(Self.text(time))
    fixture.host.upstreams.credentialLifetime = .seconds(36_000)
    let client = fixture.connect()
    let first = try client.ask("{}")
    for _ in 0..<(time == "8d" ? 2000 : 200) {
      fixture.advance(by: .seconds(600))
      expect(try client.ask("{}").accessKeyID != nil)
    }
    expect(fixture.service.sessions.count, equals: 1)
    expect(!fixture.host.log.messages.contains("session forgotten: nobody used it"))
    expect(first.accessKeyID != nil)
  }

  @Test func aLoginIsAUse() throws {
    let fixture = try ServiceFixture(Configured.password(profile: "forget_after = 8d"))
    _ = try fixture.ask(#"{"op":"identity"}"#)
    advance(fixture, days: 8)
    _ = try fixture.ask(#"{"op":"login","username":"alice","password":"alice-password"}"#)
    advance(fixture, days: 7)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
  }

  @Test func aClientThatWaitsKeepsItsSession() throws {
    let fixture = try ServiceFixture(Configured.password(profile: "forget_after = 2s"))
    let client = fixture.connect()
    client.send(#"{"wait":300}"#)
    fixture.advance(by: .seconds(60))
    expect(client.isWaiting && fixture.service.sessions.count == 1)
    _ = try fixture.ask(#"{"op":"login","username":"alice","password":"alice-password"}"#)
    expect(try client.next().accessKeyID != nil)
    fixture.advance(by: .seconds(5))
    expect(fixture.service.sessions.isEmpty)
  }

  @Test func whoSignedOutStaysSignedOut() throws {
    let fixture = try ServiceFixture(Self.text("1h"))
    expect(try fixture.ask().accessKeyID != nil)
    _ = try fixture.ask(#"{"op":"logout"}"#)
    fixture.advance(by: .seconds(6000))
    expect(fixture.service.sessions.isEmpty)
    expect(fixture.host.store.records.count, equals: 1)
    expect(try fixture.ask(#"{"wait":1}"#).errorCode, equals: "SignInRequired")
    expect(fixture.host.upstreams.calls("token"), equals: 1)
    // Over a restart too, at once and much later.
    fixture.advance(by: .seconds(6000))
    try fixture.restart(Self.text("1h"))
    expect(try fixture.ask(#"{"wait":1}"#).errorCode, equals: "SignInRequired")
    fixture.advance(by: Self.day)
    try fixture.restart(Self.text("1h"))
    expect(fixture.service.sessions.isEmpty)
    expect(try fixture.ask(#"{"wait":1}"#).errorCode, equals: "SignInRequired")
    // A sign-in ends the mark.
    expect(try fixture.ask(#"{"op":"login"}"#).state, equals: "signedIn")
    fixture.advance(by: .seconds(6000))
    expect(fixture.service.sessions.isEmpty)
    expect(try fixture.ask().accessKeyID != nil)
  }

  @Test func aMarkGoesWithItsProfile() throws {
    let second = Configured.profile("second", "forget_after = 1h")
    let fixture = try ServiceFixture(Self.text("1h") + second)
    expect(try fixture.ask(#"{"profile":"second"}"#).accessKeyID != nil)
    _ = try fixture.ask(#"{"op":"logout","profile":"second"}"#)
    fixture.advance(by: .seconds(6000))
    expect(fixture.service.sessions.isEmpty && fixture.host.store.records.count == 1)
    try fixture.reload(Self.text("1h"))
    expect(fixture.host.store.records.isEmpty && fixture.service.owners.records.signedOut.isEmpty)
    try fixture.reload(Self.text("1h") + second)
    expect(try fixture.ask(#"{"profile":"second"}"#).accessKeyID != nil)
  }

  // MARK: Whoever still refers to a session that ended

  /// A connection that stays open, with an answer in the cache; its session is forgotten.
  private func forgotten(_ text: String = text("1s")) throws -> (ServiceFixture, TestClient) {
    let fixture = try ServiceFixture(text)
    let client = fixture.connect()
    for _ in 0..<2 { expect(try client.ask("{}").accessKeyID != nil) }
    expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
    expect(client.client?.cachedAnswer != nil)
    fixture.advance(by: .seconds(3))
    expect(fixture.service.sessions.isEmpty)
    return (fixture, client)
  }

  @Test func aCachedAnswerOfAForgottenSessionEndsWithIt() throws {
    let (fixture, client) = try forgotten()
    let ended = try #require(client.client?.cachedAnswer?.session)
    expect(ended.reply == nil && ended.machine.token == nil && ended.machine.identityID == nil)
    let exchanges = fixture.host.upstreams.calls("GetCredentialsForIdentity")
    expect(try client.ask("{}").accessKeyID != nil)
    expect(fixture.service.sessions.count, equals: 1)
    expect(fixture.host.upstreams.calls("GetCredentialsForIdentity"), equals: exchanges + 1)
  }

  @Test func aLogoutAfterASessionWasForgottenHoldsOnEveryConnection() throws {
    let (fixture, client) = try forgotten()
    let other = fixture.connect()
    expect(try other.ask(#"{"op":"logout"}"#).state, equals: "signedOut")
    let stored = fixture.host.store.records
    for client in [client, other, fixture.connect()] {
      client.send("{}")
      expect(client.isWaiting && client.hasReadAll)
    }
    expect(fixture.host.store.records, equals: stored)
  }

  @Test func aForgottenSessionIsNeverRefreshed() throws {
    let fixture = try ServiceFixture(Self.text("1s"))
    fixture.host.upstreams.credentialLifetime = .seconds(20)
    fixture.host.upstreams.tokenLifetime = .seconds(5)
    let client = fixture.connect()
    for _ in 0..<2 { expect(try client.ask("{}").accessKeyID != nil) }
    expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
    fixture.advance(by: .milliseconds(2500))
    expect(fixture.service.sessions.isEmpty)
    fixture.host.upstreams.faults["token"] = .hang
    client.send("{}")
    expect(client.isWaiting)
    client.leave()
    let calls = fixture.host.upstreams.calls("token")
    fixture.advance(by: .seconds(60))
    expect(fixture.host.upstreams.calls("token"), equals: calls)
    expect(fixture.service.sessions.isEmpty && fixture.service.sessionTable.nextDue == nil)
  }

  @Test func anOutcomeThatComesAfterItsSessionIsDropped() throws {
    let fixture = try ServiceFixture()
    let calls = KeptCalls()
    let service = SessionService(
      host: fixture.host.host(calls), configuration: try ServiceFixture.resolved(Self.text()))
    let client = TestClient(
      service, fixture.host.clock, peer: Peer(uid: 1000, gid: 1000, pid: 42), groups: [1000])
    client.send("{}")
    expect(calls.completions.count, equals: 1)
    _ = service.apply(try ServiceFixture.resolved(Configured.http()))
    fixture.host.settle()
    expect(service.sessions.isEmpty && client.replies.last?.errorCode == "UnknownProfile")
    for complete in calls.completions { complete(.fileToken(Secret("late"))) }
    expect(service.sessions.isEmpty && service.sessionTable.nextDue == nil)
  }

  // MARK: Restarts and reloads

  @Test func aRestartDropsWhatNobodyUsed() throws {
    let fixture = try ServiceFixture(Self.text("8d"))
    expect(try fixture.ask().accessKeyID != nil)
    fixture.host.clock.disarmAll()
    fixture.advance(by: .seconds(9 * 86_400))
    try fixture.restart(Self.text("8d"))
    expect(fixture.service.sessions.isEmpty && fixture.host.store.records.isEmpty)
  }

  @Test func aShorterTimeHoldsFromTheReloadOn() throws {
    let fixture = try ServiceFixture(Self.text("8d"))
    expect(try fixture.ask().accessKeyID != nil)
    try fixture.reload(Self.text("1h"))
    fixture.advance(by: .seconds(6000))
    expect(fixture.service.sessions.isEmpty)
  }

  /// However many sessions there are, a turn looks at few of them.
  @Test func manySessionsAreForgottenAFewAtATime() throws {
    let fixture = try ServiceFixture(Configured.password(profile: "forget_after = 1h"))
    for uid in 1...1000 as ClosedRange<UInt32> {
      _ = try fixture.ask(#"{"op":"release"}"#, uid: uid)
    }
    var before = fixture.service.sessions.count
    expect(before, equals: 1000)
    let end = fixture.now + .seconds(6000)
    while let next = fixture.host.clock.nextDeadline, next <= end {
      fixture.host.clock.advance(to: next)
      let left = fixture.service.sessions.count
      expect(before - left <= Forgetting.batch)
      before = left
    }
    expect(before, equals: 0)
  }
}

/// Calls that end when the test says so, also cancelled ones.
private final class KeptCalls: UpstreamPerforming {
  private(set) var completions: [(UpstreamOutcome) -> Void] = []
  var callCount: Int { completions.count }
  var requestEnded: ((EndedRequest) -> Void)?

  func start(_ request: CallRequest, completion: @escaping (UpstreamOutcome) -> Void) {
    completions.append(completion)
  }

  func prioritise(_ id: CallID) {}
  func cancel(_ id: CallID) {}
  func withdraw(_ id: CallID) -> Bool { false }
  func signOut(_ request: BackendSignOut, completion: @escaping (UpstreamFailure?) -> Void) {}
  func account(
    _ call: AccountCall,
    completion: @escaping (Result<AccountResult, UpstreamFailure>) -> Void
  ) {}
  func probe(_ request: ProbeRequest, completion: @escaping ([ProbeOutcome]) -> Void) {}
  func converse(
    _ call: ConversationCall,
    completion: @escaping (PoolConversation.Event, PoolPlace) -> Void
  ) {}
  func replicaInUse(of profile: Profile) -> String? { nil }
  func hostEnrolmentEnd(at backend: String) -> WallTime? { nil }
  func logoutURL(of profile: Profile) -> String? { nil }
  func converse(
    _ call: ProviderCall,
    completion: @escaping (Result<ProviderReply, UpstreamFailure>) -> Void
  ) {}
}

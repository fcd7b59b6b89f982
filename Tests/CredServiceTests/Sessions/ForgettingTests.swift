import CredCore
import Testing

@testable import CredService

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
    #expect(try fixture.ask().accessKeyID != nil)
    #expect(fixture.host.store.records.count == 1)
    advance(fixture, days: 8)
    #expect(fixture.service.sessions.count == 1)
    advance(fixture, days: 3)
    #expect(fixture.service.sessions.isEmpty)
    #expect(fixture.service.sessionOrder.count == 0)
    #expect(fixture.host.store.records.isEmpty)
    #expect(fixture.service.nextDue == nil)
    #expect(watcher.replies.last?.state == "signedOut")
    #expect(fixture.host.log.messages.contains("session forgotten: nobody used it"))
    // The IdentityId on disk stays, and the backend gets it with the next callback.
    #expect(fixture.host.store.identities.count == 1)
    #expect(try fixture.ask().accessKeyID != nil)
    #expect(try fixture.ask(#"{"op":"identity"}"#)["IdentityId"]?.text == identity)
    let callback = fixture.host.http.requests.last { $0.operation == "token" }
    #expect(callback?.json?["IdentityId"]?.text == identity)
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
      #expect(try client.ask("{}").accessKeyID != nil)
    }
    #expect(fixture.service.sessions.count == 1)
    #expect(!fixture.host.log.messages.contains("session forgotten: nobody used it"))
    #expect(first.accessKeyID != nil)
  }

  @Test func aLoginIsAUse() throws {
    let fixture = try ServiceFixture(Configured.password(profile: "forget_after = 8d"))
    _ = try fixture.ask(#"{"op":"identity"}"#)
    advance(fixture, days: 8)
    _ = try fixture.ask(#"{"op":"login","username":"alice","password":"alice-password"}"#)
    advance(fixture, days: 7)
    #expect(try fixture.ask(#"{"op":"identity"}"#).state == "signedIn")
  }

  @Test func aClientThatWaitsKeepsItsSession() throws {
    let fixture = try ServiceFixture(Configured.password(profile: "forget_after = 2s"))
    let client = fixture.connect()
    client.send(#"{"wait":300}"#)
    fixture.advance(by: .seconds(60))
    #expect(client.isWaiting && fixture.service.sessions.count == 1)
    _ = try fixture.ask(#"{"op":"login","username":"alice","password":"alice-password"}"#)
    #expect(try client.next().accessKeyID != nil)
    fixture.advance(by: .seconds(5))
    #expect(fixture.service.sessions.isEmpty)
  }

  @Test func whoSignedOutStaysSignedOut() throws {
    let fixture = try ServiceFixture(Self.text("1h"))
    #expect(try fixture.ask().accessKeyID != nil)
    _ = try fixture.ask(#"{"op":"logout"}"#)
    fixture.advance(by: .seconds(6000))
    #expect(fixture.service.sessions.isEmpty)
    #expect(fixture.host.store.records.count == 1)
    #expect(try fixture.ask(#"{"wait":1}"#).errorCode == "SignInRequired")
    #expect(fixture.host.upstreams.calls("token") == 1)
    // Over a restart too, at once and much later.
    fixture.advance(by: .seconds(6000))
    try fixture.restart(Self.text("1h"))
    #expect(try fixture.ask(#"{"wait":1}"#).errorCode == "SignInRequired")
    fixture.advance(by: Self.day)
    try fixture.restart(Self.text("1h"))
    #expect(fixture.service.sessions.isEmpty)
    #expect(try fixture.ask(#"{"wait":1}"#).errorCode == "SignInRequired")
    // A sign-in ends the mark.
    #expect(try fixture.ask(#"{"op":"login"}"#).state == "signedIn")
    fixture.advance(by: .seconds(6000))
    #expect(fixture.service.sessions.isEmpty)
    #expect(try fixture.ask().accessKeyID != nil)
  }

  @Test func aMarkGoesWithItsProfile() throws {
    let second = Configured.profile("second", "forget_after = 1h")
    let fixture = try ServiceFixture(Self.text("1h") + second)
    #expect(try fixture.ask(#"{"profile":"second"}"#).accessKeyID != nil)
    _ = try fixture.ask(#"{"op":"logout","profile":"second"}"#)
    fixture.advance(by: .seconds(6000))
    #expect(fixture.service.sessions.isEmpty && fixture.host.store.records.count == 1)
    try fixture.reload(Self.text("1h"))
    #expect(fixture.host.store.records.isEmpty && fixture.service.forgetting.signedOut.isEmpty)
    try fixture.reload(Self.text("1h") + second)
    #expect(try fixture.ask(#"{"profile":"second"}"#).accessKeyID != nil)
  }

  @Test func aRestartDropsWhatNobodyUsed() throws {
    let fixture = try ServiceFixture(Self.text("8d"))
    #expect(try fixture.ask().accessKeyID != nil)
    fixture.host.clock.disarmAll()
    fixture.advance(by: .seconds(9 * 86_400))
    try fixture.restart(Self.text("8d"))
    #expect(fixture.service.sessions.isEmpty && fixture.host.store.records.isEmpty)
  }

  @Test func aShorterTimeHoldsFromTheReloadOn() throws {
    let fixture = try ServiceFixture(Self.text("8d"))
    #expect(try fixture.ask().accessKeyID != nil)
    try fixture.reload(Self.text("1h"))
    fixture.advance(by: .seconds(6000))
    #expect(fixture.service.sessions.isEmpty)
  }

  /// However many sessions there are, a turn looks at few of them.
  @Test func manySessionsAreForgottenAFewAtATime() throws {
    let fixture = try ServiceFixture(Configured.password(profile: "forget_after = 1h"))
    for uid in 1...1000 as ClosedRange<UInt32> {
      _ = try fixture.ask(#"{"op":"identity"}"#, uid: uid)
    }
    var before = fixture.service.sessions.count
    #expect(before == 1000)
    let end = fixture.now + .seconds(6000)
    while let next = fixture.host.clock.nextDeadline, next <= end {
      fixture.host.clock.advance(to: next)
      let left = fixture.service.sessions.count
      #expect(before - left <= Forgetting.batch)
      before = left
    }
    #expect(before == 0)
  }
}

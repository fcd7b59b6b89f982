import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A name is kept for a minute. A uid may have another owner within it, who must not sign in to the
/// former one's session, nor act with the account there.
struct NextOwnerTests: PoolAccountTesting {
  private static let ofAlice = #"{"op":"login","username":"alice","password":"alice-password"}"#
  private static let ofBob = #"{"op":"login","username":"bob","password":"bob-password"}"#

  /// A moment after the former owner has used credd.
  private func passOn(_ fixture: ServiceFixture) {
    fixture.host.queries.users[1000] = UserEntry(uid: 1000, name: "carol")
    fixture.advance(by: .seconds(1))
  }

  @Test func `the next owner of a uid signs in without the former guest's identity`() throws {
    let fixture = try ServiceFixture(Configured.password(profile: "guest = yes"))
    expect(try fixture.ask().accessKeyID != nil)
    let guest = try #require(try fixture.ask(#"{"op":"identity"}"#)["IdentityId"]?.text)
    passOn(fixture)
    expect(try fixture.ask(Self.ofBob).state, equals: "signedIn")
    expect(try fixture.ask().accessKeyID != nil)
    expect(try fixture.ask(#"{"op":"identity"}"#)["IdentityId"]?.text != guest)
    let callbacks = fixture.host.http.requests.filter { $0.operation == "token" }
    expect(callbacks.count == 1 && callbacks.allSatisfy { $0.json?["IdentityId"] == nil })
  }

  @Test func `a guest who signs in keeps the identity`() throws {
    let fixture = try ServiceFixture(Configured.password(profile: "guest = yes"))
    expect(try fixture.ask().accessKeyID != nil)
    let guest = try #require(try fixture.ask(#"{"op":"identity"}"#)["IdentityId"]?.text)
    expect(try fixture.ask(Self.ofAlice).state, equals: "signedIn")
    expect(try fixture.ask().accessKeyID != nil)
    let callbacks = fixture.host.http.requests.filter { $0.operation == "token" }
    expect(callbacks.first?.json?["IdentityId"]?.text, equals: guest)
  }

  @Test func `the next owner of a uid does nothing with the former one's account`() throws {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool()
    passOn(fixture)
    expect(try fixture.ask(line(#""delete""#)).errorCode, equals: "SignInRequired")
    expect(pool.operations, equals: ["RevokeToken"])
  }

  @Test func `the next owner of a uid cannot answer the former one's question`() throws {
    let fixture = try ServiceFixture(Configured.scriptedPool())
    let pool = ScriptedPool(fixture, [ScriptedPool.challenge("SMS_MFA")])
    let login = #"{"op":"login","username":"alice","password":"pass-word"}"#
    let handle = try #require(try fixture.ask(login).handle)
    let sent = pool.requests.count
    passOn(fixture)
    let answer = #"{"op":"respond","handle":"\#(handle)","answers":{"code":"123456"}}"#
    expect(try fixture.ask(answer).errorCode, equals: "UnknownChallenge")
    expect(pool.requests.count, equals: sent)
  }

  /// The next line on the connection of a sign-in is no sign-in.
  @Test func `after a sign-in a kept name will do again`() throws {
    let fixture = try ServiceFixture(Configured.password())
    let client = fixture.connect()
    expect(try client.ask(Self.ofAlice).state, equals: "signedIn")
    fixture.host.queries.isUnavailable = true
    fixture.advance(by: .seconds(1))
    expect(try client.ask(#"{"refresh":true}"#).accessKeyID != nil)
  }

  // MARK: The user database is away

  @Test func `nobody signs in while the host cannot say who it is, and credentials go on`() throws {
    let fixture = try ServiceFixture(Configured.password())
    expect(try fixture.ask(Self.ofAlice).state, equals: "signedIn")
    expect(try fixture.ask().accessKeyID != nil)
    fixture.advance(by: .seconds(1))
    fixture.host.queries.isUnavailable = true
    let client = fixture.connect()
    client.send(Self.ofAlice)
    fixture.advance(by: UserDirectory.timeout)
    let reply = try client.next()
    expect(reply.errorCode, equals: "Timeout", "\(reply)")
    expect(reply.errorMessage, equals: "the host's user database did not say who uid 1000 is")
    expect(fixture.host.upstreams.calls("login"), equals: 1)
    expect(try fixture.ask().accessKeyID != nil)
    fixture.host.queries.isUnavailable = false
    expect(try fixture.ask(Self.ofAlice).state, equals: "signedIn")
  }

  private static let smsLogin = #"{"op":"login","username":"alice","password":"pass-word"}"#

  private func respond(_ handle: String, _ members: String) -> String {
    #"{"op":"respond","handle":"\#(handle)",\#(members)}"#
  }

  @Test func `an answer that comes while the host cannot say whose it is may come again`() throws {
    let fixture = try ServiceFixture(Configured.scriptedPool())
    let pool = ScriptedPool(fixture, [ScriptedPool.challenge("SMS_MFA")])
    let handle = try #require(try fixture.ask(Self.smsLogin).handle)
    let sent = pool.requests.count
    fixture.advance(by: .seconds(1))
    fixture.host.queries.isUnavailable = true
    let client = fixture.connect()
    client.send(respond(handle, #""answers":{"code":"123456"}"#))
    fixture.advance(by: UserDirectory.timeout)
    let reply = try client.next()
    expect(reply.errorCode, equals: "Timeout", "\(reply)")
    expect(reply["Error"]?["Handle"]?.text, equals: handle)
    expect(pool.requests.count, equals: sent)
  }

  @Test func `waiting for a sign-in and cancelling it take no look-up`() throws {
    let fixture = try ServiceFixture(Configured.scriptedPool())
    let pool = ScriptedPool(fixture, [ScriptedPool.challenge("SMS_MFA")])
    let handle = try #require(try fixture.ask(Self.smsLogin).handle)
    fixture.advance(by: .seconds(1))
    fixture.host.queries.isUnavailable = true
    expect(try fixture.ask(respond(handle, #""wait":0"#)).handle, equals: handle)
    expect(try fixture.ask(respond(handle, #""cancel":true"#)).state, equals: "signedOut")
    expect(pool.requests.count, equals: 1)
  }

  @Test func `a sign-in waits for a user database that fails for a moment`() throws {
    let fixture = try ServiceFixture(Configured.password())
    expect(try fixture.ask().errorCode, equals: "SignInRequired")
    fixture.advance(by: .seconds(1))
    fixture.host.queries.isUnavailable = true
    let client = fixture.connect()
    client.send(Self.ofAlice)
    fixture.advance(by: .seconds(1))
    expect(client.isWaiting)
    fixture.host.queries.isUnavailable = false
    fixture.advance(by: UserDirectory.retryPause)
    expect(try client.next().state, equals: "signedIn")
  }
}

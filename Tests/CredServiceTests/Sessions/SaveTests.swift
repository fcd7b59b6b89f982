import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// What a session holds is in the store before anything is sent: a process that is killed at that
/// moment loses nothing that a call may have used up.
struct SaveTests {
  /// Compares store and sessions at every request that is sent.
  private func watch(_ fixture: ServiceFixture) -> Counter {
    let counter = Counter()
    let (host, upstreams) = (fixture.host, fixture.host.upstreams)
    host.http.answer = { [unowned fixture, unowned host, unowned upstreams] request in
      counter.requests += 1
      for (key, session) in fixture.service.sessions {
        let snapshot = session.machine.snapshot
        let stored = host.store.records[key]?.snapshot
        if snapshot.isWorthKeeping {
          expect(stored?.isDurablyEqual(to: snapshot) == true, "\(request.operation)")
        } else {
          expect(stored == nil, "\(request.operation)")
        }
      }
      return upstreams.answer(request)
    }
    return counter
  }

  private final class Counter {
    var requests = 0
  }

  @Test func `a session is saved before each of its calls, in a host's flow`() throws {
    let fixture = try ServiceFixture()
    let counter = watch(fixture)
    expect(try fixture.ask().accessKeyID != nil)
    fixture.advance(by: .seconds(60))
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(500, count: 2)
    expect(try fixture.ask(#"{"refresh":true,"wait":0}"#).errorCode != nil)
    fixture.advance(by: .seconds(1200))
    expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
    fixture.advance(by: .seconds(4000))
    expect(try fixture.ask().accessKeyID != nil)
    expect(counter.requests >= 6)
  }

  @Test func `a session is saved before each of its calls, in a flow with passwords`() throws {
    let fixture = try ServiceFixture(Configured.password())
    let counter = watch(fixture)
    let login = #"{"op":"login","username":"alice","password":"alice-password"}"#
    expect(try fixture.ask(login).state, equals: "signedIn")
    expect(
      try fixture.ask(login.replacing("alice-p", with: "no-p")).errorCode, equals: "SignInFailed")
    expect(try fixture.ask(#"{"op":"clear","what":"identity"}"#).errorCode == nil)
    expect(try fixture.ask().accessKeyID != nil)
    let bob = #"{"op":"login","username":"bob","password":"bob-password"}"#
    expect(try fixture.ask(bob).state, equals: "signedIn")
    expect(try fixture.ask(#"{"op":"logout","global":true}"#).state, equals: "signedOut")
    expect(counter.requests >= 9)
  }

  @Test func `guests and the basic flow are saved before each call, too`() throws {
    let fixture = try ServiceFixture(
      """
      [profile default]
      identity_pool_id = \(FakeUpstreams.pool)
      cognito_endpoint = http://127.0.0.1:4599
      sts_endpoint = http://127.0.0.1:4599
      guest = yes
      flow = basic
      role_arn = arn:aws:iam::123456789012:role/guest

      """)
    let counter = watch(fixture)
    let reply = try fixture.ask()
    expect(reply.accessKeyID != nil, "\(reply)")
    expect(counter.requests, equals: 3)
    expect(
      fixture.host.http.requests.map(\.operation),
      equals: ["GetId", "GetOpenIdToken", "AssumeRoleWithWebIdentity"])
  }

  @Test func `the token is in the store while the exchange that uses it is under way`() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.delays["GetCredentialsForIdentity"] = .seconds(1)
    let client = fixture.connect()
    client.send("{}")
    expect(
      fixture.host.http.requests.map(\.operation), equals: ["token", "GetCredentialsForIdentity"])
    expect(client.isWaiting)
    // Killed now, the next process needs no other token.
    try fixture.restart()
    expect(try fixture.ask().accessKeyID != nil)
    expect(fixture.host.upstreams.calls("token"), equals: 1)
    expect(fixture.host.upstreams.calls("GetCredentialsForIdentity"), equals: 2)
  }

  @Test func `nothing is saved twice`() throws {
    let fixture = try ServiceFixture()
    let client = fixture.connect()
    _ = try client.ask("{}")
    fixture.host.trace.clear()
    for _ in 0..<10 { _ = try client.ask("{}") }
    // The first use since the refresh is all that is new.
    expect(fixture.host.trace.lines, equals: ["save default"])
  }

  // MARK: After a restart

  @Test func `the next process serves the same credentials, without a call`() throws {
    let fixture = try ServiceFixture()
    let before = try fixture.ask()
    try fixture.restart()
    expect(fixture.service.sessions.count, equals: 1)
    expect(try fixture.ask(), equals: before)
    expect(fixture.host.http.requests.count, equals: 2)
    expect(fixture.host.log.messages.contains("sessions restored"))
  }

  @Test func `a session of a profile that is gone is not restored`() throws {
    let fixture = try ServiceFixture()
    _ = try fixture.ask()
    try fixture.restart(Configured.http() + Configured.profile("other"))
    expect(fixture.service.sessions.isEmpty)
    expect(fixture.host.store.records.isEmpty)
  }

  @Test func `after a logout nothing is stored but that the user signed out`() throws {
    let fixture = try ServiceFixture()
    _ = try fixture.ask()
    _ = try fixture.ask(#"{"op":"logout"}"#)
    try fixture.restart()
    expect(try fixture.ask(#"{"wait":0}"#).errorCode, equals: "SignInRequired")
    expect(fixture.host.http.requests.count, equals: 2)
  }

  @Test func `a session that begins anew has the identity of the file`() throws {
    let fixture = try ServiceFixture()
    _ = try fixture.ask()
    let identity = try fixture.ask(#"{"op":"identity"}"#)["IdentityId"]?.text
    // After a reboot the file of IdentityIds is all there is.
    for key in fixture.host.store.records.keys { fixture.host.store.remove(key) }
    try fixture.restart()
    expect(fixture.service.sessions.isEmpty)
    expect(try fixture.ask(#"{"op":"identity"}"#)["IdentityId"]?.text, equals: identity)
    _ = try fixture.ask()
    expect(fixture.host.http.requests[2].json?["IdentityId"]?.text, equals: identity)
  }
}

import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// `sudo credctl get`, where it is another user who signed in.
struct RootsRefusalTests {
  private func fixture(_ more: String = "") throws -> ServiceFixture {
    let fixture = try ServiceFixture(
      Configured.http(backend: "login_url = http://127.0.0.1/login")
        + Configured.profile("work", identifier: "{user}") + more)
    fixture.host.upstreams.passwords = [:]
    for (uid, name) in [(1002, "carl"), (1003, "dora")] as [(UInt32, String)] {
      fixture.host.queries.users[uid] = UserEntry(uid: uid, name: name)
    }
    return fixture
  }

  private func signIn(_ name: String, _ uid: UInt32, _ fixture: ServiceFixture) throws {
    fixture.host.upstreams.passwords[name] = "a-password"
    let reply = try fixture.ask(
      #"{"op":"login","profile":"work","username":"\#(name)","password":"a-password"}"#, uid: uid)
    try #require(reply["State"]?.text == "signedIn", "\(reply)")
  }

  private func message(
    _ fixture: ServiceFixture, of uid: UInt32 = 0, _ profile: String = "work"
  ) throws -> String? {
    let reply = try fixture.ask(#"{"op":"get","profile":"\#(profile)","wait":0}"#, uid: uid)
    expect(reply.errorCode, equals: "SignInRequired", "\(reply)")
    return reply.errorMessage
  }

  @Test func rootIsToldWhoIsSignedIn() throws {
    let fixture = try fixture()
    expect(try message(fixture), equals: "nobody is signed in")
    try signIn("alice", 1000, fixture)
    let end = "run it without sudo, or sign in as root with 'credctl login work'"
    expect(
      try message(fixture), equals: "root has no session in 'work'; alice has one: \(end)")
    try signIn("bob", 1001, fixture)
    try signIn("carl", 1002, fixture)
    expect(
      try message(fixture),
      equals: "root has no session in 'work'; alice, bob, carl have one: \(end)")
  }

  @Test func nobodyElseIsToldOfOtherUsers() throws {
    let fixture = try fixture()
    try signIn("alice", 1000, fixture)
    expect(try message(fixture, of: 1001), equals: "nobody is signed in")
  }

  @Test func aDerivedProfilesSessionIsItsUsers() throws {
    let fixture = try fixture(Configured.derived("short", "duration = 30m"))
    try signIn("alice", 1000, fixture)
    _ = try fixture.ask(#"{"op":"get","profile":"short"}"#)
    expect(
      try message(fixture, "short"),
      equals:
        "root has no session in 'short'; alice has one: run it without sudo, or sign in as root "
        + "with 'credctl login work'")
  }
}

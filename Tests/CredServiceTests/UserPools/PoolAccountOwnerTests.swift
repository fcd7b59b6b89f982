import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// What is asked about the account is done for its user alone, and only soon after the sign-in.
struct PoolAccountOwnerTests: PoolAccountTesting {
  @Test func whatChangesTheAccountWantsASignInOfAMomentAgo() throws {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool(signedIn: fixture.host.clock.wallTime)
    fixture.advance(by: .seconds(15 * 60))
    for action in AccountAction.allCases where action.needsRecentSignIn {
      let reply = try fixture.ask(line(#""\#(action.rawValue)""# + keys(of: action)))
      expect(reply.errorCode, equals: "SignInRequired", "\(action)")
      expect(reply["Error"]?["Reason"]?.text, equals: "ReauthenticationRequired", "\(action)")
    }
    expect(pool.operations, equals: [])
  }

  // MARK: Another user signs in meanwhile

  /// Somebody asks for something of alice's, and bob signs in while her token is renewed.
  private func interrupted(
    _ members: String, by arrange: (FakePool) -> Void = { _ in }
  ) throws -> (ServiceFixture, FakePool, Reply) {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool(signedIn: fixture.host.clock.wallTime)
    arrange(pool)
    pool.delays["GetTokensFromRefreshToken"] = .seconds(1)
    let client = fixture.connect()
    client.send(line(members))
    try fixture.signInAtPool(
      username: "bob", refresh: pool.add("bob"), signedIn: fixture.host.clock.wallTime)
    fixture.advance(by: .seconds(10))
    return (fixture, pool, try client.next())
  }

  @Test func anActionIsNotDoneWithTheAccountOfWhoeverSignsInMeanwhile() throws {
    let (fixture, pool, reply) = try interrupted(#""delete""#)
    expect(reply.errorCode, equals: "SignInRequired")
    expect(!pool.operations.contains("DeleteUser"))
    let identity = try fixture.ask(#"{"op":"identity"}"#)
    expect(identity.state == "signedIn" && identity["Username"]?.text == "bob")
    // Bob's own request is done.
    pool.faults["DeleteUser"] = [.reply(200, "")]
    expect(try fixture.ask(line(#""delete""#)).errorCode == nil)
  }

  @Test func aSecondTryIsNotMadeWithAnotherUsersToken() throws {
    let (fixture, pool) = try fixture(profile: "vend_tokens = access account\n")
    try fixture.signInAtPool()
    pool.faults["GetUser"] = [
      FakePool.refusal("NotAuthorizedException", "Access Token has been revoked"), Self.user,
    ]
    pool.delays["GetUser"] = .seconds(1)
    fixture.advance(by: .seconds(1))
    let client = fixture.connect()
    client.send(line(#""get""#))
    try fixture.signInAtPool(username: "bob", refresh: pool.add("bob"))
    fixture.advance(by: .seconds(10))
    expect(try client.next().errorCode, equals: "SignInRequired")
    expect(pool.operations.count { $0 == "GetUser" }, equals: 1)
  }

  @Test func aDeletedAccountSignsNobodyElseOut() throws {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool(signedIn: fixture.host.clock.wallTime)
    pool.faults["DeleteUser"] = [.reply(200, "")]
    pool.delays["DeleteUser"] = .seconds(1)
    let client = fixture.connect()
    client.send(line(#""delete""#))
    try fixture.signInAtPool(username: "bob", refresh: pool.add("bob"))
    fixture.advance(by: .seconds(10))
    expect(try client.next().errorCode == nil)
    expect(try fixture.ask(#"{"op":"identity"}"#)["Username"]?.text, equals: "bob")
  }

  // MARK: A sign-in of a moment ago

  @Test func anActionWantsItsRecentSignInWhenItIsDoneToo() throws {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool(signedIn: fixture.host.clock.wallTime)
    fixture.advance(by: .seconds(15 * 60 - 1))
    pool.delays["GetTokensFromRefreshToken"] = .milliseconds(1500)
    let reply = try fixture.ask(line(#""delete""#))
    expect(reply["Error"]?["Reason"]?.text, equals: "ReauthenticationRequired")
    expect(!pool.operations.contains("DeleteUser"))
  }

  @Test func aClockThatIsAnHourBehindOpensNothing() throws {
    let (fixture, pool) = try fixture()
    fixture.host.clock.wallClockJump = .seconds(-3600)
    // The pool's own time, which the sign-in carries.
    let time = fixture.host.clock.wallTime + .seconds(3600)
    try fixture.signInAtPool(signedIn: time, serverTime: time)
    fixture.advance(by: .seconds(15 * 60))
    let reply = try fixture.ask(line(#""delete""#))
    expect(reply["Error"]?["Reason"]?.text, equals: "ReauthenticationRequired")
    expect(pool.operations, equals: [])
  }

  @Test func aSignInOfTheFutureIsNotRecent() throws {
    let (fixture, pool) = try fixture()
    let time = fixture.host.clock.wallTime
    try fixture.signInAtPool(signedIn: time + .seconds(3600), serverTime: time)
    let reply = try fixture.ask(line(#""delete""#))
    expect(reply["Error"]?["Reason"]?.text, equals: "ReauthenticationRequired")
    expect(pool.operations, equals: [])
  }

  @Test func aSuspensionCountsAndARestartForgetsNothing() throws {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool(signedIn: fixture.host.clock.wallTime)
    try fixture.restart(Configured.userPool(backend: Self.all))
    pool.faults["DeleteUserAttributes"] = [Self.ok]
    let change = line(#""delete-attributes","names":["nickname"]"#)
    expect(try fixture.ask(change).errorCode == nil)
    fixture.host.clock.sleep(for: .seconds(16 * 60))
    expect(
      try fixture.ask(change)["Error"]?["Reason"]?.text, equals: "ReauthenticationRequired")
  }

  // MARK: The end of the account

  @Test func aDeletedAccountEndsTheSessionItsDeviceAndAnOpenSignIn() throws {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool(signedIn: fixture.host.clock.wallTime)
    let session = try #require(fixture.service.sessions.values.first)
    fixture.service.owners.devices.keep(
      DeviceSecret(key: "us-east-1_0f", groupKey: "group", password: Secret("device-password")),
      of: session, username: "alice")
    pool.faults["InitiateAuth"] = [.silence]
    let login = fixture.connect()
    login.send(#"{"op":"login","username":"alice","password":"pass-word"}"#)
    expect(fixture.service.openSignIns, equals: 1)
    pool.faults["DeleteUser"] = [.reply(200, "")]
    expect(try fixture.ask(line(#""delete""#)).errorCode == nil)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
    expect(fixture.service.openSignIns, equals: 0)
    expect(try login.next().errorMessage?.contains("the account was deleted") == true)
    expect(fixture.host.store.devices.isEmpty)
  }
}

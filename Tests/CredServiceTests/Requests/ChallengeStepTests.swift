import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A step of a sign-in that is under way: its deadline, devices, and what comes in between.
final class ChallengeStepTests: ChallengeTesting {
  /// Each request is in time, but there are many.
  @Test func aStepHasADeadlineOfItsOwn() throws {
    let (fixture, pool) = try fixture(
      Configured.scriptedPool().replacing("timeout = 2s", with: "timeout = 10s"))
    _ = try fixture.ask(#"{"op":"release"}"#)
    let session = try #require(fixture.service.sessions.values.first)
    fixture.service.owners.devices.keep(
      DeviceSecret(key: "us-east-1_0f", groupKey: "group", password: Secret("device-password")),
      of: session, username: "alice")
    pool.answers = Array(
      repeating: Pool.challenge("DEVICE_SRP_AUTH", after: .seconds(9)), count: 20)
    let start = fixture.now
    let reply = try fixture.ask(Self.login)
    let took = fixture.now - start
    expect(reply.errorCode == "Timeout" && took <= .seconds(31), "\(reply)")
    expect(pool.requests.count, equals: 4)
    expect(fixture.service.openSignIns == 0 && fixture.service.owners.guesses.underWay.isEmpty)
  }

  @Test func aDeviceThatIsThrottledIsConfirmedLater() throws {
    let (fixture, pool) = try fixture()
    let throttled = Pool.error("TooManyRequestsException", "Rate exceeded")
    pool.answers = [
      Pool.verifier, Pool.tokens(at: fixture.host.clock.wallTime, more: Self.device), throttled,
      throttled, Pool.ok(#"{"UserConfirmationNecessary":false}"#),
    ]
    let start = fixture.now
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
    expect(fixture.now - start >= .seconds(1))
    expect(pool.requests.count { $0.operation == "ConfirmDevice" }, equals: 3)
    let kept = fixture.service.sessions.values.first?.machine.state.providerSession
    expect(kept?.deviceKey?.hasPrefix("us-east-1_0f1e") == true)
  }

  @Test func aDeviceThatNobodyConfirmsHoldsUpNoSignInForLong() throws {
    let (fixture, pool) = try fixture(
      Configured.scriptedPool().replacing("timeout = 2s", with: "timeout = 10s"))
    pool.answers = [
      Pool.verifier, Pool.tokens(at: fixture.host.clock.wallTime, more: Self.device), .silence,
      .silence, .silence, .silence, .silence,
    ]
    let start = fixture.now
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
    expect(fixture.now - start <= .seconds(31))
    let kept = fixture.service.sessions.values.first?.machine.state.providerSession
    expect(kept?.deviceKey != nil)
  }

  @Test(arguments: ["cancel", "time", "login"])
  func tokensThatNobodyWantsAreRevoked(_ end: String) throws {
    let (fixture, pool) = try fixture(Configured.scriptedPool(backend: "remember_device = ask"))
    pool.answers = [
      Pool.verifier, Pool.tokens(at: fixture.host.clock.wallTime, more: Self.device),
      Pool.ok("{}"), Pool.ok("{}"),
    ]
    let asked = try fixture.ask(Self.login)
    expect(asked["Challenge"]?["Name"]?.text, equals: "DEVICE")
    let handle = asked.handle ?? ""
    switch end {
    case "cancel": _ = try fixture.ask(#"{"op":"respond","handle":"\#(handle)","cancel":true}"#)
    case "time": fixture.advance(by: .seconds(200))
    default: _ = try fixture.ask(Self.login)
    }
    fixture.advance(by: .seconds(5))
    let revoked = pool.requests.filter { $0.operation == "RevokeToken" }
    expect(revoked.count, equals: 1)
    expect(revoked.first?.json?["Token"]?.text, equals: "refresh-token")
    // The pool was told of no device.
    expect(!pool.requests.contains { $0.operation == "ConfirmDevice" })
  }

  // MARK: Two at once

  @Test func twoLoginsOfOneUserDoNotGuessAtOnce() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [.silence]
    let client = fixture.connect()
    client.send(Self.login)
    expect(try fixture.ask(Self.login).errorCode, equals: "TooManyRequests")
    expect(pool.requests.count, equals: 1)
  }

  @Test func aSlowPoolDoesNotBlockLoginsToOtherProfiles() throws {
    let (fixture, pool) = try fixture(Configured.scriptedPool(["one", "two"]))
    pool.answers = [.silence]
    let client = fixture.connect()
    client.send(Self.line("one"))
    pool.answers = [Pool.verifier, tokens(fixture)]
    expect(try fixture.ask(Self.line("two")).state, equals: "signedIn")
  }

  @Test func anAnswerThatIsUnderWayIsNotSentTwice() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [
      Pool.verifier, Pool.sms, Pool.tokens(at: fixture.host.clock.wallTime, after: .seconds(1)),
    ]
    let handle = try fixture.ask(Self.login).handle ?? ""
    let first = fixture.connect()
    first.send(Self.answer(handle))
    expect(try fixture.ask(Self.answer(handle)).errorCode, equals: "TooManyRequests")
    fixture.advance(by: .seconds(2))
    expect(try first.next().state, equals: "signedIn")
    expect(pool.requests.count, equals: 3)
  }

  @Test func aLogoutWhileThePoolIsAskedRefusesTheLogin() throws {
    let (fixture, pool) = try fixture()
    pool.answers = [
      Pool.verifier, Pool.tokens(at: fixture.host.clock.wallTime, after: .seconds(1)),
    ]
    let client = fixture.connect()
    client.send(Self.login)
    expect(try fixture.ask(#"{"op":"logout"}"#).state, equals: "signedOut")
    expect(try client.next().errorCode, equals: "SignInFailed")
    fixture.advance(by: .seconds(2))
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
    expect(client.hasReadAll)
  }

  @Test(arguments: ["cancel", "logout", "leave", "removed"])
  func whatAPoolSendsAfterTheEndOfTheSignInIsRevoked(_ end: String) throws {
    let (fixture, pool) = try fixture()
    pool.answers = [
      Pool.verifier, Pool.sms, Pool.tokens(at: fixture.host.clock.wallTime, after: .seconds(1)),
      Pool.ok("{}"),
    ]
    let handle = try fixture.ask(Self.login).handle ?? ""
    let client = fixture.connect()
    client.send(Self.answer(handle))
    switch end {
    case "cancel": _ = try fixture.ask(#"{"op":"respond","handle":"\#(handle)","cancel":true}"#)
    case "logout": _ = try fixture.ask(#"{"op":"logout"}"#)
    case "leave": client.leave()
    default: try fixture.reload(Configured.scriptedPool(["other"]))
    }
    fixture.advance(by: .seconds(5))
    let revoked = pool.requests.filter { $0.operation == "RevokeToken" }
    expect(revoked.map { $0.json?["Token"]?.text }, equals: ["refresh-token"])
    expect(fixture.service.sessions.values.allSatisfy { $0.machine.providerSessions.isEmpty })
    expect(fixture.upstream.callCount, equals: 0)
  }

  /// A request that waits for its turn brings nothing.
  @Test func aStepThatWasNotSentIsTakenBack() throws {
    let (fixture, pool) = try fixture(
      Configured.scriptedPool(["one", "two"], backend: "max_parallel = 1"))
    pool.answers = [.silence]
    let (first, second) = (fixture.connect(), fixture.connect())
    first.send(Self.line("one"))
    second.send(Self.line("two"))
    expect(pool.requests.count, equals: 1)
    second.leave()
    pool.answers = [.silence]
    fixture.advance(by: .seconds(10))
    expect(pool.requests.count == 1 && fixture.upstream.callCount == 0)
  }
}

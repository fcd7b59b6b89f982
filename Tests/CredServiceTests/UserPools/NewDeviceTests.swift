import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Devices that a pool gives to sign-ins: each has a secret, and none is left behind in the user's list.
final class NewDeviceTests {
  private typealias Pool = ScriptedPool

  private static let login = #"{"op":"login","username":"alice","password":"pass-word"}"#
  private static let confirmed = Pool.ok(#"{"UserConfirmationNecessary":true}"#)
  private static let ok = Pool.ok("{}")

  private func fixture(_ policy: String) throws -> (ServiceFixture, ScriptedPool) {
    let fixture = try ServiceFixture(
      Configured.scriptedPool(["default", "other"], backend: "remember_device = \(policy)"))
    return (fixture, ScriptedPool(fixture))
  }

  /// The end of a sign-in that brings a device.
  private func tokens(_ fixture: ServiceFixture, _ key: String) -> FakeHTTP.Answer {
    Pool.tokens(
      at: fixture.host.clock.wallTime,
      more: #","NewDeviceMetadata":{"DeviceKey":"us-east-1_\#(key)","DeviceGroupKey":"g"}"#)
  }

  private func remember(
    _ fixture: ServiceFixture, _ pool: ScriptedPool, _ remembered: Bool
  ) throws -> Reply {
    pool.answers = [Pool.tokens(at: fixture.host.clock.wallTime), Self.ok]
    return try fixture.ask(
      #"{"op":"account","action":"remember-device","remembered":\#(remembered)}"#)
  }

  /// The keys of devices in the requests of the next sign-in.
  private func keys(_ fixture: ServiceFixture, _ pool: ScriptedPool) throws -> Set<String?> {
    let before = pool.requests.count
    pool.answers = [Pool.verifier, Pool.tokens(at: fixture.host.clock.wallTime)]
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
    return Set(
      pool.requests[before...].map {
        ($0.json?["AuthParameters"] ?? $0.json?["ChallengeResponses"])?["DEVICE_KEY"]?.text
      })
  }

  @Test func aDeviceThatIsNotRememberedMayBeRememberedLater() throws {
    let (fixture, pool) = try fixture("no")
    pool.answers = [Pool.verifier, tokens(fixture, "0f"), Self.confirmed]
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
    expect(try keys(fixture, pool), equals: [nil])
    pool.answers = [Pool.verifier, tokens(fixture, "1f"), Self.confirmed, Self.ok]
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
    fixture.advance(by: .seconds(1))
    expect(try remember(fixture, pool, true).errorCode == nil)
    expect(try keys(fixture, pool).contains("us-east-1_1f"))
    // The sign-in without a new device keeps that of its tokens.
    pool.answers = [Pool.verifier, tokens(fixture, "2f"), Self.confirmed, Self.ok]
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
    fixture.advance(by: .seconds(1))
    expect(try remember(fixture, pool, false).errorCode == nil)
    expect(try keys(fixture, pool), equals: [nil])
  }

  @Test func aNewDeviceTakesThePlaceOfTheFormerOneAtThePool() throws {
    let (fixture, pool) = try fixture("no")
    pool.answers = [Pool.verifier, tokens(fixture, "0f"), Self.confirmed]
    _ = try fixture.ask(Self.login)
    expect(!pool.requests.contains { $0.operation == "ForgetDevice" })
    _ = try fixture.ask(#"{"op":"logout","revoke":false}"#)
    pool.answers = [Pool.verifier, tokens(fixture, "1f"), Self.confirmed, Self.ok]
    expect(try fixture.ask(Self.login).state, equals: "signedIn")
    fixture.advance(by: .seconds(1))
    let forgotten = pool.requests.filter { $0.operation == "ForgetDevice" }
    expect(forgotten.map { $0.json?["DeviceKey"]?.text }, equals: ["us-east-1_0f"])
  }

  @Test func aDeviceThatAnotherSessionNeedsStays() throws {
    let (fixture, pool) = try fixture("no")
    pool.answers = [Pool.verifier, tokens(fixture, "0f"), Self.confirmed]
    _ = try fixture.ask(Self.login)
    pool.answers = [Pool.verifier, tokens(fixture, "1f"), Self.confirmed, Self.ok]
    let other =
      #"{"op":"login","profile":"other","username":"alice","password":"pass-word"}"#
    expect(try fixture.ask(other).state, equals: "signedIn")
    fixture.advance(by: .seconds(1))
    expect(!pool.requests.contains { $0.operation == "ForgetDevice" })
  }

  @Test func aDeviceWithoutASecretIsNotRemembered() throws {
    let (fixture, pool) = try fixture("no")
    pool.answers = [Pool.verifier, tokens(fixture, "0f"), Self.confirmed]
    _ = try fixture.ask(Self.login)
    let session = try #require(
      fixture.service.sessions[SessionKey(uid: 1000, profile: "default")])
    fixture.service.owners.devices.forget(of: session, username: "alice")
    let count = pool.requests.count
    let reply = try remember(fixture, pool, true)
    expect(reply.errorCode, equals: "InvalidRequest")
    expect(reply.errorMessage?.contains("sign in again") == true, "\(reply)")
    expect(pool.requests.count, equals: count)
  }
}

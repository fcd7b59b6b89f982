import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Sign-ins by device code, in virtual time.
struct ProviderDeviceTests {
  @Test func aDeviceCodeIsAskedForWhileSomebodyWaits() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    provider.deviceErrors = ["authorization_pending", "slow_down", "authorization_pending"]
    let asked = try fixture.ask(FakeProvider.device)
    expect(asked["Challenge"]?["Step"]?.text, equals: "device")
    expect(asked["Challenge"]?["Parameters"]?["UserCode"]?.text, equals: "WDJB-MJHT")
    expect(asked["Challenge"]?["Answers"], equals: .array([]))
    // Nobody waits: nobody asks.
    fixture.advance(by: .seconds(30))
    expect(provider.forms.isEmpty)
    let client = fixture.connect()
    client.send(asked.waiting(100))
    fixture.advance(by: .seconds(5))
    expect(provider.forms.count, equals: 2)
    // Ten seconds from now on.
    fixture.advance(by: .seconds(9))
    expect(provider.forms.count, equals: 2)
    fixture.advance(by: .seconds(1))
    expect(provider.forms.count, equals: 3)
    fixture.advance(by: .seconds(10))
    expect(try client.next().state, equals: "signedIn")
    expect(try fixture.ask().accessKeyID != nil)
  }

  /// The discovery document and the code are two requests.
  @Test func eachRequestOfASignInTakesATurnOfTheRate() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider(
      Configured.provider(backend: "rate_limit = 1/s"))
    let client = fixture.connect()
    client.send(FakeProvider.device)
    expect(provider.operations, equals: ["openid-configuration"])
    fixture.advance(by: .seconds(1))
    expect(provider.operations, equals: ["openid-configuration", "device"])
    expect(try client.next()["Challenge"]?["Step"]?.text, equals: "device")
  }

  @Test func aWaitThatEndsGetsTheSameChallengeCountedDown() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    provider.deviceErrors = Array(repeating: "authorization_pending", count: 100)
    let asked = try fixture.ask(FakeProvider.device)
    let client = fixture.connect()
    client.send(asked.waiting(12))
    fixture.advance(by: .seconds(12))
    let again = try client.next()
    expect(again["Challenge"]?["Handle"], equals: asked["Challenge"]?["Handle"])
    let left = try #require(again["Challenge"]?["ExpiresIn"]?.integer)
    expect((586...588).contains(left))
    // A minute more, and then nobody is asked any more.
    fixture.advance(by: .seconds(60))
    let count = provider.forms.count
    fixture.advance(by: .seconds(120))
    expect(provider.forms.count, equals: count)
  }

  /// A program that asks and leaves does not let the provider be asked for long.
  @Test func aDeviceCodeIsAskedForAMinuteAfterItsClientLeft() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    provider.deviceErrors = Array(repeating: "authorization_pending", count: 100)
    let asked = try fixture.ask(FakeProvider.device)
    let client = fixture.connect()
    client.sendOnly(asked.waiting(300))
    fixture.advance(by: .seconds(10))
    client.leave()
    fixture.advance(by: .seconds(61))
    let count = provider.forms.count
    fixture.advance(by: .seconds(300))
    expect(count > 5 && provider.forms.count == count)
  }

  /// The user signs in elsewhere, and gives up here while the answer is on its way.
  @Test func tokensOfADeviceCodeThatWasGivenUpAreRevoked() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    let asked = try fixture.ask(FakeProvider.device)
    provider.delay = .seconds(2)
    let client = fixture.connect()
    client.send(asked.waiting(100))
    fixture.advance(by: .seconds(5))
    expect(provider.live.count == 1 && client.hasReadAll)
    let handle = asked.handle ?? ""
    _ = try fixture.ask(#"{"op":"respond","handle":"\#(handle)","cancel":true}"#)
    expect(try client.next().errorCode, equals: "SignInFailed")
    provider.delay = .zero
    fixture.advance(by: .seconds(5))
    expect(provider.live.isEmpty)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
  }

  /// The audit and the counters have it all the same.
  @Test(arguments: [true, false])
  func aSignInThatEndsWithNobodyWaitingIsRecorded(_ isRefused: Bool) throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    if isRefused { provider.deviceErrors = ["authorization_pending", "access_denied"] }
    let asked = try fixture.ask(FakeProvider.device)
    let client = fixture.connect()
    client.sendOnly(asked.waiting(300))
    fixture.advance(by: .seconds(1))
    client.leave()
    fixture.advance(by: .seconds(30))
    expect(
      try fixture.ask(#"{"op":"identity"}"#).state, equals: (isRefused ? "signedOut" : "signedIn"))
    let event = isRefused ? JournalEvent.signInRefused : .signedIn
    let entries = fixture.host.log.entries.filter {
      $0["message_id"] == event.rawValue && $0["means"] == "device"
    }
    expect(entries.count == 1 && entries.first?["uid"] == "1000")
    expect(entries.first?["username"], equals: (isRefused ? nil : "alice"))
  }

  @Test func aRefusedDeviceCodeEndsTheSignIn() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider()
    provider.deviceErrors = ["access_denied"]
    let asked = try fixture.ask(FakeProvider.device)
    let client = fixture.connect()
    client.send(asked.waiting(100))
    fixture.advance(by: .seconds(5))
    expect(try client.next().errorCode, equals: "SignInFailed")
    expect(fixture.service.openSignIns, equals: 0)
  }

  @Test func aProfileWithoutDeviceCodesSaysSo() throws {
    let (fixture, _) = try ServiceFixture.ofProvider(
      Configured.provider().replacing("browser paste device", with: "browser"))
    let reply = try fixture.ask(FakeProvider.device)
    expect(reply.errorCode, equals: "InvalidRequest")
    expect(reply.errorMessage?.contains("no sign-in by device") == true)
  }
}

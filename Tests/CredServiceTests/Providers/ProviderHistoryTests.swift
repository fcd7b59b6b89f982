import CredCore
import SeededRandom
import SimulationKit
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Random histories of a session at an OpenID Connect provider: sign-ins of two people by browser and by
/// device code, answers of other sign-ins, outages, lost replies, restarts and reloads, in virtual time.
struct ProviderHistoryTests {
  private enum Act: CaseIterable {
    case browser, device, otherPerson, otherPersonGoesAway, strayResponse, openSignIn, signOut, get,
      refresh, outage, throttle, emptyRefusal, uselessAnswer, loseReply, restart, reload, wait,
      waitLong,
      cancelledWait
  }

  /// What must be so after each act.
  private struct Expected {
    /// Nil: nobody is signed in.
    var user: String?
    /// A reply was lost, and the provider takes the former token no more: the session cannot be saved.
    var isLost = false
    var signIns = 0
  }

  @Test(arguments: 0..<UInt64(max(TestRounds.of(60), 6)))
  func noHistoryTakesAPersonForAnotherOrUsesATokenTwice(_ seed: UInt64) throws {
    var random: any RandomNumberGenerator = SeededGenerator(seed: seed)
    let text = Configured.provider()
    let fixture = try ServiceFixture(text)
    let provider = FakeProvider(fixture)
    provider.rotates = seed % 4 != 0
    provider.hasGrace = seed % 2 == 0
    var expected = Expected()
    var history: [Act] = []
    for _ in 0..<120 {
      guard let act = Act.allCases.randomElement(using: &random) else { return }
      history.append(act)
      try perform(act, fixture, provider, text, &expected)
      try check(fixture, provider, expected, "seed \(seed): \(history.suffix(12))")
    }
    expect(expected.signIns > 0)
    // Some minutes after the last fault, who is signed in gets credentials.
    provider.faults = [:]
    fixture.advance(by: .seconds(900))
    guard expected.user != nil, !expected.isLost else { return }
    expect(
      try fixture.ask(#"{"wait":60}"#).accessKeyID != nil, "seed \(seed): \(history.suffix(12))")
  }

  private static let login =
    #"{"op":"login","browser":{"redirect_uri":"http://127.0.0.1:4711/okta"}}"#

  private func perform(
    _ act: Act, _ fixture: ServiceFixture, _ provider: FakeProvider, _ text: String,
    _ expected: inout Expected
  ) throws {
    switch act {
    case .browser: try signIn(expected.user ?? "alice", fixture, provider, &expected)
    case .device: try signInByDevice(fixture, provider, &expected)
    case .otherPerson:
      try signIn(expected.user == "bob" ? "alice" : "bob", fixture, provider, &expected)
    case .otherPersonGoesAway:
      try signIn(
        expected.user == "bob" ? "alice" : "bob", confirms: false, fixture, provider, &expected)
    case .strayResponse:
      let asked = try fixture.ask(Self.login)
      _ = try fixture.ask(asked.response("response", "\"code=code-1&state=another\""))
    case .openSignIn: _ = try fixture.ask(Self.login)
    case .signOut:
      _ = try fixture.ask(#"{"op":"logout"}"#)
      expected = Expected(signIns: expected.signIns)
    case .get: _ = try fixture.ask(#"{"wait":1}"#)
    case .refresh: _ = try fixture.ask(#"{"refresh":true,"wait":5}"#)
    case .outage:
      provider.faults["token"] = [.failure(.connect), .reply(503, ""), .reply(200, "<html>")]
    case .throttle: provider.faults["token"] = [.reply(429, #"{"error":"slow_down"}"#)]
    case .emptyRefusal: provider.faults["token"] = [.reply(400, "")]
    case .uselessAnswer:
      provider.faults = [:]
      provider.moreClaims = #","azp":"another""#
      _ = try fixture.ask(#"{"refresh":true,"wait":5}"#)
      provider.moreClaims = ""
    case .loseReply: try loseReply(fixture, provider, &expected)
    case .restart: try fixture.restart(text)
    case .reload: try fixture.reload(text + "\n")
    case .wait: fixture.advance(by: .seconds(40))
    case .waitLong: fixture.advance(by: .seconds(3000))
    case .cancelledWait:
      let client = fixture.connect()
      client.sendOnly(#"{"refresh":true,"wait":5}"#)
      client.leave()
      fixture.advance(by: .seconds(10))
    }
  }

  private func signIn(
    _ user: String, confirms: Bool = true, _ fixture: ServiceFixture, _ provider: FakeProvider,
    _ expected: inout Expected
  ) throws {
    let asked = try fixture.ask(Self.login)
    provider.user = user
    try end(
      fixture.ask(asked.response("response", "\"\(provider.browse(asked))\"")), confirms: confirms,
      fixture, provider, &expected)
  }

  private func signInByDevice(
    _ fixture: ServiceFixture, _ provider: FakeProvider, _ expected: inout Expected
  ) throws {
    provider.user = expected.user ?? "bob"
    provider.deviceErrors = ["authorization_pending", "slow_down"]
    let asked = try fixture.ask(#"{"op":"login","device":true}"#)
    let client = fixture.connect()
    client.send(asked.waiting(60))
    fixture.advance(by: .seconds(60))
    try end(client.next(), confirms: true, fixture, provider, &expected)
    provider.deviceErrors = []
  }

  /// A question is asked just where somebody else would be replaced.
  private func end(
    _ reply: Reply, confirms: Bool, _ fixture: ServiceFixture, _ provider: FakeProvider,
    _ expected: inout Expected
  ) throws {
    var reply = reply
    if reply["Challenge"]?["Step"]?.text == "confirm" {
      expect(expected.user != nil && expected.user != provider.user)
      guard confirms else {
        let handle = reply["Challenge"]?["Handle"]?.text ?? ""
        _ = try fixture.ask(#"{"op":"respond","handle":"\#(handle)","cancel":true}"#)
        provider.user = expected.user ?? ""
        return
      }
      reply = try fixture.ask(reply.response("confirm", "true"))
    } else if reply.errorCode == nil, reply["Challenge"] == nil {
      expect(expected.user == nil || expected.user == provider.user)
    }
    guard reply.errorCode == nil, reply["Challenge"] == nil, reply.state == "signedIn" else {
      // A device code would be asked for on.
      if let handle = reply["Challenge"]?["Handle"]?.text {
        _ = try fixture.ask(#"{"op":"respond","handle":"\#(handle)","cancel":true}"#)
      }
      provider.user = expected.user ?? provider.user
      return
    }
    provider.misuses = 0
    expected = Expected(user: provider.user, signIns: expected.signIns + 1)
  }

  private func loseReply(
    _ fixture: ServiceFixture, _ provider: FakeProvider, _ expected: inout Expected
  ) throws {
    provider.faults = [:]
    let before = provider.forms.count
    provider.lostReplies = 1
    _ = try fixture.ask(#"{"refresh":true,"wait":5}"#)
    let wasUsed = provider.lostReplies == 0 && provider.forms.count > before
    if wasUsed, provider.rotates, !provider.hasGrace { expected.isLost = true }
    provider.lostReplies = 0
  }

  private func check(
    _ fixture: ServiceFixture, _ provider: FakeProvider, _ expected: Expected, _ history: String
  ) throws {
    let identity = try fixture.ask(#"{"op":"identity"}"#)
    guard let user = expected.user else {
      expect(identity.state, equals: "signedOut", "\(history)")
      return
    }
    expect(identity["Username"]?.text, equals: user, "\(history)")
    guard !expected.isLost else {
      expect(["signedIn", "tokensInvalid"].contains(identity.state ?? ""), "\(history)")
      return
    }
    expect(identity.state, equals: "signedIn", "\(history)")
    expect(provider.misuses, equals: 0, "\(history)")
    guard let session = fixture.service.sessions[SessionKey(uid: 1000, profile: "default")] else {
      return
    }
    let held = session.machine.state.providerSession?.refreshToken.exposedText() ?? ""
    expect(provider.live.contains(held), "\(history)")
  }
}

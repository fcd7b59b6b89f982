import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Attacks on sign-ins by browser and by device code. None ends in a session.
final class ProviderAttackTests {
  private static func login(_ profile: String = "default") -> String {
    let path = profile == "default" ? "okta" : profile
    return #"{"op":"login","profile":"\#(profile)","#
      + #""browser":{"redirect_uri":"http://127.0.0.1:4711/\#(path)"}}"#
  }

  private static let own = "require.email = {user}@example.com"

  /// Two providers, each with a profile of its own. One of them answers in the other's place.
  private static func twoProviders() -> String {
    Configured.provider() + """
      [backend evil]
      type = oidc
      issuer = https://moved.example.com/
      client_id = client-1
      redirect_uri = http://127.0.0.1/evil
      authorization_endpoint = https://moved.example.com/authorize
      token_endpoint = https://moved.example.com/token
      [profile evil]
      identity_pool_id = \(FakeUpstreams.pool)
      backend = evil
      cognito_endpoint = http://127.0.0.1:4599

      """
  }

  private func isSignedOut(
    _ fixture: ServiceFixture, _ profile: String = "default", uid: UInt32 = 1000
  )
    throws -> Bool
  {
    try fixture.ask(#"{"op":"identity","profile":"\#(profile)"}"#, uid: uid).state == "signedOut"
  }

  // MARK: Another provider's answer

  /// Mix-up (RFC 9700, 4.4): the honest provider's code must not go to the other one.
  @Test func aResponseThatNamesAnotherProviderGoesToNeither() throws {
    let fixture = try ServiceFixture(Self.twoProviders())
    let provider = FakeProvider(fixture)
    let asked = try fixture.ask(Self.login("evil"))
    let state = asked["Challenge"]?["Parameters"]?["State"]?.text ?? ""
    let response = "code=code-1&state=\(state)&iss=https%3A%2F%2Flogin.example.com%2F"
    let reply = try fixture.ask(asked.response("response", "\"\(response)\""))
    expect(reply.errorCode, equals: "SignInFailed", "\(reply)")
    expect(reply.errorMessage?.contains("issuer") == true)
    expect(provider.forms.isEmpty)
    expect(try isSignedOut(fixture, "evil"))
  }

  /// The state of one sign-in opens no other, though both wait at once.
  @Test func theStateOfOneProvidersSignInDoesNotFitTheOthers() throws {
    let fixture = try ServiceFixture(Self.twoProviders())
    let provider = FakeProvider(fixture)
    let honest = try fixture.ask(Self.login())
    let evil = try fixture.ask(Self.login("evil"))
    let response = provider.browse(honest)
    let reply = try fixture.ask(evil.response("response", "\"\(response)\""))
    expect(reply.errorCode, equals: "InvalidRequest")
    expect(provider.forms.isEmpty)
    expect(
      try fixture.ask(honest.response("response", "\"\(response)\"")).state, equals: "signedIn")
  }

  // MARK: Somebody else's beginning

  /// Sign-in CSRF: a stranger's code with the victim's state fails by its nonce, whatever the provider
  /// makes of the verifier.
  @Test func aStrangersCodeFailsByItsNonce() throws {
    let fixture = try ServiceFixture(Configured.provider())
    let provider = FakeProvider(fixture)
    let victim = try fixture.ask(Self.login())
    let state = victim["Challenge"]?["Parameters"]?["State"]?.text ?? ""
    // The stranger's sign-in is the later one: the provider gives its nonce.
    provider.user = "mallory"
    _ = provider.browse(try fixture.ask(Self.login(), uid: 1001))
    let response = "code=code-1&state=\(state)"
    let reply = try fixture.ask(victim.response("response", "\"\(response)\""))
    expect(reply.errorCode, equals: "TokenRejected", "\(reply)")
    expect(try isSignedOut(fixture))
  }

  @Test func nobodyWaitsForTheDeviceCodeOfAnotherUser() throws {
    let fixture = try ServiceFixture(Configured.provider())
    _ = FakeProvider(fixture)
    let alice = try fixture.ask(#"{"op":"login","device":true}"#)
    expect(try fixture.ask(alice.waiting(10), uid: 1001).errorCode, equals: "UnknownChallenge")
    let cancel =
      #"{"op":"respond","handle":"\#(alice["Challenge"]?["Handle"]?.text ?? "")","cancel":true}"#
    expect(try fixture.ask(cancel, uid: 1001).errorCode, equals: "UnknownChallenge")
    expect(fixture.service.openSignIns, equals: 1)
  }

  /// Phishing by a device code (RFC 8628, 5.4): alice types a code that bob began.
  @Test func aDeviceCodeThatAnotherPersonTypedSignsNobodyIn() throws {
    let fixture = try ServiceFixture(Configured.provider(backend: Self.own))
    let provider = FakeProvider(fixture)
    provider.user = "alice"
    let bob = try fixture.ask(#"{"op":"login","device":true}"#, uid: 1001)
    let client = fixture.connect(uid: 1001)
    client.send(bob.waiting(100))
    fixture.advance(by: .seconds(10))
    let reply = try client.next()
    expect(reply.errorCode, equals: "SignInFailed", "\(reply)")
    expect(reply.errorMessage?.contains("email") == true)
    expect(try isSignedOut(fixture, uid: 1001))
  }

  /// The browser is signed in as somebody else: the session stays.
  @Test func aBrowserOfAnotherPersonChangesNoSession() throws {
    let fixture = try ServiceFixture(Configured.provider(backend: Self.own))
    let provider = FakeProvider(fixture)
    let first = try fixture.ask(Self.login())
    expect(
      try fixture.ask(first.response("response", "\"\(provider.browse(first))\"")).state,
      equals: "signedIn")
    let key = try fixture.ask().accessKeyID
    provider.user = "bob"
    let second = try fixture.ask(Self.login())
    let reply = try fixture.ask(second.response("response", "\"\(provider.browse(second))\""))
    expect(reply.errorCode, equals: "SignInFailed")
    expect(try fixture.ask().accessKeyID, equals: key)
    expect(try fixture.ask(#"{"op":"identity"}"#)["Username"]?.text, equals: "alice")
  }

  /// An address that nobody has verified is nobody's.
  @Test(arguments: ["false", #""false""#, "null", "1", #""yes""#, nil])
  func anAddressThatIsNotVerifiedIsNobodys(_ verified: String?) throws {
    let fixture = try ServiceFixture(Configured.provider(backend: Self.own))
    let provider = FakeProvider(fixture)
    provider.emailVerified = verified
    let asked = try fixture.ask(Self.login())
    let reply = try fixture.ask(asked.response("response", "\"\(provider.browse(asked))\""))
    expect(reply.errorCode, equals: "SignInFailed", "\(reply)")
    expect(reply.errorMessage?.contains("email_verified") == true)
  }

  // MARK: An account that is the user's no more

  private static let staff = "require.groups = staff"

  private func signedIn(
    _ backend: String, _ claims: String = #","groups":["all","staff"]"#
  ) throws -> (fixture: ServiceFixture, provider: FakeProvider) {
    let fixture = try ServiceFixture(Configured.provider(backend: backend))
    let provider = FakeProvider(fixture)
    provider.moreClaims = claims
    let asked = try fixture.ask(Self.login())
    let reply = try fixture.ask(asked.response("response", "\"\(provider.browse(asked))\""))
    expect(reply.state, equals: "signedIn", "\(reply)")
    fixture.advance(by: .seconds(60))
    return (fixture, provider)
  }

  @Test func aClaimThatIsWithdrawnEndsTheSessionAtItsRenewal() throws {
    let (fixture, provider) = try signedIn(Self.staff)
    expect(try fixture.ask(#"{"refresh":true,"wait":5}"#).accessKeyID != nil)
    provider.moreClaims = #","groups":["all"]"#
    fixture.advance(by: .seconds(60))
    let reply = try fixture.ask(#"{"refresh":true,"wait":5}"#)
    expect(reply.errorCode, equals: "SignInRequired", "\(reply)")
    expect(reply.errorMessage?.contains("groups") == true)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "tokensInvalid")
  }

  /// A renewed token may leave claims out.
  @Test func aClaimThatARenewalLeavesOutEndsNothing() throws {
    let (fixture, provider) = try signedIn(Self.staff)
    provider.moreClaims = ""
    expect(try fixture.ask(#"{"refresh":true,"wait":5}"#).accessKeyID != nil)
  }

  @Test func aClaimThatAReloadRequiresEndsOthersSessionsAtTheirRenewal() throws {
    let (fixture, _) = try signedIn("")
    try fixture.reload(Configured.provider(backend: "require.email = {user}@other.example"))
    let reply = try fixture.ask(#"{"refresh":true,"wait":5}"#)
    expect(reply.errorCode, equals: "SignInRequired", "\(reply)")
    let (own, _) = try signedIn("")
    try own.reload(Configured.provider(backend: Self.own))
    expect(try own.ask(#"{"refresh":true,"wait":5}"#).accessKeyID != nil)
  }

  // MARK: Tokens that nobody gets

  @Test func theTokensOfAnAccountThatIsNotTheUsersAreRevoked() throws {
    let fixture = try ServiceFixture(Configured.provider(backend: Self.own))
    let provider = FakeProvider(fixture)
    provider.user = "mallory"
    let asked = try fixture.ask(Self.login())
    _ = try fixture.ask(asked.response("response", "\"\(provider.browse(asked))\""))
    fixture.advance(by: .seconds(1))
    expect(provider.operations.last, equals: "revoke")
    expect(provider.live.isEmpty)
  }

  private enum End: CaseIterable {
    case cancel, time, otherSignIn, logout, reload
  }

  /// The user did not say yes: the other account's tokens end there, and the session's do not.
  @Test(arguments: End.allCases) private func whatIsNotConfirmedIsRevoked(_ end: End) throws {
    let (fixture, provider) = try signedIn("", "")
    provider.user = "bob"
    let second = try fixture.ask(Self.login())
    let asked = try fixture.ask(second.response("response", "\"\(provider.browse(second))\""))
    expect(asked["Challenge"]?["Step"]?.text, equals: "confirm")
    expect(provider.live, equals: ["refresh-1", "refresh-2"])
    switch end {
    case .cancel:
      let handle = asked["Challenge"]?["Handle"]?.text ?? ""
      _ = try fixture.ask(#"{"op":"respond","handle":"\#(handle)","cancel":true}"#)
    case .time: fixture.advance(by: .seconds(200))
    case .otherSignIn: _ = try fixture.ask(Self.login())
    case .logout: _ = try fixture.ask(#"{"op":"logout"}"#)
    case .reload: try fixture.reload(Configured.provider(backend: "require.hd = example.com"))
    }
    fixture.advance(by: .seconds(1))
    expect(provider.live, equals: (end == .logout ? [] : ["refresh-1"]))
  }

  // MARK: Guessing

  @Test func wrongResponsesOfEveryKindEndNothingAndBurnNoCode() throws {
    let fixture = try ServiceFixture(Configured.provider())
    let provider = FakeProvider(fixture)
    let asked = try fixture.ask(Self.login())
    let state = asked["Challenge"]?["Parameters"]?["State"]?.text ?? ""
    for response in [
      "state=", "state=x", "code=code-1", "state=\(state.dropLast())", "state=\(state)a",
      "state=\(state)&state=\(state)", "?state", "&&&", "%", "code=%zz&state=\(state)%",
    ] {
      let reply = try fixture.ask(asked.response("response", "\"\(response)\""))
      expect(reply.errorCode, equals: "InvalidRequest", "\(response): \(reply)")
    }
    expect(provider.forms.isEmpty)
    expect(
      try fixture.ask(asked.response("response", "\"\(provider.browse(asked))\"")).state,
      equals: "signedIn")
  }

  @Test func aResponseThatWasUsedIsOfNoUseAgain() throws {
    let fixture = try ServiceFixture(Configured.provider())
    let provider = FakeProvider(fixture)
    let asked = try fixture.ask(Self.login())
    let response = asked.response("response", "\"\(provider.browse(asked))\"")
    expect(try fixture.ask(response).state, equals: "signedIn")
    expect(try fixture.ask(response).errorCode, equals: "UnknownChallenge")
    let next = try fixture.ask(Self.login())
    let replay = next.response(
      "response", "\"code=code-1&state=\(asked["Challenge"]?["Parameters"]?["State"]?.text ?? "")\""
    )
    expect(try fixture.ask(replay).errorCode, equals: "InvalidRequest")
    expect(provider.forms.count, equals: 1)
  }
}

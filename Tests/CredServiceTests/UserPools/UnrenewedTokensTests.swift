import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A provider that gives no refresh token: what came with the sign-in serves to its end, an hour later, and
/// nothing ends it before.
struct UnrenewedTokensTests {
  private static let token = #"{"op":"token"}"#
  private static let tokensAlone = Configured.provider(profile: "vend_tokens = id access")
    .replacing("identity_pool_id = \(FakeUpstreams.pool)\n", with: "")
    .replacing("cognito_endpoint = http://127.0.0.1:4599\n", with: "")

  private func fixture(
    _ text: String = tokensAlone
  ) throws -> (ServiceFixture, FakeProvider) {
    let (fixture, provider) = try ServiceFixture.ofProvider(text)
    provider.givesRefreshTokens = false
    expect(try fixture.signInAtProvider(provider).state, equals: "signedIn")
    return (fixture, provider)
  }

  private func state(_ fixture: ServiceFixture) throws -> String? {
    try fixture.ask(#"{"op":"identity"}"#).state
  }

  /// Nobody asks the provider for what it cannot give.
  private func expectNoRenewal(_ provider: FakeProvider) {
    // `check` asks the token endpoint for nothing.
    expect(provider.forms.compactMap { $0["grant_type"] }, equals: ["authorization_code"])
  }

  @Test(arguments: ["", "\nkeep_warm = yes"])
  func theyServeToTheirEnd(_ more: String) throws {
    let (fixture, provider) = try fixture(
      Self.tokensAlone.replacing("id access", with: "id access\(more)"))
    let first = try fixture.ask(Self.token)["Token"]
    for _ in 0..<58 {
      fixture.advance(by: .seconds(60))
      expect(try fixture.ask(Self.token)["Token"], equals: first)
    }
    expect(try state(fixture), equals: "signedIn")
    let session = try #require(try fixture.status())
    expect(session["NextRefresh"] == nil || session["NextRefresh"] == .null, "\(session)")
    fixture.advance(by: .seconds(180))
    let late = try fixture.ask(#"{"op":"token","wait":1}"#)
    expect(late.errorCode, equals: "SignInRequired", "\(late)")
    expectNoRenewal(provider)
  }

  @Test(arguments: [
    #"{"op":"token","refresh":true,"wait":1}"#, #"{"op":"token","min_ttl":3500,"wait":1}"#,
    #"{"op":"token","kind":"access","refresh":true,"wait":1}"#,
  ])
  func whoWantsAnotherOneIsToldAndTakesNothingAway(_ line: String) throws {
    let (fixture, provider) = try fixture()
    let first = try fixture.ask(Self.token)["Token"]
    fixture.advance(by: .seconds(600))
    let reply = try fixture.ask(line)
    expect(reply.errorCode, equals: "SignInRequired", "\(reply)")
    expect(reply.errorMessage?.contains("gave no refresh token") == true, "\(reply)")
    expect(try fixture.ask(Self.token)["Token"], equals: first)
    expect(try state(fixture), equals: "signedIn")
    expectNoRenewal(provider)
  }

  @Test func aCheckSaysSoAndChangesNothing() throws {
    let (fixture, provider) = try fixture()
    fixture.advance(by: .seconds(120))
    let reply = try fixture.ask(#"{"op":"check"}"#)
    guard case .array(let steps)? = reply["Steps"] else { return expect(Bool(false), "\(reply)") }
    let detail = steps.last?["Detail"]?.text ?? ""
    expect(detail.hasPrefix("signed in until 20"), "\(detail)")
    expect(detail.contains("gave no refresh token"), "\(detail)")
    expect(reply["Ok"]?.bool, equals: true)
    expect(try fixture.ask(Self.token)["Token"] != nil)
    expectNoRenewal(provider)
  }

  /// The ID token is good for further credentials.
  @Test(arguments: [#"{"refresh":true,"wait":1}"#, #"{"op":"check"}"#])
  func whereThereIsAPoolTheyBringNewCredentials(_ line: String) throws {
    let (fixture, provider) = try fixture(Configured.provider(profile: "vend_tokens = id"))
    let first = try fixture.ask().accessKeyID
    fixture.advance(by: .seconds(600))
    let reply = try fixture.ask(line)
    expect(reply.errorCode == nil && reply["Ok"]?.bool ?? true, "\(reply)")
    expect(try fixture.ask().accessKeyID != first)
    let token = try fixture.ask(#"{"op":"token","refresh":true,"wait":1}"#)
    expect(token.errorCode, equals: "SignInRequired", "\(token)")
    expect(try fixture.ask(Self.token)["Token"] != nil)
    expect(try state(fixture), equals: "signedIn")
    expectNoRenewal(provider)
  }

  /// Nobody asks for anything: the session says by itself that it cannot go on.
  @Test(arguments: [tokensAlone, Configured.provider()])
  func itsEndIsAnnounced(_ text: String) throws {
    let (fixture, provider) = try fixture(text)
    let watcher = fixture.connect()
    let begin = try watcher.ask(#"{"op":"watch","profile":"default"}"#)
    expect(begin["SignedInUntil"]?.text != nil, "\(begin)")
    for _ in 0..<58 { fixture.advance(by: .seconds(60)) }
    expect(try state(fixture), equals: "signedIn")
    expect(try fixture.ask(#"{"op":"identity"}"#)["SignedInUntil"], equals: begin["SignedInUntil"])
    fixture.advance(by: .seconds(120))
    let last = try #require(watcher.replies.last { $0["Event"]?.text == "state" })
    expect(last.state, equals: "tokensInvalid")
    expect(last["Username"]?.text, equals: "alice")
    fixture.advance(by: .seconds(600))
    let late = try fixture.ask(#"{"op":"token","kind":"id","wait":1}"#)
    if text == Self.tokensAlone {
      expect(late.errorMessage?.contains("must have offline_access") == true, "\(late)")
    }
    expectNoRenewal(provider)
  }

  /// A profile for tokens alone has no identity whose change would tell it.
  @Test func aSecondPersonIsAnnounced() throws {
    let (fixture, provider) = try fixture()
    let watcher = fixture.connect()
    watcher.send(#"{"op":"watch","profile":"default"}"#)
    provider.user = "bob"
    let asked = try fixture.signInAtProvider(provider)
    expect(try fixture.ask(asked.response("confirm", "true")).state, equals: "signedIn")
    let states = watcher.replies.filter { $0["Event"]?.text == "state" }
    expect(states.map { $0["Username"]?.text }, equals: ["alice", "bob"])
  }

  /// Of a provider that told no lifetime somebody is signed in, too, and `check` renews that session.
  @Test func aCheckRenewsWhatNothingRenewsByItself() throws {
    let (fixture, provider) = try ServiceFixture.ofProvider(Self.tokensAlone)
    provider.tellsLifetime = false
    provider.idTokenLife = 20
    expect(try fixture.signInAtProvider(provider).state, equals: "signedIn")
    let reply = try fixture.ask(#"{"op":"check"}"#)
    expect(!reply.text.contains("nobody is signed in"), "\(reply)")
    expect(provider.forms.last?["grant_type"], equals: "refresh_token", "\(reply)")
  }
}

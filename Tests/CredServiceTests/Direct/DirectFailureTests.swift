import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Names that STS would not take, what IAM refuses, and what is derived from a direct profile.
struct DirectFailureTests: DirectTesting {
  private static let named = text("role_session_name = {user}-{claim.email}")

  @Test(arguments: [nil, "false"])
  func aSignInWithoutAVerifiedAddressIsRefusedBeforeAnyCall(_ verified: String?) throws {
    let (fixture, provider) = try fixture(Self.named)
    provider.emailVerified = verified
    let reply = try fixture.signInAtProvider(provider)
    expect(reply.errorCode, equals: "AccessDenied", "\(reply)")
    expect(reply.errorMessage?.contains("role_session_name") ?? false, "\(reply)")
    expect(reply.errorMessage?.contains("email_verified") ?? false, "\(reply)")
    expect(calls(fixture), equals: 0)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
    // Nobody has the tokens.
    expect(provider.operations.last, equals: "revoke")
  }

  @Test(arguments: [
    ("{claim.oid}", "\\\"oid\\\""), ("{claim.note}", "{claim.note}"),
    ("{claim.email}{claim.email}{claim.email}{claim.email}", "2 to 64"),
  ])
  func aClaimThatIsMissingOrDoesNotFitRefusesTheSignIn(_ name: String, _ said: String) throws {
    let (fixture, provider) = try fixture(Self.text("role_session_name = \(name)"))
    provider.moreClaims = #","note":"a note with blanks""#
    let reply = try fixture.signInAtProvider(provider)
    expect(reply.errorCode, equals: "AccessDenied", "\(reply)")
    expect(reply.text.contains("role_session_name") && reply.text.contains(said), "\(reply)")
    expect(!reply.text.contains("a note with blanks"))
    expect(calls(fixture), equals: 0)
  }

  @Test func aRenewalWithoutTheClaimNamesIt() throws {
    let (fixture, provider) = try signedIn(Self.named)
    let key = try fixture.ask().accessKeyID
    let before = calls(fixture)
    provider.emailVerified = nil
    fixture.advance(by: .seconds(60))
    let reply = try fixture.ask(#"{"refresh":true,"wait":5}"#)
    expect(reply.errorMessage?.contains("{claim.email}") ?? false, "\(reply)")
    expect(calls(fixture), equals: before)
    // What is valid is still given, and nobody is signed out.
    expect(try fixture.ask().accessKeyID, equals: key)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
  }

  @Test(arguments: [
    (
      "InvalidIdentityToken", "No OpenIDConnect provider found in your account for https://x", "IAM"
    ),
    ("InvalidIdentityToken", "Incorrect token audience", "client_id"),
    ("AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity", "trust policy"),
  ])
  func whatIsWrongInIAMSaysWhatToSetThere(
    _ code: String, _ message: String, _ advice: String
  ) throws {
    let (fixture, provider) = try fixture()
    refuse(fixture, code, message)
    let reply = try fixture.signInAtProvider(provider)
    expect(reply.errorCode, equals: "PoolMisconfigured", "\(reply)")
    for text in [code, message, advice] {
      expect(reply.errorMessage?.contains(text) ?? false, "\(reply)")
    }
    // A new token would be refused too.
    expect(calls(fixture), equals: 1)
    // The provider has accepted the user.
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
    fixture.host.upstreams.faults = [:]
    fixture.advance(by: .seconds(400))
    expect(try fixture.ask().accessKeyID != nil)
  }

  @Test func anExpiredTokenIsReplacedOnce() throws {
    let (fixture, _) = try signedIn()
    fixture.advance(by: .seconds(60))
    refuse(fixture, "ExpiredTokenException", "Token expired", count: 1)
    expect(try fixture.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    let tokens = forms(fixture).suffix(2).compactMap { $0["WebIdentityToken"] }
    expect(tokens.count == 2 && tokens[0] != tokens[1])
    refuse(fixture, "ExpiredTokenException", "Token expired")
    fixture.advance(by: .seconds(60))
    let before = calls(fixture)
    expect(
      try fixture.ask(#"{"refresh":true,"wait":1}"#).errorCode, equals: "TokenRejected")
    expect(calls(fixture), equals: before + 2)
  }

  @Test func anIssuerThatSTSDoesNotReachIsTriedAgain() throws {
    let (fixture, _) = try signedIn()
    fixture.advance(by: .seconds(60))
    refuse(fixture, "IDPCommunicationError", "Could not reach the issuer", count: 1)
    expect(try fixture.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
  }

  // MARK: As a source

  private static let derived =
    "[profile narrow]\nsource_profile = default\npolicy_file = \(policyPath)\n"
  private static let narrow = #"{"profile":"narrow"}"#

  @Test func aProfileMayBeDerivedFromIt() throws {
    let (fixture, _) = try signedIn(Self.text(more: Self.derived))
    let key = try #require(try fixture.ask(Self.narrow).accessKeyID)
    let sts = fixture.host.upstreams.sts
    expect(sts.keys[key]?.policies, equals: [Self.policy(for: "alice")])
    // STS named the session, so another one is noticed.
    sts.lie = .otherSession
    fixture.advance(by: .seconds(60))
    let reply = try fixture.ask(#"{"profile":"narrow","refresh":true,"wait":5}"#)
    expect(reply["Error"]?["Reason"]?.text, equals: "AnswerRefused", "\(reply)")
  }

  @Test func whatWasDerivedGoesWithTheUserOfItsSource() throws {
    let (fixture, provider) = try signedIn(Self.text(more: Self.derived))
    let key = try #require(try fixture.ask(Self.narrow).accessKeyID)
    provider.user = "bob"
    fixture.host.upstreams.delays["AssumeRoleWithWebIdentity"] = .seconds(1)
    let asked = try fixture.ask(FakeProvider.login)
    let confirm = try fixture.ask(
      asked.response("response", "\"\(provider.browse(asked))\""))
    _ = try fixture.ask(confirm.response("confirm", "true"))
    expect(try fixture.ask(#"{"profile":"narrow","wait":60}"#).accessKeyID != key)
  }

  /// What the source still has is the former person's, and nothing is derived from it.
  @Test func anotherPersonsTokenInTheFileEndsWhatWasDerived() throws {
    let path = "/run/token"
    let host = FakeHost()
    host.queries.files = [
      Self.policyPath: Self.policy(for: "{user}"), path: SampleJWT.text(#"{"sub":"a"}"#),
    ]
    let fixture = try ServiceFixture(
      "[profile default]\nflow = direct\nregion = eu-west-1\nrole_arn = \(Self.role)\n"
        + "web_identity_token_file = \(path)\n" + Self.derived, host: host)
    let key = try #require(try fixture.ask(Self.narrow).accessKeyID)
    host.queries.files[path] = SampleJWT.text(#"{"sub":"b"}"#)
    host.upstreams.faults["AssumeRoleWithWebIdentity"] = .status(503)
    fixture.advance(by: .seconds(60))
    _ = try fixture.ask(#"{"refresh":true,"wait":1}"#)
    expect(try fixture.ask(#"{"profile":"narrow","wait":1}"#).accessKeyID, equals: nil)
    host.upstreams.faults = [:]
    fixture.advance(by: .seconds(400))
    let next = try #require(try fixture.ask(#"{"profile":"narrow","wait":60}"#).accessKeyID)
    expect(next != key)
  }
}

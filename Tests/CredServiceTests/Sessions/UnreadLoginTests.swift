import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Tokens without a subject that can be read: only Cognito can say whose they are.
struct UnreadLoginTests: ProviderLoginTesting {
  /// An assertion may have the role that the login names, and no other token has it.
  @Test func theRoleGoesWithAnAssertionAlone() throws {
    let saml = "arn:aws:iam::123456789012:saml-provider/corp"
    let role = "arn:aws:iam::123456789012:role/engineer"
    for (provider, sent) in [(Self.facebook, nil), (saml, role)] {
      let fixture = try ServiceFixture(Self.withoutBackend)
      let former = [(Self.google, Self.token("p1")), (provider, "opaque-1")]
      expect(try fixture.ask(login(former)).state, equals: "signedIn")
      let before = fixture.host.http.requests.count
      let reply = try fixture.ask(
        login([(provider, "opaque-2")], #","custom_role_arn":"\#(role)""#))
      expect(reply.state, equals: "signedIn", "\(reply)")
      let calls = fixture.host.http.requests.dropFirst(before).compactMap(\.json)
      expect(calls.map { $0["CustomRoleArn"]?.text }, equals: [sent, role])
    }
  }

  /// Nobody knows whether it is the person of the other one.
  @Test func besideAnotherPersonTheyGoByThemselvesToo() throws {
    let fixture = try fixtureWithFacebook()
    let asked = try fixture.ask(
      login([(Self.google, Self.token("p2")), (Self.facebook, "opaque-2")]))
    let before = fixture.host.http.requests.count
    expect(try fixture.ask(asked.response("confirm", "true")).state, equals: "signedIn")
    let first = sent(fixture, after: before).first
    expect(first?[Self.facebook]?.text, equals: "opaque-2")
    expect(first?[Self.google] == nil)
  }

  /// GetId of all together would link them.
  @Test func withoutAnIdentityTheOthersSayWhoseItIs() throws {
    let fixture = try fixtureWithoutIdentity([
      (Self.google, Self.token("p1")), (Self.facebook, "opaque-1"),
    ])
    let before = fixture.host.http.requests.count
    expect(try fixture.ask(login([(Self.facebook, "opaque-2")])).state, equals: "signedIn")
    let calls = fixture.host.http.requests.dropFirst(before)
    expect(
      calls.map(\.operation),
      equals: ["GetId", "GetCredentialsForIdentity", "GetCredentialsForIdentity"])
    let logins = sent(fixture, after: before)
    expect(logins.first?[Self.facebook] == nil && logins.first?[Self.google] != nil)
    expect(logins.dropFirst().first?[Self.google] == nil)
  }

  /// Cognito answers for the identity's own logins alone.
  private func refuse(_ token: String, _ fixture: ServiceFixture) {
    let usual = fixture.host.http.answer
    fixture.host.http.answer = { request in
      let logins = request.json?["Logins"]
      guard request.operation == "GetCredentialsForIdentity",
        logins?[Self.facebook]?.text == token, logins?[Self.google] == nil
      else { return usual(request) }
      return .reply(
        400,
        #"{"__type":"NotAuthorizedException","message":"Logins don't match. Please include at "#
          + #"least one valid login for this identity or identity pool."}"#)
    }
  }

  private func fixtureWithFacebook() throws -> ServiceFixture {
    let fixture = try ServiceFixture(Self.withoutBackend)
    _ = try fixture.ask(login([(Self.google, Self.token("p1")), (Self.facebook, "opaque-1")]))
    return fixture
  }

  /// Nobody can read whose it is, so Cognito is asked, with nothing beside it that it could be linked to.
  @Test func aTokenWithoutASubjectGoesToCognitoByItselfFirst() throws {
    let fixture = try fixtureWithFacebook()
    let before = fixture.host.http.requests.count
    expect(try fixture.ask(login([(Self.facebook, "opaque-2")])).state, equals: "signedIn")
    let logins = sent(fixture, after: before)
    expect(logins.count, equals: 2)
    expect(logins.first?[Self.facebook]?.text, equals: "opaque-2")
    expect(logins.first?[Self.google] == nil)
    expect(logins.last?[Self.google]?.text, equals: Self.token("p1"))
  }

  @Test func oneThatIsNotTheIdentitysIsNotLinked() throws {
    let fixture = try fixtureWithFacebook()
    refuse("opaque-2", fixture)
    let identity = try fixture.ask(#"{"op":"identity"}"#)["IdentityId"]?.text
    let before = fixture.host.http.requests.count
    let reply = try fixture.ask(login([(Self.facebook, "opaque-2")]))
    expect(reply.errorCode, equals: "SignInFailed", "\(reply)")
    expect(reply.errorMessage?.contains(Self.facebook) == true)
    expect(sent(fixture, after: before).count, equals: 1)
    expect(try fixture.ask(#"{"op":"identity"}"#)["IdentityId"]?.text, equals: identity)
    fixture.advance(by: .seconds(60))
    _ = try fixture.ask(#"{"refresh":true}"#)
    expect(sent(fixture, after: before).last?[Self.facebook]?.text, equals: "opaque-1")
  }

  @Test func besideASignInAtAPoolTheyGoByThemselvesToo() throws {
    let (fixture, _) = try ServiceFixture.ofUserPool()
    try fixture.signInAtPool()
    _ = try fixture.ask(login([(Self.facebook, "opaque-1")]))
    let before = fixture.host.http.requests.count
    expect(try fixture.ask(login([(Self.facebook, "opaque-2")])).state, equals: "signedIn")
    let logins = sent(fixture, after: before)
    expect(logins.count, equals: 2, "\(logins)")
    guard case .object(let first)? = logins.first, case .object(let last)? = logins.last else {
      throw InvalidInput(field: "Logins", reason: "are missing")
    }
    expect(first.map(\.key), equals: [Self.facebook])
    expect(last.count, equals: 2)
  }
}

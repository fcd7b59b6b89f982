import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Sessions without an identity pool: STS takes the provider's own ID token.
struct DirectSessionTests: DirectTesting {
  @Test func theIDTokenAloneGetsTheRole() throws {
    let (fixture, _) = try signedIn(
      Self.text(
        "duration = 2h\npolicy_file = \(Self.policyPath)\nrole_session_name = {claim.email}"))
    let reply = try fixture.ask()
    expect(reply.accessKeyID != nil, "\(reply)")
    expect(reply["AccountId"]?.text, equals: "123456789012")
    let form = try #require(forms(fixture).last)
    expect(form["RoleArn"], equals: Self.role)
    expect(form["RoleSessionName"], equals: "alice@example.com")
    expect(form["DurationSeconds"], equals: "7200")
    expect(form["Policy"], equals: Self.policy(for: "alice"))
    expect(FakeProvider.claims(of: form["WebIdentityToken"] ?? "")?["sub"]?.text, equals: "s-alice")
    expect(
      fixture.host.http.requests.last?.url, equals: "https://sts.eu-west-1.amazonaws.com/")
    for operation in ["GetId", "GetOpenIdToken", "GetCredentialsForIdentity"] {
      expect(fixture.host.upstreams.calls(operation), equals: 0)
    }
  }

  @Test func identityNamesTheRoleAndNoIdentity() throws {
    let (fixture, _) = try signedIn()
    let reply = try fixture.ask(#"{"op":"identity"}"#)
    expect(reply.state, equals: "signedIn")
    expect(reply["RoleArn"]?.text, equals: Self.role)
    expect(reply["IdentityId"] == nil && reply["Source"] == nil, "\(reply)")
    expect(reply["SignedInBy"]?.text, equals: "oidc")
    expect(try fixture.status()?["RoleArn"]?.text, equals: Self.role)
  }

  @Test func aRenewalTakesANewIDToken() throws {
    let (fixture, _) = try signedIn()
    let first = try fixture.ask().accessKeyID
    fixture.advance(by: .seconds(60))
    expect(try fixture.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != first)
    let tokens = forms(fixture).compactMap { $0["WebIdentityToken"] }
    expect(tokens.count == 2 && tokens[0] != tokens[1])
    // In use, it is renewed by itself.
    fixture.advance(by: .seconds(10))
    _ = try fixture.ask()
    fixture.advance(by: .seconds(2100))
    expect(calls(fixture), equals: 3)
  }

  @Test func itOutlivesARestart() throws {
    let (fixture, _) = try signedIn()
    let key = try fixture.ask().accessKeyID
    try fixture.restart(Self.text())
    expect(try fixture.ask().accessKeyID, equals: key)
    expect(calls(fixture), equals: 1)
  }

  @Test func anotherUserGetsNothingOfTheFormer() throws {
    let (fixture, provider) = try signedIn()
    let key = try fixture.ask().accessKeyID
    provider.user = "bob"
    let asked = try fixture.ask(FakeProvider.login)
    let confirm = try fixture.ask(
      asked.response("response", "\"\(provider.browse(asked))\""))
    _ = try fixture.ask(confirm.response("confirm", "true"))
    expect(try fixture.ask().accessKeyID != key)
    let last = forms(fixture).last?["WebIdentityToken"] ?? ""
    expect(FakeProvider.claims(of: last)?["sub"]?.text, equals: "s-bob")
  }

  @Test func whatIsForIdentityPoolsIsRefused() throws {
    let (fixture, _) = try signedIn(Self.text("vend_tokens = id"))
    let before = fixture.host.http.requests.count
    for more in [
      #""logins":{"accounts.google.com":"x.y.z"}"#,
      #""identity_id":"us-east-1:00000000-1111-2222-3333-000000000001","token":"x.y.z""#,
      #""device":true,"custom_role_arn":"\#(Self.role)""#,
    ] {
      let reply = try fixture.ask(#"{"op":"login",\#(more)}"#)
      expect(reply.errorCode, equals: "InvalidRequest", "\(reply)")
    }
    let token = try fixture.ask(#"{"op":"token","kind":"developer"}"#)
    expect(token.errorCode, equals: "InvalidRequest", "\(token)")
    expect(fixture.host.http.requests.count, equals: before)
    expect(try fixture.ask(#"{"op":"token","kind":"id"}"#)["Token"] != nil)
  }

  @Test func aReloadWithOtherBytesOfThePolicyGetsOtherCredentials() throws {
    let text = Self.text("policy_file = \(Self.policyPath)")
    let (fixture, _) = try signedIn(text)
    let key = try fixture.ask().accessKeyID
    try fixture.reload(text)
    expect(try fixture.ask().accessKeyID, equals: key)
    fixture.host.queries.files[Self.policyPath] = Self.policy("s3:ListBucket", for: "{uid}")
    try fixture.reload(text)
    expect(try fixture.ask().accessKeyID != key)
    expect(forms(fixture).last?["Policy"], equals: Self.policy("s3:ListBucket", for: "1000"))
  }

  @Test func aTokenFileIsReadForEachCall() throws {
    let path = "/run/token"
    let text =
      "[profile default]\nflow = direct\nregion = eu-west-1\nrole_arn = \(Self.role)\n"
      + "web_identity_token_file = \(path)\n"
    let fixture = try ServiceFixture(text)
    fixture.host.queries.files[path] = SampleJWT.text(#"{"sub":"a"}"#)
    let key = try fixture.ask().accessKeyID
    expect(key != nil)
    expect(try fixture.ask(#"{"op":"identity"}"#)["SignedInBy"]?.text, equals: "logins")
    let next = SampleJWT.text(#"{"sub":"a","n":2}"#)
    fixture.host.queries.files[path] = next
    fixture.advance(by: .seconds(60))
    expect(try fixture.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != key)
    expect(forms(fixture).last?["WebIdentityToken"], equals: next)
    expect(
      try fixture.ask(#"{"op":"token","kind":"developer"}"#).errorCode, equals: "InvalidRequest")
    expect(
      try fixture.ask(#"{"op":"login","logins":{"accounts.google.com":"x.y.z"}}"#).errorCode,
      equals: "InvalidRequest")
  }
}

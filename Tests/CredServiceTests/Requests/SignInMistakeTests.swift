import CredCore
import Logging
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// What a user mistypes at a `login` is the user's own to mend, and no administrator's.
struct SignInMistakeTests {
  private static let sample = """
    [backend corp]
    type = aws-sample
    url = http://127.0.0.1
    app_name = app

    """ + Configured.profile("default")

  private static let withoutBackend = """
    [profile default]
    identity_pool_id = \(FakeUpstreams.pool)
    cognito_endpoint = http://127.0.0.1:4599

    """

  private static let chosen = "us-east-1:99999999-1111-2222-3333-444444444444"
  private static let role = "arn:aws:iam::123456789012:role/engineer"

  private func isTheUsers(_ reply: Reply, _ part: String, _ fixture: ServiceFixture) {
    expect(reply.errorCode, equals: "SignInFailed", "\(reply)")
    expect(reply["Error"]?["Kind"]?.text, equals: "signIn")
    expect(reply.errorMessage?.contains(part) == true, "\(reply)")
    // Nobody is woken for it.
    let levels = fixture.host.log.entries.map(\.level)
    expect(!levels.contains(.error) && !levels.contains(.warning), "\(fixture.host.log.entries)")
  }

  @Test(arguments: [
    ("ResourceNotFoundException", "Identity not found."),
    ("NotAuthorizedException", "Logins don't match. Please include at least one valid login."),
    ("NotAuthorizedException", "Access to Identity 'x' is forbidden."),
    ("ResourceConflictException", "Logins are already linked to another account."),
  ])
  func anIdentityThatIsNotThatOfTheTokens(_ name: String, _ text: String) throws {
    for login in [
      #""logins":{"accounts.google.com":"t"},"identity_id":"\#(Self.chosen)""#,
      #""token":"opaque","identity_id":"\#(Self.chosen)""#,
    ] {
      let fixture = try ServiceFixture(Self.withoutBackend)
      fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(
        400, #"{"__type":"\#(name)","message":"\#(text)"}"#)
      isTheUsers(try fixture.ask(#"{"op":"login",\#(login)}"#), "identity_id", fixture)
    }
  }

  @Test func aRoleThatTheAssertionLacks() throws {
    let fixture = try ServiceFixture(Self.withoutBackend)
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(
      400, #"{"__type":"NotAuthorizedException","message":"Access to Role 'x' is forbidden."}"#)
    let login =
      #"{"op":"login","logins":{"accounts.google.com":"t"},"custom_role_arn":"\#(Self.role)"}"#
    isTheUsers(try fixture.ask(login), "custom_role_arn", fixture)
  }

  /// The role was good at the sign-in, and is the user's own choice until the next one.
  @Test func aRoleThatIsRefusedLater() throws {
    let fixture = try ServiceFixture(Self.withoutBackend)
    let login =
      #"{"op":"login","logins":{"accounts.google.com":"t"},"custom_role_arn":"\#(Self.role)"}"#
    expect(try fixture.ask(login).state, equals: "signedIn")
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(
      400, #"{"__type":"NotAuthorizedException","message":"Access to Role 'x' is forbidden."}"#)
    fixture.advance(by: .seconds(3600))
    isTheUsers(try fixture.ask(), "custom_role_arn", fixture)
  }

  /// The configuration's own role is an administrator's.
  @Test func aRoleOfTheConfigurationIsAnAdministrators() throws {
    let fixture = try ServiceFixture(Self.withoutBackend + "role_arn = \(Self.role)\n")
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(
      400, #"{"__type":"NotAuthorizedException","message":"Access to Role 'x' is forbidden."}"#)
    expect(
      try fixture.ask(#"{"op":"login","logins":{"accounts.google.com":"t"}}"#).errorCode,
      equals: "PoolMisconfigured")
  }

  @Test(arguments: [("al", "password"), ("al ice", "password"), ("alice", "short")])
  func aNameOrPasswordThatTheSampleServerCannotHave(_ name: String, _ password: String) throws {
    let fixture = try ServiceFixture(Self.sample)
    let members = #""username":"\#(name)","password":"\#(password)""#
    let reply = try fixture.ask(#"{"op":"login",\#(members)}"#)
    isTheUsers(reply, "check user name and password", fixture)
    let signUp = try fixture.ask(#"{"op":"account","action":"sign-up",\#(members)}"#)
    expect(signUp.errorCode, equals: "InvalidRequest", "\(signUp)")
    expect(fixture.host.http.requests.isEmpty)
  }

  /// One of Cognito's ten places is the developer's own, or that of the provider's token.
  @Test(arguments: [
    (
      Configured.http().replacing("type = http", with: "type = cognito")
        .replacing("url = http://127.0.0.1/token\n", with: "")
        .replacing("timeout = 2s\n", with: "") + Configured.profile("default"), 9
    ),
    (Configured.userPool(), 9), (Configured.usual(), 10), (withoutBackend, 10),
  ])
  func asManyLoginsAsCognitoHasPlacesFor(_ text: String, _ most: Int) throws {
    let fixture = try ServiceFixture(text)
    fixture.host.upstreams.answersDeveloperTokens = true
    for count in [most, 10] {
      let members = (0..<count).map { #""p\#($0).example.com":"t""# }.joined(separator: ",")
      let reply = try fixture.ask(#"{"op":"login","logins":{\#(members)}}"#)
      let isRefused = reply.errorCode == "InvalidRequest"
      expect(isRefused, equals: count > most, "\(reply)")
    }
  }
}

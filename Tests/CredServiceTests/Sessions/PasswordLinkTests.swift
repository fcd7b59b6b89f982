import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A password with logins beside it, in virtual time: one sign-in, which links them to its user.
struct PasswordLinkTests {
  private static let login =
    #"{"op":"login","username":"alice","password":"alice-password","#
    + #""logins":{"graph.facebook.com":"opaque-of-alice"}}"#

  private func fixture(_ text: String = Configured.password()) throws -> ServiceFixture {
    try ServiceFixture(text)
  }

  private func bodies(_ operation: String, _ fixture: ServiceFixture) -> [JSONValue] {
    fixture.host.http.requests.filter { $0.operation == operation }.compactMap(\.json)
  }

  @Test func aPasswordAndALoginAreOneSignIn() throws {
    let fixture = try fixture()
    let reply = try fixture.ask(Self.login)
    expect(reply.state, equals: "signedIn", "\(reply)")
    expect(reply["SignedInBy"]?.text, equals: "password")
    expect(reply["Username"]?.text, equals: "alice")
    // The password goes to one place, the logins to another.
    expect(bodies("login", fixture).map { $0["Logins"] == nil }, equals: [true])
    expect(
      bodies("token", fixture).map { $0["Logins"]?["graph.facebook.com"]?.text },
      equals: ["opaque-of-alice"])
    fixture.advance(by: .seconds(3600))
    expect(try fixture.ask(#"{"refresh":true,"wait":2}"#).accessKeyID != nil)
    expect(bodies("token", fixture).last?["Logins"] == nil)
  }

  @Test func aRefusedPasswordLinksNothing() throws {
    let fixture = try fixture()
    let wrong = Self.login.replacing("alice-password", with: "wrong")
    expect(try fixture.ask(wrong).errorCode, equals: "SignInFailed")
    expect(bodies("token", fixture).isEmpty)
  }

  @Test(arguments: [
    (409, "IdentityConflict"), (403, "BackendRejected"), (503, "BackendUnavailable"),
  ])
  func aLinkThatIsNotMadeLeavesTheSession(_ status: Int, _ code: String) throws {
    let fixture = try fixture()
    expect(
      try fixture.ask(#"{"op":"login","username":"bob","password":"bob-password"}"#).state,
      equals: "signedIn")
    let before = try fixture.ask().accessKeyID
    fixture.host.upstreams.faults["token"] = .status(status, #"{"message":"no"}"#)
    let reply = try fixture.ask(Self.login)
    expect(reply.errorCode, equals: code, "\(reply)")
    fixture.host.upstreams.faults = [:]
    let identity = try fixture.ask(#"{"op":"identity"}"#)
    expect(identity["Username"]?.text, equals: "bob")
    expect(try fixture.ask().accessKeyID, equals: before)
  }

  /// The backend has linked them: what Cognito says after that is no reason to sign in again.
  @Test func afterTheLinkTheUserIsSignedIn() throws {
    let fixture = try fixture()
    fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(
      400, #"{"__type":"InvalidIdentityPoolConfigurationException","message":"no role"}"#)
    expect(try fixture.ask(Self.login).errorCode, equals: "PoolMisconfigured")
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
  }

  /// The password was right, so nobody types it again, and it is no guess.
  @Test(arguments: [
    ("token", 401, #"{"message":"no"}"#, PasswordLinkTests.login),
    (
      "GetCredentialsForIdentity", 400,
      #"{"__type":"NotAuthorizedException","message":"Access to Role 'x' is forbidden."}"#,
      #"{"op":"login","username":"alice","password":"alice-password","#
        + #""custom_role_arn":"arn:aws:iam::123456789012:role/engineer"}"#
    ),
  ])
  func whatFailsAfterThePasswordIsNoWrongPassword(
    _ operation: String, _ status: Int, _ body: String, _ line: String
  ) throws {
    let fixture = try fixture()
    fixture.host.upstreams.faults[operation] = .status(status, body)
    for _ in 0..<5 {
      let reply = try fixture.ask(line)
      expect(reply.errorCode, equals: "SignInFailed", "\(reply)")
      expect(reply["Error"]?["Reason"]?.text, equals: "PasswordAccepted", "\(reply)")
      fixture.advance(by: .seconds(1))
    }
    let wrong = Self.login.replacing("alice-password", with: "wrong")
    expect(try fixture.ask(wrong)["Error"]?["Reason"]?.text == nil)
  }

  @Test(arguments: [
    (Configured.usual(), "no backend that takes passwords"),
    (Configured.userPool(), "for a backend with login_url"),
    (
      Configured.password(backend: "method = GET"), "method = GET"
    ),
  ])
  func elsewhereThatIsRefusedByName(_ text: String, _ reason: String) throws {
    let fixture = try fixture(text)
    let reply = try fixture.ask(Self.login)
    expect(reply.errorCode, equals: "InvalidRequest", "\(reply)")
    expect(reply.errorMessage?.contains(reason) == true, "\(reply)")
    expect(fixture.host.http.requests.isEmpty)
  }

  @Test func theAuditNamesTheUserAndTheProviders() throws {
    let fixture = try fixture()
    _ = try fixture.ask(Self.login)
    let entry = fixture.host.log.entries.first {
      $0["message_id"] == JournalEvent.signedIn.rawValue
    }
    expect(entry?["username"], equals: "alice")
    expect(entry?["providers"], equals: "graph.facebook.com")
  }
}

import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// What comes between a renewal and its answer costs no session: the new refresh token is kept, and no
/// second renewal begins with the former one.
final class LeftRenewalTests {
  enum Act: CaseIterable {
    case clearCredentials, clearIdentity, reload, refusedLogin, callerLeaves, get, refresh
    /// Nobody waits for the renewal's end.
    case leaveAndClear
  }

  private var others: [TestClient] = []

  private func sendLater(_ line: String, _ fixture: ServiceFixture) {
    let client = fixture.connect()
    client.sendOnly(line)
    others.append(client)
  }

  private static let login =
    #"{"op":"login","browser":{"redirect_uri":"http://127.0.0.1:4711/okta"}}"#

  private func perform(_ act: Act, _ fixture: ServiceFixture, _ client: TestClient) throws {
    switch act {
    case .clearCredentials: _ = try fixture.ask(#"{"op":"clear","what":"credentials"}"#)
    case .clearIdentity: _ = try fixture.ask(#"{"op":"clear","what":"identity"}"#)
    case .reload:
      try fixture.reload(
        Configured.provider(profile: "role_arn = arn:aws:iam::123456789012:role/other"))
    case .refusedLogin:
      fixture.host.upstreams.faults["GetCredentialsForIdentity"] = .status(
        400, #"{"__type":"NotAuthorizedException","message":"Invalid login token. Token expired"}"#,
        count: 2)
      sendLater(
        #"{"op":"login","logins":{"accounts.google.com":"e30.e30.e30"}}"#, fixture)
    case .callerLeaves: client.leave()
    case .leaveAndClear:
      client.leave()
      _ = try fixture.ask(#"{"op":"clear","what":"credentials"}"#)
    case .get: sendLater(#"{"wait":60}"#, fixture)
    case .refresh: sendLater(#"{"refresh":true,"wait":60}"#, fixture)
    }
  }

  @Test(arguments: Act.allCases)
  func aRenewalUnderWayKeepsItsNewToken(_ act: Act) throws {
    let fixture = try ServiceFixture(Configured.provider())
    let provider = FakeProvider(fixture)
    let asked = try fixture.ask(Self.login)
    expect(
      try fixture.ask(asked.response("response", "\"\(provider.browse(asked))\"")).state,
      equals: "signedIn")
    fixture.advance(by: .seconds(3600))
    provider.delay = .seconds(2)
    let client = fixture.connect()
    client.sendOnly(#"{"refresh":true,"wait":60}"#)
    fixture.advance(by: .milliseconds(500))
    // The provider has given another refresh token, and the answer is on its way.
    expect(provider.forms.count, equals: 2)
    try perform(act, fixture, client)
    fixture.advance(by: .seconds(60))
    provider.delay = .zero
    expect(try fixture.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil)
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
    expect(provider.misuses, equals: 0)
    let sent = provider.forms.compactMap { $0["refresh_token"] }
    expect(Set(sent).count, equals: sent.count)
  }

  @Test func aSignOutMeanwhileStays() throws {
    let fixture = try ServiceFixture(Configured.provider())
    let provider = FakeProvider(fixture)
    let asked = try fixture.ask(Self.login)
    _ = try fixture.ask(asked.response("response", "\"\(provider.browse(asked))\""))
    fixture.advance(by: .seconds(3600))
    provider.delay = .seconds(2)
    sendLater(#"{"refresh":true,"wait":60}"#, fixture)
    fixture.advance(by: .milliseconds(500))
    _ = try fixture.ask(#"{"op":"logout"}"#)
    fixture.advance(by: .seconds(10))
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
    let session = fixture.service.sessions[SessionKey(uid: 1000, profile: "default")]
    expect(session?.machine.state.providerSession == nil)
  }
}

import CredCore
import Logging
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A client names the provider of each token that it brings: a wrong name is its own mistake, and no
/// operator is called.
struct LoginsKeyMistakeTests {
  private static let text = """
    [profile default]
    identity_pool_id = \(FakeUpstreams.pool)
    cognito_endpoint = http://127.0.0.1:4599

    """
  private static let google = SampleJWT.text(#"{"iss":"https://accounts.google.com","sub":"1"}"#)

  private func login(
    _ key: String, _ token: String, _ error: String, _ message: String
  ) throws -> (reply: Reply, warnings: Int) {
    let fixture = try ServiceFixture(Self.text)
    fixture.host.upstreams.faults["GetId"] = .status(
      400, #"{"__type":"\#(error)","message":"\#(message)"}"#)
    let reply = try fixture.ask(#"{"op":"login","logins":{"\#(key)":"\#(token)"}}"#)
    return (reply, fixture.host.log.entries.count { $0.level >= .warning })
  }

  @Test func aTokenOfAnotherProviderIsNamed() throws {
    let (reply, warnings) = try login(
      "appleid.apple.com", Self.google, "NotAuthorizedException",
      "Invalid login token. Issuer doesn't match providerName")
    expect(reply.errorCode, equals: "SignInFailed", "\(reply)")
    expect(
      reply.errorMessage?.contains(
        #"the token under the key "appleid.apple.com" was issued by "https://accounts.google.com", "#
          + #"whose key is "accounts.google.com""#) == true, "\(reply)")
    expect(warnings, equals: 0)
  }

  @Test(
    arguments: [
      ("NotAuthorizedException", "Token is not from a supported provider of this identity pool."),
      ("NotAuthorizedException", "Invalid login token. Issuer doesn't match providerName"),
      ("InvalidParameterException", "Please provide a valid public provider"),
    ])
  func aProviderThatThePoolDoesNotKnowIsTheClientsMistake(
    _ error: String, _ message: String
  ) throws {
    let (reply, warnings) = try login("login.example.com", "opaque", error, message)
    expect(reply.errorCode, equals: "SignInFailed", "\(reply)")
    expect(reply.errorMessage?.contains(#"("login.example.com")"#) == true, "\(reply)")
    expect(warnings, equals: 0)
  }
}

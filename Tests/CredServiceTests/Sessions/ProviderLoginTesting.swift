import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Tests of logins that clients bring: their tokens, and what Cognito gets.
protocol ProviderLoginTesting {}

extension ProviderLoginTesting {
  static var google: String { "accounts.google.com" }
  static var facebook: String { "graph.facebook.com" }
  static var okta: String { "idp.example.com" }

  static var withoutBackend: String {
    """
    [profile default]
    identity_pool_id = \(FakeUpstreams.pool)
    cognito_endpoint = http://127.0.0.1:4599

    """
  }

  /// The first letter of the subject says which provider's it is: `p` is Google's.
  static func token(_ subject: String) -> String {
    let issuer = subject.hasPrefix("p") ? google : "\(subject.prefix(1)).example.com"
    return SampleJWT.text(
      #"{"iss":"https://\#(issuer)","sub":"\#(subject)","email":"\#(subject)@x"}"#)
  }

  func login(_ logins: [(String, String)], _ more: String = "") -> String {
    let members = logins.map { #""\#($0.0)":"\#($0.1)""# }.joined(separator: ",")
    return #"{"op":"login","logins":{\#(members)}\#(more)}"#
  }

  /// What Cognito got since then.
  func sent(_ fixture: ServiceFixture, after count: Int) -> [JSONValue] {
    fixture.host.http.requests.dropFirst(count).compactMap { $0.json?["Logins"] }
  }

  /// Cognito does not know the identity any more, and then does not answer.
  func fixtureWithoutIdentity(_ logins: [(String, String)]) throws -> ServiceFixture {
    let fixture = try ServiceFixture(Self.withoutBackend)
    expect(try fixture.ask(login(logins)).state, equals: "signedIn")
    fixture.host.upstreams.faults = [
      "GetCredentialsForIdentity": .status(
        400, #"{"__type":"ResourceNotFoundException","message":"Identity not found."}"#),
      "GetId": .status(503),
    ]
    fixture.advance(by: .seconds(60))
    _ = try fixture.ask(#"{"refresh":true}"#)
    expect(try fixture.ask(#"{"op":"identity"}"#)["IdentityId"] == nil)
    fixture.host.upstreams.faults = [:]
    return fixture
  }
}

import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Only the backend says who is whom at the developer provider.
struct DeveloperProviderTests {
  private static let basic = "flow = basic\nrole_arn = arn:aws:iam::123456789012:role/app"

  @Test(arguments: ["", basic], ["", #","alone":true"#])
  func `a login that names the developer provider is refused by name`(
    flow: String, more: String
  ) throws {
    let fixture = try ServiceFixture(Configured.usual(profile: flow))
    for provider in ["login.example.app", "Login.Example.App"] {
      let refused = try fixture.ask(
        #"{"op":"login","logins":{"accounts.google.com":"t","\#(provider)":"bob"}\#(more)}"#)
      expect(refused.errorCode, equals: "InvalidRequest")
      expect(refused.errorMessage?.contains("\"\(provider)\"") == true, "\(refused)")
      expect(refused.errorMessage?.contains("developer_provider") == true)
    }
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
  }

  @Test(arguments: [
    ("", "cognito-identity.amazonaws.com"), ("", "Cognito-Identity.amazonaws.com"),
    ("", "cognito-identity.cn-north-1.amazonaws.com.cn"),
    ("logins_key = tokens.example.org", "tokens.example.org"),
  ])
  func `a developer token is no login`(profile: String, key: String) throws {
    for flow in ["", Self.basic] {
      let fixture = try ServiceFixture(Configured.usual(profile: profile + "\n" + flow))
      let refused = try fixture.ask(#"{"op":"login","logins":{"\#(key)":"t"},"alone":true}"#)
      expect(refused.errorCode, equals: "InvalidRequest", "\(refused)")
      expect(refused.errorMessage?.contains("\"identity_id\"") == true)
    }
  }

  @Test func `without a developer provider no token is given unless one is named`() throws {
    let fixture = try ServiceFixture(
      """
      [profile default]
      identity_pool_id = \(FakeUpstreams.pool)
      guest = yes
      cognito_endpoint = http://127.0.0.1:4599

      """)
    let refused = try fixture.ask(#"{"op":"token"}"#)
    expect(refused.errorCode, equals: "AccessDenied", "\(refused)")
    expect(refused.errorMessage?.contains("vend_tokens") == true)
    expect(fixture.host.upstreams.calls("GetId"), equals: 0)
  }
}

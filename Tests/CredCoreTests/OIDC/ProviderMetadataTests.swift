import TestSupport
import Testing

@testable import CredCore

struct ProviderMetadataTests {
  @Test func aDocumentGivesTheEndpoints() throws {
    let provider = try OIDCSamples.provider()
    expect(provider.authorization?.text, equals: "https://login.example.com/authorize")
    expect(provider.token.text, equals: "https://login.example.com/token")
    expect(provider.deviceAuthorization?.text, equals: "https://login.example.com/device")
    expect(provider.revocation?.text, equals: "https://login.example.com/revoke")
    expect(provider.endSession?.text, equals: "https://login.example.com/logout")
    expect(!provider.sendsIssuer)
    let announcing = [("authorization_response_iss_parameter_supported", "true" as String?)]
    expect(try OIDCSamples.provider(announcing).sendsIssuer)
  }

  @Test func theIssuerIsComparedToTheByte() throws {
    for wrong in [
      "https://login.example.com", "https://login.example.com//", "https://LOGIN.example.com/",
      "http://login.example.com/", "https://evil.example.com/",
    ] {
      let failure = #expect(throws: UpstreamFailure.self) {
        try OIDCSamples.provider([("issuer", "\"\(wrong)\"")])
      }
      // Both are shown, so that the operator sees the difference.
      expect(failure?.message.contains(wrong) == true)
      expect(failure?.message.contains(OIDCSamples.issuerText) == true)
      expect(failure?.failureClass, equals: .permanentConfiguration)
    }
  }

  @Test func anEndpointThatIsMissingOrWrongIsNamed() throws {
    let wrong: [(String, String?, String)] = [
      ("authorization_endpoint", nil, "is missing"),
      ("token_endpoint", nil, "give the user pool a domain"),
      ("token_endpoint", "null", "is missing"),
      ("token_endpoint", "7", "is no text"),
      ("token_endpoint", #""http://login.example.com/token""#, "is no https:// URL"),
      ("token_endpoint", #""http://127.0.0.1:22/token""#, "is an address of this host"),
      ("token_endpoint", #""file:///etc/passwd""#, "is no URL"),
      ("token_endpoint", #""https://a@login.example.com/""#, "is no URL"),
      ("revocation_endpoint", #""javascript:alert(1)""#, "is no URL"),
      (
        "end_session_endpoint", "\"https://a/\(String(repeating: "x", count: 9000))\"",
        "is longer than"
      ),
    ]
    for (name, value, reason) in wrong {
      let failure = #expect(throws: UpstreamFailure.self) {
        try OIDCSamples.provider([(name, value)])
      }
      expect(failure?.message.contains(name) == true, "\(name)")
      expect(failure?.message.contains(reason) == true, "\(failure?.message ?? "")")
    }
  }

  @Test func anEndpointOfTheOperatorsGoesFirst() throws {
    var own = ProviderEndpoints()
    own.token = try HTTPURL("http://127.0.0.1:9/t")
    let provider = try OIDCSamples.provider([("token_endpoint", nil)], configured: own)
    expect(provider.token.text, equals: "http://127.0.0.1:9/t")
    own.authorization = try HTTPURL("https://login.example.com/a?p=policy")
    expect(own.suffice)
    let alone = try ProviderMetadata(OIDCSamples.issuer, configured: own)
    expect(alone?.authorization?.query, equals: "p=policy")
    expect(try ProviderMetadata(OIDCSamples.issuer, configured: ProviderEndpoints()) == nil)
  }

  /// A provider elsewhere does not have secrets sent to services of this host.
  @Test(arguments: [
    "https://127.0.0.1/t", "https://localhost:8443/t", "https://[::1]/t", "https://127.1/t",
    "https://[::ffff:127.0.0.1]/t", "https://localhost./t", "https://0x7f.1/t",
    "https://2130706433/t", "https://0/t", "https://a.localhost/t",
  ])
  func aProviderElsewhereNamesNoAddressOfThisHost(_ url: String) {
    for name in ["token_endpoint", "authorization_endpoint", "revocation_endpoint"] {
      let failure = #expect(throws: UpstreamFailure.self) {
        try OIDCSamples.provider([(name, "\"\(url)\"")])
      }
      expect(failure?.message.contains("is an address of this host") == true)
    }
  }

  /// A provider on this host names its own host, however that is spelt.
  @Test(arguments: ["https://keycloak.localhost:8443/realms/dev", "https://127.1/dev"])
  func aProviderOnThisHostNamesItsOwnHost(_ issuer: String) throws {
    let issuer = try OIDCIssuer(issuer)
    let document = """
      {"issuer":"\(issuer)","authorization_endpoint":"\(issuer)/auth",
      "token_endpoint":"\(issuer)/token","code_challenge_methods_supported":["S256"]}
      """
    let provider = try ProviderMetadata(
      from: Samples.reply(200, document), of: issuer, configured: ProviderEndpoints(), for: "okta")
    expect(provider.token.text, equals: "\(issuer)/token")
  }

  @Test func whatIsNoDocumentIsNotTakenForOne() throws {
    let replies = [
      Samples.reply(200, "<html></html>"), Samples.reply(200, "[]"), Samples.reply(200, "{"),
      Samples.reply(301, "", ["Location": "https://evil.example.com/"]), Samples.reply(404, ""),
      Samples.reply(500, OIDCSamples.document()),
      Samples.reply(200, String(repeating: " ", count: Limits.OIDC.replyBytes + 1)),
    ]
    for reply in replies {
      #expect(throws: UpstreamFailure.self) {
        try ProviderMetadata(
          from: reply, of: OIDCSamples.issuer, configured: ProviderEndpoints(), for: "okta")
      }
    }
  }

  @Test func aDocumentIsUsedForAnHourAtLeastAndADayAtMost() {
    let lifetime = { (header: String) in
      ProviderMetadata.lifetime(of: Samples.reply(200, "{}", ["Cache-Control": header]))
    }
    expect(lifetime("no-store"), equals: .seconds(3600))
    expect(lifetime("public, max-age=5"), equals: .seconds(3600))
    expect(lifetime("public, max-age=7200, x"), equals: .seconds(7200))
    expect(lifetime("max-age=99999999"), equals: .seconds(86_400))
    expect(lifetime("max-age=-1"), equals: .seconds(3600))
    expect(lifetime("max-age=x"), equals: .seconds(3600))
  }

  @Test func anIssuersKeyInTheLoginsMapHasNoSchemeAndNoLastSlash() throws {
    expect(try OIDCIssuer("https://t.eu.auth0.com/").loginsKey, equals: "t.eu.auth0.com")
    expect(try OIDCIssuer("https://t.eu.auth0.com").loginsKey, equals: "t.eu.auth0.com")
    expect(try OIDCIssuer("https://k.example/realms/a").loginsKey, equals: "k.example/realms/a")
    expect(
      try OIDCIssuer("https://k.example/realms/a/").discoveryURL,
      equals: "https://k.example/realms/a/.well-known/openid-configuration")
    for wrong in ["http://login.example.com/", "https://a/?b", "login.example.com", "https://"] {
      #expect(throws: InvalidInput.self) { try OIDCIssuer(wrong) }
    }
  }
}

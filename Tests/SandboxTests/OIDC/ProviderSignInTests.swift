import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// The provider gives tokens to whom it should, and to nobody else.
struct ProviderSignInTests {
  @Test func aSignInByBrowserGivesTokens() throws {
    var provider = try TestProvider()
    let response = TestProvider.response(provider.authorize())
    expect(response["state"], equals: "st~t/+a%20t")
    expect(response["iss"], equals: TestProvider.base + "/oidc")
    let reply = provider.exchange(try #require(response["code"]))
    expect(reply.status, equals: 200)
    expect(reply.header("Cache-Control"), equals: "no-store")
    let token = try #require(reply.json?["id_token"]?.text)
    let claims = try TestSandbox.issuer.get().verifiedClaims(in: token, algorithm: .rs256)
    expect(claims["iss"]?.text, equals: TestProvider.base + "/oidc")
    expect(claims["aud"]?.text, equals: TestProvider.client)
    expect(claims["sub"]?.text, equals: "sandbox|alice")
    expect(claims["nonce"]?.text, equals: "n-1")
    expect(reply.json?["refresh_token"]?.text != nil)
  }

  @Test func theDocumentNamesWhatThereIs() throws {
    var provider = try TestProvider()
    let target = "/oidc/.well-known/openid-configuration"
    let field = HTTPField("Host", "127.0.0.1:4599")
    let request = HTTPRequest(method: "GET", target: target, headers: [field])
    let document = provider.sandbox.answer(request).reply.json
    expect(document?["issuer"]?.text, equals: TestProvider.base + "/oidc")
    expect(document?["token_endpoint"]?.text, equals: TestProvider.base + "/oidc/token")
    provider.control("", ["Slash": true])
    expect(
      provider.sandbox.answer(request).reply.json?["issuer"]?.text,
      equals: TestProvider.base + "/oidc/")
    provider.control("", ["Discovery": 1])
    expect(
      provider.sandbox.answer(request).reply.json?["issuer"]?.text, equals: "https://evil.example/")
  }

  /// An open redirect would send codes and errors anywhere.
  @Test(arguments: [
    ("redirect_uri", "https://evil.example/"), ("redirect_uri", "http://127.0.0.1:4711/creddx"),
    ("redirect_uri", "http://127.0.0.1:4711/credd/"), ("redirect_uri", "http://localhost:8977/"),
    ("redirect_uri", "http://127.0.0.1:0/credd"),
    ("redirect_uri", "http://127.0.0.1:80@evil.example/credd"), ("redirect_uri", nil),
    ("client_id", "another"), ("client_id", nil), ("state", String(repeating: "x", count: 513)),
  ])
  func aWrongPlaceIsNeverRedirectedTo(_ name: String, _ value: String?) throws {
    var provider = try TestProvider()
    let reply = provider.authorize([(name, value)])
    expect(reply.status, equals: 400)
    expect(reply.header("Location") == nil)
    expect(reply.oauthError, equals: "invalid_request")
  }

  @Test func anExactRuleCountsPortsToo() throws {
    var provider = try TestProvider()
    provider.control("", ["RedirectRule": "exact"])
    expect(provider.authorize().header("Location") == nil)
    expect(provider.authorize([("redirect_uri", "http://localhost:8976/")]).status, equals: 302)
  }

  @Test(arguments: [
    ("code_challenge", nil, "invalid_request"), ("code_challenge", "short", "invalid_request"),
    ("code_challenge_method", "plain", "invalid_request"),
    ("code_challenge_method", nil, "invalid_request"),
    ("response_type", "token", "unsupported_response_type"), ("scope", "email", "invalid_scope"),
    ("scope", nil, "invalid_scope"),
  ])
  func otherMistakesComeBackAsErrors(_ name: String, _ value: String?, _ error: String) throws {
    var provider = try TestProvider()
    let response = TestProvider.response(provider.authorize([(name, value)]))
    expect(response["error"], equals: error)
    expect(response["code"] == nil)
    expect(response["state"], equals: "st~t/+a%20t")
  }

  @Test func nobodyIsSignedInUnasked() throws {
    var provider = try TestProvider()
    provider.control("", ["SignedOut": true])
    let page = provider.authorize()
    expect(page.status, equals: 200)
    expect(page.header("Content-Type")?.hasPrefix("text/html") == true)
    expect(
      TestProvider.response(provider.authorize([("prompt", "none")]))["error"],
      equals: "login_required")
  }

  @Test func thePageWantsNameAndPassword() throws {
    var provider = try TestProvider()
    provider.control("", ["SignedOut": true])
    let query =
      "response_type=code&client_id=sandbox-public&redirect_uri=http://localhost:8976/&scope=openid"
      + "&state=s&code_challenge=\(TestProvider.challenge)&code_challenge_method=S256"
    for (password, status) in [("wrong", 200), ("alice-password", 302)] {
      let request = HTTPRequest(
        method: "POST", target: "/oidc/authorize?" + query,
        headers: [HTTPField("Host", "127.0.0.1:4599")],
        body: Array("username=alice&password=\(password)".utf8))
      expect(provider.sandbox.answer(request).reply.status, equals: status)
    }
  }

  @Test func aParameterStandsOnce() throws {
    var provider = try TestProvider()
    expect(provider.authorize(more: "&state=x").status, equals: 400)
    let code = try provider.code()
    expect(provider.exchange(code, more: "&code=x").oauthError, equals: "invalid_request")
    expect(provider.exchange(code).status, equals: 200)
  }

  // MARK: Codes

  @Test(arguments: [
    ("code_verifier", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXl", "invalid_grant"),
    ("code_verifier", TestProvider.challenge, "invalid_grant"),
    ("code_verifier", nil, "invalid_request"),
    ("redirect_uri", "http://127.0.0.1:4712/credd", "invalid_grant"),
    ("redirect_uri", nil, "invalid_request"),
  ])
  func aCodeIsSpentByAWrongAttempt(_ name: String, _ value: String?, _ error: String) throws {
    var provider = try TestProvider()
    let code = try provider.code()
    expect(provider.exchange(code, [(name, value)]).oauthError, equals: error)
    expect(provider.exchange(code).oauthError, equals: "invalid_grant")
  }

  @Test func aReplayedCodeEndsItsTokens() throws {
    var provider = try TestProvider()
    let code = try provider.code()
    let token = try #require(provider.exchange(code).json?["refresh_token"]?.text)
    expect(provider.exchange(code).oauthError, equals: "invalid_grant")
    expect(provider.renew(token).oauthError, equals: "invalid_grant")
    expect(provider.misuses["ReplayedCodes"]?.integer, equals: 1)
  }

  @Test func aCodeLastsFiveMinutes() throws {
    var provider = try TestProvider()
    let code = try provider.code()
    provider.wait(299)
    expect(provider.exchange(code).status, equals: 200)
    let late = try provider.code()
    provider.wait(300)
    expect(provider.exchange(late).oauthError, equals: "invalid_grant")
  }

  @Test func aCodeIsItsClients() throws {
    var provider = try TestProvider()
    provider.control("/client", ["ClientId": "other"])
    let code = try provider.code()
    expect(provider.exchange(code, [("client_id", "other")]).oauthError, equals: "invalid_grant")
    expect(provider.exchange(code).status, equals: 200)
  }

  // MARK: Clients

  private func basic(_ pair: String) -> HTTPField {
    HTTPField("Authorization", "Basic " + base64(Array(pair.utf8)))
  }

  @Test func eachClientProvesItselfInItsOwnWay() throws {
    var provider = try TestProvider()
    let secret = "s:%+/ é"
    for way in ["client_secret_basic", "client_secret_post"] {
      provider.control(
        "/client",
        [
          "ClientId": "c", "ClientSecret": .string(secret), "Authentication": .string(way),
          "RedirectUris": ["http://127.0.0.1/credd"],
        ])
      let byPost = way == "client_secret_post"
      let asked = [("client_id", "c" as String?)]
      let right: [(String, String?)] =
        byPost ? [("client_id", "c"), ("client_secret", secret)] : [("client_id", nil)]
      let fields = byPost ? [] : [basic("c:s%3A%25%2B%2F%20%C3%A9")]
      expect(
        provider.exchange(try provider.code(asked), right, headers: fields).status, equals: 200)
      // Without a secret, with a wrong one, and in the other way.
      expect(
        provider.exchange(try provider.code(asked), asked).oauthError, equals: "invalid_client")
      let wrong: [(String, String?)] =
        byPost ? [("client_id", "c"), ("client_secret", "x")] : [("client_id", nil)]
      let other = byPost ? [] : [basic("c:x")]
      expect(
        provider.exchange(try provider.code(asked), wrong, headers: other).oauthError,
        equals: "invalid_client")
      let crossed: [(String, String?)] =
        byPost ? [("client_id", nil)] : [("client_id", "c"), ("client_secret", secret)]
      let field = byPost ? [basic("c:s%3A%25%2B%2F%20%C3%A9")] : []
      expect(
        provider.exchange(try provider.code(asked), crossed, headers: field).oauthError,
        equals: "invalid_client")
    }
  }

  @Test func twoProofsAtOnceAreRefused() throws {
    var provider = try TestProvider()
    let reply = provider.exchange(
      try provider.code(), [("client_secret", "x")], headers: [basic("sandbox-public:x")])
    expect(reply.oauthError, equals: "invalid_request")
  }

  @Test func anAssertionIsSignedShortAndUsedOnce() throws {
    var provider = try TestProvider()
    let key = try RSAKey(bits: 2048)
    let pem = String(decoding: try key.pem, as: UTF8.self)
    provider.control(
      "/client",
      [
        "ClientId": "j", "Authentication": "private_key_jwt", "Key": .string(pem),
        "RedirectUris": ["http://127.0.0.1/credd"],
      ])
    let now = provider.sandbox.now.epochSeconds
    func assertion(_ changes: [String: JSON] = [:], key: RSAKey) throws -> String {
      var claims: [String: JSON] = [
        "iss": "j", "sub": "j", "aud": "http://127.0.0.1:4599/oidc/token",
        "jti": "0123456789abcdef0", "exp": .number(Double(now + 200)),
      ]
      claims.merge(changes) { $1 }
      let header: JSON = ["alg": "RS256"]
      let message = base64URL(header.bytes) + "." + base64URL(JSON.object(claims).bytes)
      return message + "." + base64URL(try key.signature(of: Array(message.utf8), .sha256))
    }
    func exchange(_ assertion: String, _ provider: inout TestProvider) throws -> HTTPReply {
      provider.exchange(
        try provider.code([("client_id", "j")]),
        [
          ("client_id", "j"), ("client_assertion", assertion),
          ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
        ])
    }
    let wrong: [[String: JSON]] = [
      ["iss": "k"], ["sub": "k"], ["aud": "https://evil/"], ["jti": "short"],
      ["exp": .number(Double(now))], ["exp": .number(Double(now + 400))],
    ]
    for changes in wrong {
      expect(
        try exchange(assertion(changes, key: key), &provider).oauthError, equals: "invalid_client")
    }
    expect(
      try exchange(assertion(key: RSAKey(bits: 2048)), &provider).oauthError,
      equals: "invalid_client")
    let good = try assertion(key: key)
    expect(try exchange(good, &provider).status, equals: 200)
    expect(try exchange(good, &provider).oauthError, equals: "invalid_client")
  }

  @Test func secretsDoNotStandInURLs() throws {
    var provider = try TestProvider()
    let reply = provider.post(
      "/token?grant_type=refresh_token",
      [("refresh_token", "x"), ("client_id", TestProvider.client)])
    expect(reply.oauthError, equals: "invalid_request")
    let json = provider.sandbox.send("POST", "/oidc/token", ["grant_type": "refresh_token"])
    expect(json.oauthError, equals: "invalid_request")
  }

  // MARK: The end of the browser's session

  @Test func thePageThatSignsOutLeadsToRegisteredPlacesAlone() throws {
    var provider = try TestProvider()
    provider.control(
      "/client", ["ClientId": .string(TestProvider.client), "LogoutUris": ["http://localhost:1/"]])
    let logout = "/oidc/logout?client_id=sandbox-public&post_logout_redirect_uri="
    expect(provider.sandbox.send("GET", logout + "https://evil.example/").status, equals: 400)
    expect(
      provider.sandbox.send("GET", logout + "http://localhost:1/").header("Location"),
      equals: "http://localhost:1/")
    // The browser's session ended.
    expect(provider.authorize().status, equals: 200)
  }
}

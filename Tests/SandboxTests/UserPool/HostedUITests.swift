import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// Sign-in by browser at a user pool.
struct HostedUITests {
  private static let client = "1sandboxclient234567890abc"
  private static let uri = "http://localhost:8976/"

  private struct Browser {
    var sandbox: TestSandbox

    init() throws {
      sandbox = try TestSandbox()
      let client: JSON = [
        "ClientId": .string(HostedUITests.client), "CallbackUrls": [.string(HostedUITests.uri)],
        "LogoutUrls": [.string(HostedUITests.uri)],
      ]
      expect(sandbox.send("POST", "/control/user-pool/client", client).status, equals: 200)
      let user: JSON = ["SignedInAs": "alice"]
      expect(sandbox.send("POST", "/control/user-pool/hosted", user).status, equals: 200)
    }

    mutating func authorize(
      uri: String = HostedUITests.uri, scope: String = "openid email", more: String = ""
    ) -> HTTPReply {
      sandbox.send(
        "GET",
        "/oauth2/authorize?response_type=code&client_id=\(HostedUITests.client)&redirect_uri="
          + formEncoded(uri) + "&scope=" + formEncoded(scope)
          + "&state=s-1&nonce=n-1&code_challenge=\(TestProvider.challenge)"
          + "&code_challenge_method=S256" + more)
    }

    mutating func post(_ path: String, _ parameters: [(String, String)]) -> HTTPReply {
      let form = parameters.map { formEncoded($0.0) + "=" + formEncoded($0.1) }
      return sandbox.answer(
        HTTPRequest(
          method: "POST", target: path,
          headers: [HTTPField("Content-Type", "application/x-www-form-urlencoded")],
          body: Array(form.joined(separator: "&").utf8))
      ).reply
    }

    mutating func exchange(
      _ code: String, uri: String = HostedUITests.uri, verifier: String = TestProvider.verifier
    ) -> HTTPReply {
      post(
        "/oauth2/token",
        [
          ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", uri),
          ("code_verifier", verifier), ("client_id", HostedUITests.client),
        ])
    }

    mutating func renew(_ token: String) -> HTTPReply {
      post(
        "/oauth2/token",
        [
          ("grant_type", "refresh_token"), ("refresh_token", token),
          ("client_id", HostedUITests.client),
        ])
    }

    mutating func code() throws -> String {
      let reply = authorize()
      return try #require(TestProvider.response(reply)["code"], "\(reply.text)")
    }
  }

  @Test func aBrowserGetsTheTokensOfItsPool() throws {
    var browser = try Browser()
    let reply = browser.exchange(try browser.code())
    let token = try #require(reply.json?["id_token"]?.text, "\(reply.text)")
    let claims = try TokenIssuer.claims(in: token)
    expect(claims["nonce"]?.text, equals: "n-1")
    expect(claims["token_use"]?.text, equals: "id")
    expect(claims["aud"]?.text, equals: Self.client)
    let refresh = try #require(reply.json?["refresh_token"]?.text)
    let renewed = browser.renew(refresh)
    expect(renewed.json?["id_token"] != nil)
    expect(renewed.json?["refresh_token"] == nil)
    // The same token as that of any other sign-in.
    let request = HTTPRequest(
      method: "POST", target: "/",
      headers: [
        HTTPField("Content-Type", "application/x-amz-json-1.1"),
        HTTPField(
          "X-Amz-Target", "AWSCognitoIdentityProviderService.GetTokensFromRefreshToken"),
      ],
      body: JSON.object(["ClientId": .string(Self.client), "RefreshToken": .string(refresh)]).bytes)
    expect(browser.sandbox.answer(request).reply.status, equals: 200)
  }

  @Test(arguments: [
    "http://127.0.0.1:8976/", "http://localhost:8976", "http://localhost:8977/",
    "https://evil.example/",
  ])
  func aPlaceIsComparedToTheByte(_ uri: String) throws {
    var browser = try Browser()
    let reply = browser.authorize(uri: uri)
    expect(reply.status, equals: 400)
    expect(reply.header("Location") == nil)
  }

  @Test func offlineAccessIsNoScopeOfCognito() throws {
    var browser = try Browser()
    for scope in ["openid offline_access", "email"] {
      expect(
        TestProvider.response(browser.authorize(scope: scope))["error"], equals: "invalid_scope")
    }
  }

  @Test func aCodeIsForOneAttempt() throws {
    var browser = try Browser()
    for (uri, verifier) in [
      (Self.uri, "wrong-verifier"), ("http://localhost:8977/", TestProvider.verifier),
    ] {
      let code = try browser.code()
      expect(
        browser.exchange(code, uri: uri, verifier: verifier).oauthError, equals: "invalid_grant")
      expect(browser.exchange(code).oauthError, equals: "invalid_grant")
    }
    let old = try browser.code()
    browser.sandbox.now = browser.sandbox.now.addingTimeInterval(300)
    expect(browser.exchange(old).oauthError, equals: "invalid_grant")
  }

  @Test func aRevokedTokenRenewsNothing() throws {
    var browser = try Browser()
    let refresh = try #require(
      browser.exchange(try browser.code()).json?["refresh_token"]?.text)
    let client = ("client_id", Self.client)
    expect(browser.post("/oauth2/revoke", [("token", "unknown"), client]).status, equals: 200)
    expect(
      browser.post("/oauth2/revoke", [("token", "a.b.c"), client]).oauthError,
      equals: "unsupported_token_type")
    expect(browser.post("/oauth2/revoke", [("token", refresh), client]).status, equals: 200)
    expect(browser.renew(refresh).oauthError, equals: "invalid_grant")
  }

  @Test func thereAreNoDeviceCodes() throws {
    var browser = try Browser()
    let grant = ("grant_type", "urn:ietf:params:oauth:grant-type:device_code")
    expect(
      browser.post("/oauth2/token", [grant, ("client_id", Self.client)]).oauthError,
      equals: "unsupported_grant_type")
  }

  @Test func aSignOutLeadsToRegisteredPlacesAlone() throws {
    var browser = try Browser()
    let logout = "/logout?client_id=\(Self.client)&logout_uri="
    expect(browser.sandbox.send("GET", logout + "https://evil.example/").status, equals: 400)
    expect(browser.sandbox.send("GET", logout + Self.uri).header("Location"), equals: Self.uri)
    expect(browser.authorize().status, equals: 200)
  }

  @Test func thePageWantsThePoolsPassword() throws {
    var browser = try Browser()
    _ = browser.sandbox.send("POST", "/control/user-pool/hosted", ["SignedOut": true])
    let query =
      "/oauth2/authorize?response_type=code&client_id=\(Self.client)&redirect_uri="
      + formEncoded(Self.uri) + "&scope=openid"
    expect(browser.post(query, [("username", "alice"), ("password", "no")]).status, equals: 200)
    expect(
      browser.post(query, [("username", "alice"), ("password", "Sandbox-1")]).status, equals: 302)
  }
}

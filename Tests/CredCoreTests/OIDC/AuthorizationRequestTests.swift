import TestSupport
import Testing

@testable import CredCore

struct AuthorizationRequestTests {
  /// RFC 7636, appendix B.
  @Test func theChallengeIsThatOfTheRFC() {
    let verifier = Secret("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    expect(
      PKCE.challenge(of: verifier, digests: TestCrypto()),
      equals: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
  }

  @Test func stateNonceAndVerifierAreDrawnAnewAndSafeEverywhere() {
    var seen: Set<[UInt8]> = []
    for seed in 0..<200 as Range<UInt64> {
      let secrets = OIDCSamples.secrets(seed: seed)
      for secret in [secrets.state, secrets.nonce, secrets.verifier] {
        expect(secret.count, equals: 43)
        expect(secret.bytes.allSatisfy { $0.isLetterOrDigit || "-_".utf8.contains($0) })
        expect(seen.insert(secret.bytes).inserted)
      }
      expect("\(secrets)", equals: "<secret>")
    }
  }

  private func parameters(
    _ request: AuthorizationRequest, at endpoint: String = "https://a.example/authorize"
  ) throws -> (base: String, [String: String]) {
    let secrets = OIDCSamples.secrets()
    let url = try request.url(at: HTTPURL(endpoint), secrets, challenge: "challenge-1")
    let parts = url.bytes.split(separator: UInt8(ascii: "?"), maxSplits: 1)
    let query = HTTPRequest(method: .post, url: "", body: Secret(Array(parts[1]))).form
    return (String(decoding: parts[0], as: UTF8.self), query)
  }

  @Test func theURLHasEverythingAndNoSecretOfTheTokenEndpoint() throws {
    var request = AuthorizationRequest(
      clientID: "client 1&x=y", redirectURI: "http://localhost:8976/callback",
      scopes: ["openid", "email"])
    request.identityProvider = "Okta & Co"
    request.prompt = .selectAccount
    request.more = [
      AuthorizationParameter(name: "audience", value: "https://api/?a=b"),
      AuthorizationParameter(name: "prompt", value: "consent"),
    ]
    let secrets = OIDCSamples.secrets()
    let (base, parameters) = try parameters(request)
    expect(base, equals: "https://a.example/authorize")
    expect(
      parameters,
      equals: [
        "response_type": "code", "client_id": "client 1&x=y",
        "redirect_uri": "http://localhost:8976/callback", "scope": "openid email",
        "state": secrets.state.exposedText() ?? "", "nonce": secrets.nonce.exposedText() ?? "",
        "code_challenge": "challenge-1", "code_challenge_method": "S256",
        "identity_provider": "Okta & Co", "prompt": "select_account",
        "audience": "https://api/?a=b",
      ])
  }

  @Test func anEndpointsOwnQueryStays() throws {
    let request = AuthorizationRequest(
      clientID: "c", redirectURI: "http://127.0.0.1:1/", scopes: [])
    expect(try parameters(request, at: "https://a.example/auth?p=b2c").1["p"], equals: "b2c")
    expect(try parameters(request, at: "https://a.example/auth?").1["client_id"], equals: "c")
    expect(try parameters(request).1["scope"] == nil)
    expect(try HTTPURL("https://a/?p=1&%73tate=x").reservedParameter, equals: "state")
    expect(try HTTPURL("https://a/?p=1").reservedParameter == nil)
    let long = try HTTPURL("https://a/?p=" + String(repeating: "x", count: 8100))
    #expect(throws: InvalidInput.self) {
      try request.url(at: long, OIDCSamples.secrets(), challenge: "c")
    }
  }

  @Test func whatCreddSetsItselfCannotBeConfigured() {
    for name in AuthorizationParameter.reserved {
      #expect(throws: InvalidValue.self) {
        try AuthorizationParameter.checkAuthorization(name: name, value: "x")
      }
    }
    for (name, value) in [("", "x"), ("a b", "x"), ("a", "x\n"), ("prompt", "none")] {
      #expect(throws: InvalidValue.self) {
        try AuthorizationParameter.checkAuthorization(name: name, value: value)
      }
    }
    for (name, value) in [("lang", "de"), ("prompt", "login"), ("max_age", "0")] {
      #expect(throws: Never.self) {
        try AuthorizationParameter.checkAuthorization(name: name, value: value)
      }
    }
    #expect(throws: InvalidValue.self) {
      try AuthorizationParameter.checkLogout(name: "id_token_hint", value: "x")
    }
  }
}

struct RedirectURITests {
  @Test func aPortIsTakenAsItIsRegistered() throws {
    let uri = try RedirectURI("http://localhost:8976/", backend: "staff")
    expect(uri.description, equals: "http://localhost:8976/")
    expect(uri.accepts("http://localhost:8976/"))
    for other in [
      "http://localhost:8976", "http://localhost:8977/", "http://127.0.0.1:8976/",
      "http://LOCALHOST:8976/", "http://localhost:8976/x", "https://localhost:8976/",
    ] {
      expect(!uri.accepts(other), "\(other)")
    }
  }

  @Test func withoutAPortAnyWillDo() throws {
    for (text, path) in [
      ("http://127.0.0.1/", "/okta"), ("http://127.0.0.1", "/okta"),
      ("http://127.0.0.1/cb", "/cb"),
    ] {
      let uri = try RedirectURI(text, backend: "okta")
      expect(uri.takesAnyPort)
      expect(uri.description, equals: "http://127.0.0.1\(path)")
      expect(uri.accepts("http://127.0.0.1:4711\(path)"))
      expect(!uri.accepts("http://127.0.0.1:4711\(path)/"))
      expect(!uri.accepts("http://127.0.0.1:0\(path)"))
      expect(!uri.accepts("http://localhost:4711\(path)"))
      expect(!uri.accepts("http://127.0.0.1:4711\(path)?a=b"))
      expect(!uri.accepts("http://127.0.0.1:4711@evil.example\(path)"))
    }
    let six = try RedirectURI("http://[::1]/", backend: "okta")
    expect(six.takesAnyPort)
    expect(six.accepts("http://[::1]:4711/okta"))
    expect(!(try RedirectURI("http://[::1]:4711/", backend: "okta")).takesAnyPort)
  }

  @Test func otherPlacesAreRefused() {
    for text in ["http://example.com/", "ftp://localhost/", "http://localhost/?a", "/callback"] {
      #expect(throws: InvalidValue.self) { try RedirectURI(text, backend: "okta") }
    }
    #expect(throws: Never.self) { try RedirectURI("https://example.com/cb", backend: "okta") }
  }
}

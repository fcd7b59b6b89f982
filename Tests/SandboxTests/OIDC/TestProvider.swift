import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// The sandbox's provider, asked as a client and a browser ask it.
struct TestProvider {
  static let client = "sandbox-public"
  static let redirectURI = "http://127.0.0.1:4711/credd"
  static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
  /// Of that verifier (RFC 7636, appendix B).
  static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
  static let base = "http://127.0.0.1:4599"

  var sandbox: TestSandbox

  init() throws {
    sandbox = try TestSandbox()
    control("", ["SignedInAs": "alice"])
  }

  @discardableResult
  mutating func control(_ path: String, _ body: JSON? = nil) -> JSON? {
    let reply = sandbox.send(body == nil ? "GET" : "POST", "/control/oidc" + path, body)
    expect(reply.status, equals: 200, "\(reply.text)")
    return reply.json
  }

  var misuses: [String: JSON] {
    mutating get { control("")?["Misuses"]?.members ?? [:] }
  }

  mutating func wait(_ seconds: Double) { sandbox.now = sandbox.now.addingTimeInterval(seconds) }

  private static func encoded(_ parameters: [(String, String)]) -> String {
    parameters.map { formEncoded($0.0) + "=" + formEncoded($0.1) }.joined(separator: "&")
  }

  /// - Parameter changes: nil leaves a parameter out.
  private static func parameters(
    _ standard: [(String, String)], _ changes: [(String, String?)]
  ) -> [(String, String)] {
    var parameters = standard.filter { name, _ in !changes.contains { $0.0 == name } }
    for case (let name, let value?) in changes { parameters.append((name, value)) }
    return parameters
  }

  mutating func authorize(_ changes: [(String, String?)] = [], more: String = "") -> HTTPReply {
    let parameters = Self.parameters(
      [
        ("response_type", "code"), ("client_id", Self.client), ("redirect_uri", Self.redirectURI),
        ("scope", "openid offline_access"), ("state", "st~t/+a%20t"), ("nonce", "n-1"),
        ("code_challenge", Self.challenge), ("code_challenge_method", "S256"),
      ], changes)
    return sandbox.answer(
      HTTPRequest(
        method: "GET", target: "/oidc/authorize?" + Self.encoded(parameters) + more,
        headers: [HTTPField("Host", "127.0.0.1:4599")])
    ).reply
  }

  /// What the browser brings to the redirect URI.
  static func response(_ reply: HTTPReply) -> [String: String] {
    let query = reply.header("Location")?.split(separator: "?", maxSplits: 1).last ?? ""
    let form = FormParameters(String(query))
    return Dictionary(uniqueKeysWithValues: form.names.map { ($0, form[$0] ?? "") })
  }

  mutating func code(_ changes: [(String, String?)] = []) throws -> String {
    let reply = authorize(changes)
    return try #require(Self.response(reply)["code"], "\(reply.text)")
  }

  mutating func post(
    _ path: String, _ standard: [(String, String)], _ changes: [(String, String?)] = [],
    headers: [HTTPField] = [], more: String = ""
  ) -> HTTPReply {
    let parameters = Self.parameters(standard, changes)
    let fields = [
      HTTPField("Host", "127.0.0.1:4599"),
      HTTPField("Content-Type", "application/x-www-form-urlencoded"),
    ]
    return sandbox.answer(
      HTTPRequest(
        method: "POST", target: "/oidc" + path, headers: fields + headers,
        body: Array((Self.encoded(parameters) + more).utf8))
    ).reply
  }

  mutating func exchange(
    _ code: String, _ changes: [(String, String?)] = [], headers: [HTTPField] = [],
    more: String = ""
  ) -> HTTPReply {
    post(
      "/token",
      [
        ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", Self.redirectURI),
        ("code_verifier", Self.verifier), ("client_id", Self.client),
      ], changes, headers: headers, more: more)
  }

  mutating func renew(_ token: String, _ changes: [(String, String?)] = []) -> HTTPReply {
    post(
      "/token",
      [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", Self.client)],
      changes)
  }

  /// A sign-in by browser; its refresh token.
  mutating func signIn() throws -> (refresh: String, reply: HTTPReply) {
    let reply = exchange(try code())
    return (try #require(reply.json?["refresh_token"]?.text, "\(reply.text)"), reply)
  }

  mutating func startDevice() throws -> (code: String, userCode: String) {
    let reply = post(
      "/device", [("client_id", Self.client), ("scope", "openid offline_access")])
    return (
      try #require(reply.json?["device_code"]?.text), try #require(reply.json?["user_code"]?.text)
    )
  }

  mutating func poll(_ code: String) -> HTTPReply {
    post(
      "/token",
      [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("device_code", code),
        ("client_id", Self.client),
      ])
  }
}

extension HTTPReply {
  /// `error` of an OAuth reply; empty for another one.
  var oauthError: String { json?["error"]?.text ?? "" }
}

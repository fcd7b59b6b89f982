import CredCore
import Foundation
import TestSupport
import Testing

@testable import CredService

/// An OpenID Connect provider that answers at once, and notes what it was asked.
final class FakeProvider {
  static let issuer = "https://login.example.com/"
  /// Requests that begin a sign-in there.
  static let login =
    #"{"op":"login","browser":{"redirect_uri":"http://127.0.0.1:4711/okta"}}"#
  static let device = #"{"op":"login","device":true}"#

  private let clock: VirtualClock
  private let http: FakeHTTP
  /// Who signs in next.
  var user = "alice"
  /// Further claims of the ID tokens, after a comma.
  var moreClaims = ""
  /// `email_verified` of the ID tokens; nil for none.
  var emailVerified: String? = "true"
  var rotates = true
  /// Whether a token that was rotated away is taken until the next renewal.
  var hasGrace = false
  /// What the token endpoint takes.
  var delay = Duration.zero
  /// What the discovery document takes.
  var documentTime = Duration.zero
  /// Refresh tokens that came and were not alive.
  var misuses = 0
  /// Of these, how many were rotated away, and not revoked.
  private(set) var replays = 0
  var givesIDTokenAtRenewal = true
  var givesRefreshTokens = true
  var givesAccessTokens = true
  /// How long its ID tokens last, in seconds.
  var idTokenLife: Int64 = 3600
  /// Whether replies say how long an access token lasts.
  var tellsLifetime = true
  /// Answered in place of the usual reply, once each, by the last part of the path.
  var faults: [String: [FakeHTTP.Answer]] = [:]
  /// Replies of the token endpoint that are lost after it has done its work.
  var lostReplies = 0
  /// What the next questions for a device code are answered, until one is left out.
  var deviceErrors: [String] = []
  /// `iss` of its tokens, and the issuer of its discovery document.
  var tokenIssuer = FakeProvider.issuer
  var documentIssuer = FakeProvider.issuer
  /// `aud`.
  var audience = "client-1"
  /// Further ones, which make a list of it.
  var moreAudiences: [String] = []
  /// `nonce` of renewed ID tokens; nil for none.
  var renewedNonce: String?
  /// Members of the discovery document that differ.
  var tokenEndpoint = "https://login.example.com/token"
  /// The forms that the token endpoint got, in order.
  private(set) var forms: [[String: String]] = []
  private(set) var operations: [String] = []
  private(set) var live: Set<String> = []
  /// Those that stood in replies which came too late for whoever had asked.
  private(set) var lost: Set<String> = []
  private var revoked: Set<String> = []
  /// Whether a renewal's tokens are the user's who signed in. Otherwise they are ``user``'s.
  var knowsUsers = false
  /// Whose refresh tokens these are.
  private var users: [String: String] = [:]
  /// The token that was rotated away last, while it is still taken.
  private(set) var graced: String?
  /// The nonce of the last sign-in by browser.
  private(set) var nonce = ""
  private var issued = 0

  init(_ fixture: ServiceFixture) {
    clock = fixture.host.clock
    http = fixture.host.http
    let upstreams = fixture.host.upstreams
    fixture.host.http.answer = { [self] request in
      let isOwn = ["https://login.example.com/", "https://moved."].contains(
        where: request.url.hasPrefix)
      // A user pool is one too.
      return isOwn || request.url.contains("cognito-idp.")
        ? answer(request) : upstreams.answer(request)
    }
  }

  private func answer(_ request: HTTPRequest) -> FakeHTTP.Answer {
    let operation = request.operation
    operations.append(operation)
    if var list = faults[operation], !list.isEmpty {
      let fault = list.removeFirst()
      faults[operation] = list
      return fault
    }
    switch operation {
    case "openid-configuration": return .reply(200, document, after: documentTime)
    case "keys": return .reply(200, #"{"keys":[{"kty":"RSA","kid":"1"}]}"#)
    case "device":
      return .reply(
        200,
        #"{"device_code":"d-1","user_code":"WDJB-MJHT","verification_uri":"#
          + #""https://login.example.com/activate","expires_in":600,"interval":5}"#)
    case "revoke":
      let token = Self.form(request)["token"] ?? ""
      live.remove(token)
      if let graced { live.remove(graced) }
      revoked.insert(token)
      return .reply(200, "")
    default:
      let before = issued
      var reply = token(Self.form(request))
      reply.time = delay
      if issued > before, delay > http.patience { lost.insert("refresh-\(issued)") }
      guard lostReplies > 0 else { return reply }
      lostReplies -= 1
      return .failure(.reset)
    }
  }

  private var document: String {
    #"{"issuer":"\#(documentIssuer)","authorization_endpoint":"https://login.example.com/authorize","#
      + #""token_endpoint":"\#(tokenEndpoint)","#
      + #""jwks_uri":"https://login.example.com/keys","#
      + #""device_authorization_endpoint":"https://login.example.com/device","#
      + #""revocation_endpoint":"https://login.example.com/revoke","#
      + #""end_session_endpoint":"https://login.example.com/logout"}"#
  }

  private func token(_ form: [String: String]) -> FakeHTTP.Answer {
    forms.append(form)
    switch form["grant_type"] {
    case "authorization_code":
      return form["code"] == "code-1" ? tokens(nonce: nonce) : Self.error("invalid_grant")
    case "refresh_token":
      guard let old = form["refresh_token"], live.contains(old) else {
        misuses += 1
        if !revoked.contains(form["refresh_token"] ?? "") { replays += 1 }
        return Self.error("invalid_grant")
      }
      let user = users[old]
      if rotates { rotateAway(old) }
      return tokens(
        nonce: renewedNonce, of: knowsUsers ? user : nil, hasID: givesIDTokenAtRenewal,
        refresh: rotates)
    default:
      guard form["device_code"] == "d-1" else { return Self.error("invalid_grant") }
      return deviceErrors.isEmpty ? tokens(nonce: nil) : Self.error(deviceErrors.removeFirst())
    }
  }

  static func error(_ name: String) -> FakeHTTP.Answer { .reply(400, #"{"error":"\#(name)"}"#) }

  private func rotateAway(_ token: String) {
    if let graced { live.remove(graced) }
    graced = hasGrace ? token : nil
    if !hasGrace { live.remove(token) }
  }

  private func tokens(
    nonce: String?, of owner: String? = nil, hasID: Bool = true, refresh: Bool = true
  ) -> FakeHTTP.Answer {
    issued += 1
    let user = owner ?? self.user
    var body = #"{"token_type":"Bearer""#
    if givesAccessTokens { body += #","access_token":"access-\#(issued)""# }
    if tellsLifetime { body += #","expires_in":3600"# }
    if hasID { body += #","id_token":"\#(idToken(nonce, user))""# }
    if refresh, givesRefreshTokens {
      live.insert("refresh-\(issued)")
      users["refresh-\(issued)"] = user
      body += #","refresh_token":"refresh-\#(issued)""#
    }
    return .reply(200, body + "}")
  }

  private func idToken(_ nonce: String?, _ user: String) -> String {
    let now = clock.wallTime.milliseconds / 1000
    let all = ([audience] + moreAudiences).map { "\"\($0)\"" }.joined(separator: ",")
    let audience = moreAudiences.isEmpty ? all : "[\(all)]"
    var claims =
      #"{"iss":"\#(tokenIssuer)","aud":\#(audience),"sub":"s-\#(user)","iat":\#(now),"#
      + #""exp":\#(now + idTokenLife),"auth_time":\#(now),"preferred_username":"\#(user)","#
      + #""email":"\#(user)@example.com","n":\#(issued)\#(moreClaims)"#
    if let emailVerified { claims += #","email_verified":\#(emailVerified)"# }
    if let nonce { claims += #","nonce":"\#(nonce)""# }
    return SampleJWT.text(claims + "}", header: #"{"alg":"RS256"}"#)
  }

  /// The number of an ID token; nil for another token.
  static func number(of token: String) -> Int? {
    (claims(of: token)?["n"]?.integer).map { Int($0) }
  }

  /// Nil for a token that is no JWT.
  static func claims(of token: String) -> JSONValue? {
    let parts = token.split(separator: ".")
    guard parts.count == 3 else { return nil }
    let text = parts[1].replacing("-", with: "+").replacing("_", with: "/")
    let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    return Data(base64Encoded: text + padding).flatMap { try? JSONValue.parse(Array($0)) }
  }

  static func form(_ request: HTTPRequest) -> [String: String] {
    parameters(request.body.exposedText() ?? "")
  }

  static func parameters(_ text: String) -> [String: String] {
    var form: [String: String] = [:]
    for pair in text.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      form[String(parts[0])] = String(parts.last ?? "").removingPercentEncoding ?? ""
    }
    return form
  }

  /// What a browser does with the URL of a challenge: the query that it brings back.
  func browse(_ challenge: Reply, code: String = "code-1") -> String {
    let url = challenge["Challenge"]?["Parameters"]?["Url"]?.text ?? ""
    let query = Self.parameters(String(url.drop { $0 != "?" }.dropFirst()))
    nonce = query["nonce"] ?? ""
    return "code=\(code)&state=\(query["state"] ?? "")"
  }
}

extension Configured {
  /// A profile whose users sign in at a provider.
  static func provider(backend: String = "", profile: String = "") -> String {
    """
    [backend okta]
    type = oidc
    issuer = \(FakeProvider.issuer)
    client_id = client-1
    redirect_uri = http://127.0.0.1/
    sign_in = browser paste device
    timeout = 2s
    \(backend)
    [profile default]
    identity_pool_id = \(FakeUpstreams.pool)
    backend = okta
    cognito_endpoint = http://127.0.0.1:4599
    \(profile)

    """
  }
}

extension ServiceFixture {
  static func ofProvider(
    _ text: String = Configured.provider()
  ) throws -> (fixture: ServiceFixture, provider: FakeProvider) {
    let fixture = try ServiceFixture(text)
    return (fixture, FakeProvider(fixture))
  }

  /// By browser, until a question or the end.
  func signInAtProvider(_ provider: FakeProvider, uid: UInt32 = 1000) throws -> Reply {
    let asked = try ask(FakeProvider.login, uid: uid)
    return try ask(asked.response("response", "\"\(provider.browse(asked))\""), uid: uid)
  }
}

extension Reply {
  /// `respond` to a challenge of this reply.
  func response(_ name: String, _ value: String) -> String {
    let handle = self["Challenge"]?["Handle"]?.text ?? ""
    return #"{"op":"respond","handle":"\#(handle)","answers":{"\#(name)":\#(value)}}"#
  }

  func waiting(_ seconds: Int) -> String {
    let handle = self["Challenge"]?["Handle"]?.text ?? ""
    return #"{"op":"respond","handle":"\#(handle)","wait":\#(seconds)}"#
  }
}

import CredCore
import CredService

/// Providers of OpenID Connect: a server's users sign in there by browser, or by device code. What they give is renewed and
/// ends as a user pool's tokens do.
extension HistoryUserPools {
  /// A code that a browser brings back, bound to all that it was given for.
  struct Code {
    let user: User
    let client: String
    let redirectURI: String
    let challenge: String
    let nonce: String
    let ends: Instant
    /// What came of it; nil before.
    var family: Int?
  }

  /// `{"alg":"RS256"}`.
  private static let header = "eyJhbGciOiJSUzI1NiJ9"

  static func issuer(of server: String) -> String { "https://\(server).example.com/" }

  // MARK: The browser

  /// What a person's browser brings back from the URL of a sign-in; nil for no such URL.
  func browse(_ url: String, as person: Int) -> String? {
    let query = HistoryForm(url.drop { $0 != "?" }.dropFirst())
    guard let server = url.split(separator: "/").dropFirst().first?.split(separator: ".").first,
      let state = query["state"], let challenge = query["code_challenge"],
      let nonce = query["nonce"], let redirectURI = query["redirect_uri"],
      let client = query["client_id"]
    else { return nil }
    let user = User(server: String(server), person: person)
    let number = add(.session, user, 0, lifetime: 300)
    codes[number] = Code(
      user: user, client: client, redirectURI: redirectURI, challenge: challenge, nonce: nonce,
      ends: world.later(300))
    return "code=\(HistorySecret.text(number))&state=\(state)"
  }

  // MARK: Requests

  func discovery(_ server: String) -> HTTPReply {
    let url = "https://\(server).example.com"
    return .plain(
      200,
      #"{"issuer":"\#(url)/","authorization_endpoint":"\#(url)/authorize","#
        + #""token_endpoint":"\#(url)/oauth/token","revocation_endpoint":"\#(url)/oauth/revoke","#
        + #""device_authorization_endpoint":"\#(url)/oauth/device"}"#)
  }

  /// A code is good once. Shown again, it ends what came of it (RFC 6749, 4.1.2).
  func exchange(_ body: JSONValue?, _ server: String) -> HTTPReply {
    guard let number = body?["Code"].flatMap(number), let code = codes[number],
      code.user.server == server
    else { return .refusedGrant }
    if let family = code.family {
      world.violate(
        .usedOnce, "the code \(number) of \(code.user.name) is used twice")
      end(family)
      return .refusedGrant
    }
    let verifier = Array((body?["Verifier"]?.text ?? "").utf8)
    let digest = Base64.encodeURL(ToyCrypto().sha256(verifier))
    guard code.ends > world.now, body?["RedirectURI"]?.text == code.redirectURI,
      body?["ClientId"]?.text == code.client, digest.elementsEqual(code.challenge.utf8)
    else { return .refusedGrant }
    let (family, refresh) = begin(code.user)
    codes[number]?.family = family
    return tokens(code.user, family, refresh: refresh, client: code.client, nonce: code.nonce)
  }

  /// The reply with tokens, at a sign-in or a renewal.
  func tokens(
    _ user: User, _ family: Int, refresh: Int?, client: String, nonce: String? = nil
  ) -> HTTPReply {
    let lifetime = world.random.pick([300.0, 3600])
    let now = world.trueTime.milliseconds / 1000
    let id = handOut(.id, user, family, lifetime)
    let access = handOut(.access, user, family, lifetime)
    let claims =
      #","iat":\#(now),"auth_time":\#(now),"sub":"sub-\#(user.person)","#
      + #""iss":"\#(Self.issuer(of: user.server))","aud":"\#(client)","#
      + #""preferred_username":"\#(user.name)""#
      + (nonce.map { #","nonce":"\#($0)""# } ?? "")
    let token = HistorySecret.token(
      id, expires: world.trueTime + .seconds(1) * lifetime, claims: claims, header: Self.header)
    let more = refresh.map { #","refresh_token":"\#(HistorySecret.text($0))""# } ?? ""
    return .plain(
      200,
      #"{"id_token":"\#(token)","access_token":"\#(HistorySecret.text(access))","#
        + #""token_type":"Bearer","expires_in":\#(Int(lifetime))\#(more)}"#)
  }

  func handOut(_ kind: Given.Kind, _ user: User, _ family: Int, _ lifetime: Double) -> Int {
    let number = add(kind, user, family, lifetime: lifetime)
    upstreams.gave(
      HistoryUpstreams.Token(
        persons: [user.person], identity: kind == .id ? "\(user.server) \(user.name)" : "",
        pool: "", server: kind == .id ? nil : user.server, ends: world.later(lifetime)),
      as: number)
    return number
  }
}

extension HTTPRequest {
  /// The operation of a request to a provider, as user pools name it, and what it brings; nil for others.
  var providerOperation: (name: String, body: JSONValue)? {
    if url.hasSuffix("/.well-known/openid-configuration") {
      return ("Discovery", .object([]))
    }
    let names = ["/oauth/token", "/oauth/revoke", "/oauth/device"]
    guard let place = names.first(where: { url.hasSuffix($0) }) else { return nil }
    let form = HistoryForm((body.exposedText() ?? "")[...])
    let members = [
      "refresh_token": "RefreshToken", "device_code": "DeviceCode", "token": "Token",
      "code": "Code",
      "code_verifier": "Verifier", "redirect_uri": "RedirectURI", "client_id": "ClientId",
    ]
    let body = members.sorted { $0.key < $1.key }.compactMap { name, member in
      form[name].map { JSONMember(key: member, keyOffset: 0, value: .string(Secret($0))) }
    }
    let name =
      switch (place, form["grant_type"]) {
      case ("/oauth/revoke", _): "RevokeToken"
      case ("/oauth/device", _): "StartDevice"
      case (_, "refresh_token"): "GetTokensFromRefreshToken"
      case (_, "urn:ietf:params:oauth:grant-type:device_code"): "PollDevice"
      default: "ExchangeCode"
      }
    return (name, .object(body))
  }
}

extension HTTPReply {
  static let refusedGrant = plain(400, #"{"error":"invalid_grant"}"#)

  /// A user pool's reply in a provider's words. Tokens have them already.
  var ofProvider: HTTPReply {
    guard status == 400, let body = try? JSONValue.parse(body.bytes),
      let type = body["__type"]?.text
    else { return self }
    guard type == "UserLambdaValidationException" else { return .refusedGrant }
    let note = body["message"]?.text ?? ""
    return .plain(400, #"{"error":"server_error","error_description":"\#(note)"}"#)
  }
}

/// A form, or a query.
struct HistoryForm {
  private var values: [String: String] = [:]

  init(_ text: Substring) {
    for pair in text.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = PercentEncoding.decodeForm((parts.count > 1 ? parts[1] : "").utf8) ?? []
      values[String(parts[0])] = String(decoding: value, as: UTF8.self)
    }
  }

  subscript(_ name: String) -> String? { values[name] }
}

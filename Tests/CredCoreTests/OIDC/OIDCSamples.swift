import SeededRandom
import TestSupport

@testable import CredCore

/// A provider, a client and tokens for the tests of OpenID Connect.
enum OIDCSamples {
  static let issuerText = "https://login.example.com/"
  static let now = WallTime(secondsSince1970: 1_800_000_000)

  static var issuer: OIDCIssuer { get throws { try OIDCIssuer(issuerText) } }

  /// A discovery document. Nil leaves a member out.
  static func document(_ changed: [(String, String?)] = []) -> String {
    var members: [(String, String)] = [
      ("issuer", "\"\(issuerText)\""),
      ("authorization_endpoint", #""https://login.example.com/authorize""#),
      ("token_endpoint", #""https://login.example.com/token""#),
      ("device_authorization_endpoint", #""https://login.example.com/device""#),
      ("revocation_endpoint", #""https://login.example.com/revoke""#),
      ("end_session_endpoint", #""https://login.example.com/logout""#),
    ]
    for (name, value) in changed {
      members.removeAll { $0.0 == name }
      if let value { members.append((name, value)) }
    }
    return "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
  }

  static func provider(
    _ changed: [(String, String?)] = [], configured: ProviderEndpoints = ProviderEndpoints()
  ) throws -> ProviderMetadata {
    try ProviderMetadata(
      from: Samples.reply(200, document(changed)), of: issuer, configured: configured, for: "okta")
  }

  static func client(
    _ authentication: ClientAuthentication = .none, _ changed: [(String, String?)] = [],
    trusting audiences: [String] = [], vendsIDTokens: Bool = false
  ) throws -> OIDCClient {
    try OIDCClient(
      backend: "okta", provider: provider(changed), id: "client-1", authentication: authentication,
      trustedAudiences: audiences, vendsIDTokens: vendsIDTokens)
  }

  static func secrets(seed: UInt64 = 7) -> AuthorizationSecrets {
    var generator = SeededGenerator(seed: seed)
    return AuthorizationSecrets(using: &generator)
  }

  /// The claims of an ID token, as JSON. Nil leaves a claim out.
  static func claims(_ changed: [(String, String?)] = []) -> String {
    var members: [(String, String)] = [
      ("iss", "\"\(issuerText)\""), ("aud", "\"client-1\""), ("sub", "\"user-1\""),
      ("exp", "1800003600"), ("iat", "1800000000"), ("auth_time", "1799999990"),
      ("preferred_username", "\"alice\""),
    ]
    for (name, value) in changed {
      members.removeAll { $0.0 == name }
      if let value { members.append((name, value)) }
    }
    return "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
  }

  static func token(
    _ changed: [(String, String?)] = [], header: String = #"{"alg":"RS256"}"#
  ) -> Secret {
    Secret(SampleJWT.text(claims(changed), header: header))
  }

  /// A reply of the token endpoint.
  static func tokens(
    id: Secret?, refresh: String? = "refresh-1", type: String = "Bearer", more: String = ""
  ) -> HTTPReply {
    var body = #"{"access_token":"access-1","token_type":"\#(type)","expires_in":3600"#
    if let id = id?.exposedText() { body += #","id_token":"\#(id)""# }
    if let refresh { body += #","refresh_token":"\#(refresh)""# }
    return Samples.reply(200, body + more + "}")
  }

  static func error(_ name: String, status: Int = 400, _ description: String? = nil) -> HTTPReply {
    let more = description.map { #","error_description":"\#($0)""# } ?? ""
    return Samples.reply(status, #"{"error":"\#(name)"\#(more)}"#)
  }
}

extension HTTPRequest {
  /// The form of the body, in order.
  var form: [String: String] {
    var form: [String: String] = [:]
    for pair in body.bytes.split(separator: UInt8(ascii: "&")) {
      let parts = pair.split(separator: UInt8(ascii: "="), omittingEmptySubsequences: false)
      let decoded = parts.map {
        String(decoding: PercentEncoding.decodeForm($0) ?? [], as: UTF8.self)
      }
      form[decoded[0]] = decoded.count > 1 ? decoded[1] : ""
    }
    return form
  }

  var authorization: String? {
    headers.first { $0.name == "Authorization" }?.value.exposedText()
  }
}

extension OIDCTokenReply {
  /// With tokens of which all is of use.
  init(_ tokens: OIDCTokens) { self.init(refresh: tokens.refresh, tokens: .success(tokens)) }
}

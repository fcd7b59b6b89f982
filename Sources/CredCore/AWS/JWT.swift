/// JSON Web Tokens (RFC 7519), read without verification, which only their issuers and Cognito can
/// do.
enum JWT {
  /// The payload (§3): the middle one of three base64url parts; nil for another kind of token.
  static func claims(of token: Secret) -> JSONValue? { part(1, of: token) }

  /// The header of a signed token (RFC 7515 §4): the first of the three parts.
  static func header(of token: Secret) -> JSONValue? { part(0, of: token) }

  /// Whether the last part holds bytes (RFC 7515 §3).
  static func hasSignature(_ token: Secret) -> Bool {
    let signature = token.bytes.split(
      separator: UInt8(ascii: "."), omittingEmptySubsequences: false
    ).last
    return signature.flatMap { Base64.decode($0, .url) }.map { !$0.isEmpty } ?? false
  }

  private static func part(_ index: Int, of token: Secret) -> JSONValue? {
    let parts = token.bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let content = Base64.decode(parts[index], .url) else { return nil }
    return try? JSONValue.parse(content)
  }
}

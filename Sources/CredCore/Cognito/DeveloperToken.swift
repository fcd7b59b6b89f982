/// An OpenID token that a backend got from GetOpenIdTokenForDeveloperIdentity.
///
/// Its claims are read without verifying it, which only Cognito can: they say when to fetch the
/// next one and help to name a mistake early. A token that is no JWT (an emulator's) has none.
public struct DeveloperToken: Sendable, Equatable {
  /// Sent to Cognito as it is.
  public let token: Secret
  /// `exp`.
  public let expiration: WallTime?
  /// `iat`.
  public let issuedAt: WallTime?

  /// - Throws: where it is empty or over 50,000 characters, which Cognito refuses.
  public init(_ token: Secret) throws(InvalidInput) {
    guard !token.isEmpty, LoginsMap.characters(token.bytes) <= Limits.tokenLength else {
      throw InvalidInput(field: "Token", reason: "is empty or over 50000 characters")
    }
    let claims = Self.claims(of: token)
    self.token = token
    self.expiration = Self.time(claims?["exp"])
    self.issuedAt = Self.time(claims?["iat"])
  }

  /// One that was read before: its claims are not read again.
  init(known token: Secret, expiration: WallTime?, issuedAt: WallTime?) {
    self.token = token
    self.expiration = expiration
    self.issuedAt = issuedAt
  }

  /// `aud`: the identity pool. Looked at once, when the token comes, so it is not kept beside it.
  public var audience: String? { Self.claims(of: token)?["aud"]?.text }

  /// The payload of a JWT (RFC 7519 §3): the middle one of three base64url parts.
  private static func claims(of token: Secret) -> JSONValue? {
    let parts = token.bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64.decode(parts[1], .url) else { return nil }
    return try? JSONValue.parse(payload)
  }

  /// A NumericDate, which may carry a fraction.
  private static func time(_ value: JSONValue?) -> WallTime? {
    value?.double.flatMap { WallTime(plausibleSecondsSince1970: $0) }
  }
}

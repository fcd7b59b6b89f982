/// An OpenID token that a backend got from GetOpenIdTokenForDeveloperIdentity.
///
/// Its claims are read without verification, which only Cognito can do. They show when to fetch the
/// next token, and reveal mistakes early. A token of an emulator may be no JWT, and has no claims.
public struct DeveloperToken: Sendable, Equatable {
  /// Sent to Cognito unchanged.
  public let token: Secret
  /// `exp`.
  public let expiration: WallTime?

  /// - Throws: if the token is empty or over 50,000 characters, which Cognito refuses.
  public init(_ token: Secret) throws(InvalidInput) {
    guard !token.isEmpty, UTF8Sequence.codePoints(token.bytes) <= Limits.Upstream.tokenLength else {
      throw InvalidInput(field: "Token", reason: "is empty or over 50000 characters")
    }
    let claims = JWT.claims(of: token)
    self.token = token
    self.expiration = claims?["exp"]?.plausibleTime
  }

  /// A token whose claims were read before.
  init(known token: Secret, expiration: WallTime?) {
    self.token = token
    self.expiration = expiration
  }

  /// `iat`. It is not stored, as `aud` below.
  private var issued: WallTime? { JWT.claims(of: token)?["iat"]?.plausibleTime }

  /// The time until the token expires; nil if the token does not say it.
  ///
  /// Cognito made the token and judges it, so its clock counts. No single clock makes a token an
  /// expired one. A clock of this host, of the backend or of one server of AWS may be fast, and must
  /// not lock users out. Cognito refuses what has expired.
  ///
  /// - Parameters:
  ///   - aws: AWS's time, if one of its servers has told it.
  ///   - others: the time of this host and, if it came with the reply, of the backend.
  public func lifetime(aws: WallTime?, others: [WallTime]) -> Duration? {
    guard let expiration else { return nil }
    let trusted = aws.flatMap { $0 < expiration ? $0 : nil }
    guard let now = trusted ?? (others + [aws].compactMap(\.self)).min() else { return nil }
    let left = expiration - now
    return issued.map { min(left, max(.zero, expiration - $0)) } ?? left
  }

  /// `aud`: the identity pool. It is not stored, because it is used only when the token arrives.
  public var audience: String? { JWT.claims(of: token)?["aud"]?.text }

  /// `sub`: the IdentityId, in a token of Cognito; nil for other tokens.
  var subject: IdentityID? {
    (JWT.claims(of: token)?["sub"]?.text).flatMap { try? IdentityID($0) }
  }
}

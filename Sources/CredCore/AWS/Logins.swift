/// The tokens that authenticate a user, for each provider (Cognito API reference, Logins).
///
/// The order is kept: equal logins are equal bytes in a request.
public struct LoginsMap: Sendable, Equatable {
  public struct Login: Sendable, Equatable {
    public let provider: String
    public let token: Secret
  }

  public private(set) var logins: [Login] = []

  public init() {}

  /// The map with a developer token as its only login, for Cognito's requests.
  init(developerToken token: DeveloperToken, key: String) {
    logins = [Login(provider: key, token: token.token)]
  }

  /// - Throws: if there are more than ten logins, if a provider occurs twice, or if
  ///   ``set(_:token:)`` throws.
  public init(_ logins: [(provider: String, token: Secret)]) throws(InvalidInput) {
    for (provider, token) in logins {
      guard self[provider] == nil else {
        throw InvalidInput(field: "logins", reason: "name \(provider.quoted) twice")
      }
      try set(provider, token: token)
    }
  }

  public var isEmpty: Bool { logins.isEmpty }

  /// The number of bytes of all tokens.
  public var byteCount: Int { logins.reduce(0) { $0 + $1.token.count } }

  public subscript(provider: String) -> Secret? {
    logins.first { $0.provider == provider }?.token
  }

  /// Adds a login or replaces the provider's token.
  ///
  /// - Throws: if Cognito would refuse the provider's name or the token.
  public mutating func set(_ provider: String, token: Secret) throws(InvalidInput) {
    try Self.check(provider: provider)
    guard !token.isEmpty, UTF8Sequence.codePoints(token.bytes) <= Limits.Upstream.tokenLength else {
      throw InvalidInput(
        field: "logins",
        reason:
          "hold a token for \(provider.quoted) that is empty or over 50000 characters")
    }
    if let index = logins.firstIndex(where: { $0.provider == provider }) {
      logins[index] = Login(provider: provider, token: token)
    } else {
      guard logins.count < Limits.Upstream.logins else {
        throw InvalidInput(field: "logins", reason: "are more than \(Limits.Upstream.logins)")
      }
      logins.append(Login(provider: provider, token: token))
    }
  }

  /// Removes the provider's login, if there is one.
  public mutating func remove(_ provider: String) {
    logins.removeAll { $0.provider == provider }
  }

  /// Whether one of the logins is a developer token. GetId refuses it ("Can't pass in a Cognito
  /// token"), because the backend gives the IdentityId with it.
  public var holdsDeveloperToken: Bool {
    logins.contains {
      let provider = $0.provider.lowercased()
      return provider.hasPrefix("cognito-identity.") || provider.hasPrefix("cognito-identity-")
    }
  }

  private static func check(provider: String) throws(InvalidInput) {
    guard !provider.isEmpty, provider.unicodeScalars.count <= Limits.Upstream.providerLength,
      provider.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F })
    else {
      throw InvalidInput(
        field: "logins", reason: "hold a provider name that is empty, over 128 characters or blank")
    }
    guard !provider.contains(bytesOf: "://") else {
      throw InvalidInput(
        field: "logins", reason: "hold a provider name with a scheme: Cognito wants it without")
    }
  }
}

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

  /// The time until it expires; nil if it does not say that.
  ///
  /// Cognito made the token and judges it, so its clock counts. No clock alone makes a token an expired
  /// one: one that is fast, here, at the backend or at one server of AWS, must not lock users out. Cognito
  /// refuses what has expired.
  ///
  /// - Parameters:
  ///   - aws: AWS's time, if a server of it has told that.
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

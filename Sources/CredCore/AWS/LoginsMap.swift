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

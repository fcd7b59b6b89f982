/// Tokens of an OpenID Connect provider that is not a user pool.
extension ProviderTokens {
  /// The claims of the tokens were checked, and the names in them are only for people.
  ///
  /// - Throws: without an access token, which every provider gives (RFC 6749, 5.1).
  public init(_ tokens: OIDCTokens) throws(InvalidInput) {
    guard let access = tokens.access else {
      throw InvalidInput(field: "access_token", reason: "is missing")
    }
    self.init(
      id: ProviderToken(tokens.id), access: ProviderToken(opaque: access),
      refresh: tokens.refresh, accessLifetime: tokens.accessLifetime)
  }
}

extension ProviderToken {
  fileprivate init(_ token: IDToken) {
    self.init(
      token: token.token, expiration: token.expiration, issued: token.issued,
      signedIn: token.signedIn, subject: token.subject)
  }

  /// A token that only its provider understands.
  fileprivate init(opaque token: Secret) {
    self.init(token: token, expiration: nil, issued: nil, signedIn: nil, subject: nil)
  }
}

extension AcceptedSignIn {
  /// - Parameter issuer: the client and provider of the configuration.
  /// - Throws: without an access token.
  public init(_ signIn: ProviderSignIn, as issuer: ProviderIssuer) throws(InvalidInput) {
    let id = signIn.tokens.id
    self.init(
      tokens: try ProviderTokens(signIn.tokens), username: id.username ?? id.subject,
      issuer: issuer,
      serverTime: signIn.serverTime, received: signIn.received,
      tokenEndpoint: signIn.provider.token.text, nonce: id.nonce)
  }
}

/// Tokens that a user pool's Hosted UI gave. From then on they are as those of any other sign-in there.
extension PoolTokens {
  /// - Throws: if one of them is not of this pool and client.
  public init(_ tokens: OIDCTokens, of client: UserPoolClient) throws(InvalidInput) {
    guard let access = tokens.access else {
      throw InvalidInput(field: "access_token", reason: "is missing")
    }
    self.init(
      id: try PoolToken(tokens.id.token, .id, of: client),
      access: try PoolToken(access, .access, of: client), refresh: tokens.refresh,
      accessLifetime: tokens.accessLifetime)
  }
}

extension PoolTokens {
  /// Of a provider that is no user pool: its claims were checked, and its names are for people alone.
  ///
  /// - Throws: without an access token, which every provider gives (RFC 6749, 5.1).
  public init(_ tokens: OIDCTokens) throws(InvalidInput) {
    guard let access = tokens.access else {
      throw InvalidInput(field: "access_token", reason: "is missing")
    }
    self.init(
      id: PoolToken(tokens.id), access: PoolToken(opaque: access),
      refresh: tokens.refresh, accessLifetime: tokens.accessLifetime)
  }
}

extension PoolToken {
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

extension PoolSignIn {
  /// - Parameter issuer: the client and provider of the configuration.
  /// - Throws: without an access token.
  public init(_ signIn: ProviderSignIn, as issuer: PoolIssuer) throws(InvalidInput) {
    let id = signIn.tokens.id
    self.init(
      tokens: try PoolTokens(signIn.tokens), username: id.username ?? id.subject, issuer: issuer,
      serverTime: signIn.serverTime, received: signIn.received,
      tokenEndpoint: signIn.provider.token.text)
  }

  /// - Throws: if a token is not of this pool and client.
  public init(_ signIn: ProviderSignIn, of client: UserPoolClient) throws(InvalidInput) {
    let tokens = try PoolTokens(signIn.tokens, of: client)
    self.init(
      tokens: tokens,
      username: tokens.access.username ?? tokens.id.username ?? signIn.tokens.id.subject,
      issuer: client.issuer, serverTime: signIn.serverTime, received: signIn.received)
  }
}

/// Tokens that a user pool's Hosted UI gave. From then on they are like tokens of any other sign-in
/// at the pool.
extension ProviderTokens {
  /// - Throws: if a token does not belong to this pool and client.
  public init(_ tokens: OIDCTokens, of client: UserPoolClient) throws(InvalidInput) {
    guard let access = tokens.access else {
      throw InvalidInput(field: "access_token", reason: "is missing")
    }
    self.init(
      id: try ProviderToken(tokens.id.token, .id, of: client),
      access: try ProviderToken(access, .access, of: client), refresh: tokens.refresh,
      accessLifetime: tokens.accessLifetime)
  }
}

extension AcceptedSignIn {
  /// - Throws: if a token does not belong to this pool and client.
  public init(_ signIn: ProviderSignIn, of client: UserPoolClient) throws(InvalidInput) {
    let tokens = try ProviderTokens(signIn.tokens, of: client)
    self.init(
      tokens: tokens,
      username: tokens.access.username ?? tokens.id.username ?? signIn.tokens.id.subject,
      issuer: client.issuer, serverTime: signIn.serverTime, received: signIn.received)
  }
}

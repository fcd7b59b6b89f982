/// How a call ended.
public enum UpstreamOutcome: Sendable, Equatable {
  /// The backend accepted the password.
  case signedIn(BackendSession)
  /// A provider's new tokens, and the provider's time when it gave them.
  case providerTokens(ProviderTokens, serverTime: WallTime?)
  /// A provider's new refresh token, which came without usable tokens.
  case refreshTokenReplaced(Secret, UpstreamFailure)
  /// The content of the token file.
  case fileToken(Secret)
  /// The result of a token callback or GetOpenIdToken. `lifetime` is the token's remaining time by
  /// the server's clock.
  case token(identityID: IdentityID, token: DeveloperToken, lifetime: Duration?)
  case identity(IdentityID)
  /// `lifetime` is the remaining time of the credentials by the server's clock.
  /// `identityID` is nil without an identity pool.
  case credentials(Credentials, identityID: IdentityID?, lifetime: Duration)
  /// The source has what was asked for: its ``SourceFacts`` came before.
  case sourceRenewed
  /// Credentials that a source's have signed for, with their remaining time by STS's clock.
  case derived(Credentials, lifetime: Duration)
  case failed(UpstreamFailure)
}

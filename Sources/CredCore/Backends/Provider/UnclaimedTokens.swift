/// Tokens that a provider gave and that no session has: credd revokes them.
public struct UnclaimedTokens: Sendable, Equatable {
  public let refresh: Secret
  /// The provider that gave the tokens.
  public let provider: ProviderMetadata
  /// The user of the tokens; nil if it is unknown.
  public let subject: String?

  /// Returns nil without a refresh token, because then no token can be revoked.
  init?(_ refresh: Secret?, from provider: ProviderMetadata, of subject: String?) {
    guard let refresh else { return nil }
    self.refresh = refresh
    self.provider = provider
    self.subject = subject
  }
}

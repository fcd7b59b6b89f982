/// The purpose of a request to an OpenID Connect provider, because the meaning of an error depends
/// on it.
public enum OIDCPurpose: Sendable, CaseIterable {
  /// The discovery document.
  case discovery
  /// The exchange of a code for tokens.
  case signIn
  /// The request for a device code.
  case deviceStart
  /// The exchange of a device code for tokens.
  case deviceCode
  /// New tokens for a session.
  case renewal
  /// The end of a session at the provider.
  case revocation
}

extension UpstreamFailure {
  /// The provider has no device codes.
  public static func noDeviceGrant(at backend: String) -> Self {
    Self(.backend(backend), FailureTable.noDeviceGrant)
  }

  /// A session's tokens have expired, and the provider gave no refresh token.
  public static func noRefreshToken(from backend: String) -> Self {
    Self(.backend(backend), FailureTable.noRefreshToken)
  }

  /// Discovery or the configuration now names another token endpoint. The old endpoint gave the
  /// session's tokens.
  public static func movedProvider(_ backend: String) -> Self {
    Self(.backend(backend), FailureTable.movedProvider)
  }

  /// A provider's keys cannot be read.
  public static func unusableKeys(of backend: String) -> Self {
    Self(.backend(backend), FailureTable.unusableKeys)
  }

  /// An unsuccessful reply of a provider.
  static func provider(
    _ reply: HTTPReply, from upstream: Upstream, _ purpose: OIDCPurpose
  ) -> Self {
    let error = OAuthError(reply)
    let row = FailureTable.oidc(reply, error, purpose)
    var failure = Self(
      upstream, row, retryAfter: reply.retryAfter, fact: error?.name ?? "status \(reply.status)",
      said: error?.message)
    failure.reason = error?.reason
    return failure
  }

  /// An error that the browser brought.
  ///
  /// - Parameter error: nil if its name is not valid.
  static func authorization(_ error: OAuthError?, from upstream: Upstream) -> Self {
    let row =
      error.flatMap { error in FailureTable.authorization.first { $0.name == error.name } }
      ?? FailureTable.unknownAuthorizationError
    var failure = Self(upstream, row, fact: error?.name, said: error?.message)
    failure.reason = error?.reason
    return failure
  }
}

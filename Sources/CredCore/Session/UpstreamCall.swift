/// One call that a session asks for. Its outcome comes back as an event.
public enum UpstreamCall: Sendable, Equatable {
  /// Sends user name and password to the backend.
  case signIn(username: String, password: Secret)
  /// Reads the profile's `web_identity_token_file`.
  case readTokenFile
  /// Asks a provider for new tokens. A provider that rotates refresh tokens accepts each only once.
  case renewProviderTokens(ProviderSession, way: PoolRenewalWay)
  /// Asks the backend for an IdentityId and a developer token.
  ///
  /// `isForced`: the backend must make a new token, even if it keeps one.
  case tokenCallback(
    identityID: IdentityID?, logins: LoginsMap, session: BackendSession?, isForced: Bool = false)
  /// GetId, for guests and for logins other than the developer's.
  case getID(logins: LoginsMap)
  /// GetOpenIdToken, in the basic flow, for guests and for logins other than the developer's.
  case getOpenIDToken(identityID: IdentityID, logins: LoginsMap)
  /// GetCredentialsForIdentity: the enhanced flow.
  ///
  /// `customRoleARN` comes from a `login` and replaces the profile's own.
  case getCredentials(identityID: IdentityID, logins: LoginsMap, customRoleARN: String? = nil)
  /// AssumeRoleWithWebIdentity: the basic flow, and without an identity the direct one.
  case assumeRole(identityID: IdentityID?, token: Secret)
  /// Asks the session from which this one is derived for credentials. It is no call of the network.
  case renewSource(SourceDemand)
  /// GetScopedCredentials or AssumeRole, signed with a source's credentials.
  case derive(from: SourceCredentials)
}

extension UpstreamCall {
  var isPasswordCheck: Bool { if case .signIn = self { true } else { false } }
  var isRenewal: Bool { if case .renewProviderTokens = self { true } else { false } }
}

/// The operation that renews a user pool's tokens.
public enum PoolRenewalWay: Sendable, Equatable {
  /// Works with and without rotation of refresh tokens.
  case getTokensFromRefreshToken
  /// InitiateAuth, if a pool or an emulator does not know GetTokensFromRefreshToken.
  case refreshTokenAuth

  /// Whether the reply may have another refresh token. A pool that rotates them refuses InitiateAuth.
  public var mayReplaceToken: Bool { self == .getTokensFromRefreshToken }
}

/// A renewal at a user pool or a provider. It outlives the refresh that asked for it: if refresh
/// tokens are rotated, only its outcome has the next one. A `clear`, a sign-in or another profile
/// ends the refresh. The session still takes the tokens, and starts no other renewal meanwhile.
struct ProviderRenewal: Sendable, Equatable {
  let call: CallID
  /// The refresh token that was sent.
  let token: Secret
  let started: Instant
}

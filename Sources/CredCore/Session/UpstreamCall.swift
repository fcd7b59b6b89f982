/// Names one upstream call, from the machine that wants it to the outcome that comes back.
///
/// The same id stands for the call in the session's machine, in the queue of its upstream endpoint and in the
/// exchange. An id is never used again, so a late outcome cannot name another call.
public struct CallID: Hashable, Comparable, Sendable, CustomStringConvertible {
  let number: UInt64

  public static func < (one: CallID, other: CallID) -> Bool { one.number < other.number }

  public var description: String { String(number) }
}

/// Gives each id of a call once. A daemon has one generator.
public struct CallIDs: Sendable {
  private var last: UInt64 = 0

  public init() {}

  public mutating func next() -> CallID {
    last += 1
    return CallID(number: last)
  }
}

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

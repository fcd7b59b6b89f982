/// The error codes of replies. Scripts depend on the spelling.
public enum ProtocolErrorCode: String, Sendable, Hashable, CaseIterable {
  case invalidRequest = "InvalidRequest"
  case requestTooLarge = "RequestTooLarge"
  case unknownOperation = "UnknownOperation"
  case unknownProfile = "UnknownProfile"
  case accessDenied = "AccessDenied"
  case signInRequired = "SignInRequired"
  case signInFailed = "SignInFailed"
  case backendRejected = "BackendRejected"
  case backendUnavailable = "BackendUnavailable"
  case tokenRejected = "TokenRejected"
  case throttled = "Throttled"
  case cognitoUnavailable = "CognitoUnavailable"
  case identityConflict = "IdentityConflict"
  case poolMisconfigured = "PoolMisconfigured"
  /// The backend refuses to make or to change the account.
  case accountRefused = "AccountRefused"
  /// The account is not confirmed yet.
  case confirmationRequired = "ConfirmationRequired"
  /// The user must set a new password, with a code.
  case passwordResetRequired = "PasswordResetRequired"
  /// The handle of a challenge is not the caller's, has ended or is too old.
  case unknownChallenge = "UnknownChallenge"
  /// The endpoint is off: credd serves no HTTP clients.
  case endpointOff = "EndpointOff"
  case timeout = "Timeout"
  case tooManyRequests = "TooManyRequests"
  case shuttingDown = "ShuttingDown"
  case `internal` = "Internal"
}

/// The kinds of errors, for clients that do not know the code.
public enum ProtocolErrorKind: String, Sendable, Hashable, CaseIterable {
  /// The request is wrong.
  case request
  /// The user may not do this.
  case denied
  /// The user must sign in.
  case signIn
  /// The same request may succeed later.
  case temporary
  /// Nothing changes until an operator acts.
  case permanent
}

extension ProtocolErrorCode {
  /// The kind of most errors of this code.
  public var kind: ProtocolErrorKind {
    switch self {
    case .invalidRequest, .requestTooLarge, .unknownOperation, .unknownProfile: .request
    case .accessDenied, .backendRejected, .accountRefused: .denied
    case .signInRequired, .signInFailed, .tokenRejected, .confirmationRequired,
      .passwordResetRequired, .unknownChallenge:
      .signIn
    case .backendUnavailable, .cognitoUnavailable, .throttled, .timeout, .tooManyRequests,
      .shuttingDown:
      .temporary
    case .identityConflict, .poolMisconfigured, .endpointOff, .internal: .permanent
    }
  }
}

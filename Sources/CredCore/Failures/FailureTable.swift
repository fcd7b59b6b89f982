/// The meaning of every failure of Cognito, STS and backends: the one table.
///
/// A row has the error's name, the session's reaction, the error code for clients, the severity, and
/// the message, which follows the upstream's name ("Cognito …"). The first row that fits applies, so
/// narrower rows come first. This file has the errors with a name. Errors known by status or transport
/// are in FailureTable+Statuses.swift. To add an error of Cognito, add a row here.
///
/// Sources: the errors of the Cognito Identity and STS API references; messages as seen in public
/// threads of the SDKs.
enum FailureTable {
  struct Row: Sendable {
    /// The error's name without its namespace; empty in rows that are not found by name.
    let name: String
    /// Part of the error's message, or several with "…" between them, for names with several meanings;
    /// empty otherwise.
    let saying: String
    let failureClass: FailureClass
    /// If nil, the code is the upstream's own "unavailable".
    let code: ProtocolErrorCode?
    let severity: UpstreamFailure.Severity
    var message: String
    /// The words for other people than the call's user and administrators, if `message` is about the
    /// server's host or a file. Nil if everybody may read `message`.
    var messageForOthers: String?
    /// Whether the failure is evidence for calls of other users.
    var evidence = UpstreamFailure.Evidence.none
    /// Whether the request may have been carried out.
    var isReplyLost = false
    /// The reaction of a sign-in at a user pool, in addition to the session's reaction.
    var remedy: PoolRemedy?
    /// Replaces the error's name if several errors must look the same. Then the errors' text is
    /// omitted.
    var reason: String?
    /// Whether the error's text is omitted, because it may quote a secret or show who has an
    /// account.
    var withholdsText = false
    /// Whether the error means that a user's secret was wrong, as in guessing.
    var judgesSecret = false
    /// Whether a token and its key in the logins map do not fit, so that another key may work.
    var isOfLoginsKey = false
    /// Whether a backend refuses this host, for every user.
    var refusesHost = false
    /// What AWS refuses about a signature.
    var signatureFault: SignatureFault?

    init(
      _ name: String, saying: String = "", _ failureClass: FailureClass,
      _ code: ProtocolErrorCode?, _ severity: UpstreamFailure.Severity, _ message: String
    ) {
      self.name = name
      self.saying = saying
      self.failureClass = failureClass
      self.code = code
      self.severity = severity
      self.message = message
    }

    /// A row for a failure that is recognised by a status or by the transport.
    init(
      _ failureClass: FailureClass, _ code: ProtocolErrorCode?,
      _ severity: UpstreamFailure.Severity, _ message: String,
      evidence: UpstreamFailure.Evidence = .none
    ) {
      self.init("", failureClass, code, severity, message)
      self.evidence = evidence
    }

    /// This row with a remedy.
    func with(_ remedy: PoolRemedy) -> Row {
      var row = self
      row.remedy = remedy
      return row
    }

    /// This row without the error's text.
    var withoutText: Row {
      var row = self
      row.withholdsText = true
      return row
    }

    /// This row, but about a wrong secret.
    var judgingSecret: Row {
      var row = self
      row.judgesSecret = true
      return row
    }

    /// The same row about this host.
    var ofTheHost: Row {
      var row = self
      row.refusesHost = true
      return row
    }

    /// The same row about the key in the logins map.
    fileprivate var ofLoginsKey: Row {
      var row = self
      row.isOfLoginsKey = true
      return row
    }

    /// This row, with what is wrong with the signature.
    fileprivate func of(_ fault: SignatureFault) -> Row {
      var row = self
      row.signatureFault = fault
      return row
    }

    /// This row for another error. Nobody can tell the two errors from each other.
    func alike(_ name: String, saying: String = "", reason: String) -> Row {
      var row = Row(name, saying: saying, failureClass, code, severity, message)
      row.evidence = evidence
      row.remedy = remedy
      row.reason = reason
      row.isOfLoginsKey = isOfLoginsKey
      row.withholdsText = true
      return row
    }

    /// This row as evidence about the upstream endpoint.
    fileprivate var ofTheEndpoint: Row {
      var row = self
      row.evidence = .likely
      return row
    }
  }

  private static let transient = FailureClass.transient(retryAfter: nil)
  private static let throttled = FailureClass.throttled(retryAfter: nil)

  // MARK: Errors of AWS by name

  static let cognito: [Row] = [
    // NotAuthorizedException has many meanings; only its message distinguishes them.
    Row(
      "NotAuthorizedException", saying: "Token expired", .newTokenOnce, .tokenRejected, .expected,
      " says the token has expired: sign in again; if the backend gave it, check the backend's cache "
        + "and clock"),
    Row(
      "NotAuthorizedException", saying: "Couldn't verify signed token", .newTokenOnce,
      .tokenRejected, .expected,
      " does not accept the token's signature: the backend must pass on a token from Cognito itself"
    ),
    Row(
      "NotAuthorizedException", saying: "Not a Cognito token", .newTokenOnce, .tokenRejected,
      .expected,
      " says this is no token of its own: the backend must pass on the one from "
        + "GetOpenIdTokenForDeveloperIdentity"),
    Row(
      "NotAuthorizedException", saying: "Can't pass in a Cognito token", .permanentConfiguration,
      .identityConflict, .operatorMustAct,
      " refuses a developer token in GetId: the IdentityId must come with it, from the backend"),
    Row(
      "NotAuthorizedException", saying: "Access to Role", .poolMisconfigured, .poolMisconfigured,
      .operatorMustAct,
      " refuses the role: check role_arn, or the role that the login named, and the role's trust"),
    Row(
      "NotAuthorizedException", saying: "Access to Identity", .dropIdentityThenNewToken,
      .tokenRejected, .expected,
      " says the token does not belong to this identity: credd asks for the identity anew; try again"
    ),
    Row(
      "NotAuthorizedException", saying: "Logins don't match", .conflict, .poolMisconfigured,
      .operatorMustAct,
      " says the logins are not those of this identity: check developer_provider and the pool"),
    Row(
      "NotAuthorizedException", saying: "Issuer doesn't match providerName",
      .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
      " says the token was issued by another provider than its key in logins names: correct the key, "
        + "which is provider_name in the section of a user-pool or oidc backend"
    ).ofLoginsKey,
    Row(
      "NotAuthorizedException", saying: "Unauthenticated access is not supported",
      .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
      " has guests switched off in this pool: enable them there or set guest = no"),
    Row(
      "NotAuthorizedException", saying: "ambiguous role mapping", .permanentConfiguration,
      .signInFailed, .expected,
      " finds several roles for this login and none chosen: sign in with custom_role_arn "
        + "(--custom-role-arn of credctl)"),
    Row(
      "NotAuthorizedException", .newTokenOnce, .tokenRejected, .expected,
      " does not accept the token: sign in again; if the backend gave it, tell those who run it"),
    Row(
      "ResourceNotFoundException", .newIdentity, .poolMisconfigured, .operatorMustAct,
      " does not know this identity or pool: check identity_pool_id"),
    Row(
      "ValidationException", .newIdentity, .poolMisconfigured, .operatorMustAct,
      " finds an id malformed: check identity_pool_id and the backend's IdentityId"),
    Row(
      "ResourceConflictException", .conflict, .identityConflict, .operatorMustAct,
      " has this login linked to another identity: unlink or merge them"),
    Row(
      "DeveloperUserAlreadyRegisteredException", .retryWithoutIdentity, .identityConflict,
      .expected,
      " has this user registered with another identity than the one passed: merge the two"),
    Row(
      "InvalidIdentityPoolConfigurationException", .poolMisconfigured, .poolMisconfigured,
      .operatorMustAct,
      " finds no usable role: attach one to the pool and let it trust Cognito Identity"),
    Row(
      "ExternalServiceException", transient, .cognitoUnavailable, .expected,
      " could not reach the login's provider; it is tried again"),
    Row(
      "ConcurrentModificationException", transient, .cognitoUnavailable, .expected,
      " changed this identity at the same moment; it is tried again"),
    Row(
      "InvalidParameterException", .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
      " refuses a parameter: check the pool, the provider name and role_arn"),
  ]

  static let sts: [Row] = [
    Row(
      "ExpiredTokenException", .newTokenOnce, .tokenRejected, .expected,
      " says the token has expired: sign in again; if the backend gave it, check the backend's cache "
        + "and clock"),
    Row(
      "InvalidIdentityToken", .newTokenOnce, .tokenRejected, .expected,
      " does not accept the token: sign in again; if this stays, check the pool's provider in IAM"),
    Row(
      "IDPCommunicationError", transient, .cognitoUnavailable, .expected,
      " could not reach the token's issuer; it is tried again"),
    Row(
      "IDPRejectedClaim", .permanentConfiguration, .tokenRejected, .operatorMustAct,
      " says the token's issuer rejected it: it has expired or was revoked; sign in again"),
    Row(
      "AccessDenied", .poolMisconfigured, .poolMisconfigured, .operatorMustAct,
      " may not assume the role: check role_arn, and that the role trusts this pool (aud) and its "
        + "authenticated users (amr)"),
    unreadablePolicy,
    Row(
      "PackedPolicyTooLarge", .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
      " finds the session policy too large: shorten policy_file or policy_arns"),
    regionOff,
    tooLongSession,
    Row(
      "ValidationError", .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
      " refuses a parameter: check role_arn, role_session_name and duration"),
  ]

  // MARK: Rows of several of STS's operations

  static let unreadablePolicy = Row(
    "MalformedPolicyDocument", .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
    " cannot read the session policy: check policy_file")

  static let regionOff = Row(
    "RegionDisabledException", .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
    " is not switched on in this region: activate it in the account")

  static let tooLongSession = Row(
    "ValidationError", saying: "DurationSeconds", .permanentConfiguration, .poolMisconfigured,
    .operatorMustAct, " does not allow so long a session: lower duration or raise the role's limit")

  /// Errors of all AWS services.
  static let anyService: [Row] = [
    Row(
      "TooManyRequestsException", throttled, .throttled, .expected,
      " is being asked too often; it is tried again"),
    Row(
      "LimitExceededException", throttled, .throttled, .expected,
      " has reached a limit of the account; it is tried again"),
    Row(
      "ThrottlingException", throttled, .throttled, .expected,
      " is being asked too often; it is tried again"),
    Row(
      "Throttling", throttled, .throttled, .expected,
      " is being asked too often; it is tried again"),
    Row(
      "RequestLimitExceeded", throttled, .throttled, .expected,
      " is being asked too often; it is tried again"),
    Row("InternalErrorException", transient, nil, .expected, " has a fault; it is tried again"),
    Row("InternalFailure", transient, nil, .expected, " has a fault; it is tried again"),
    Row("ServiceUnavailable", transient, nil, .expected, " is not available; it is tried again"),
    Row(
      "ServiceUnavailableException", transient, nil, .expected,
      " is not available; it is tried again"),
  ].map(\.ofTheEndpoint)

  /// Errors about the signature of GetOpenIdTokenForDeveloperIdentity. credd signs this call in place
  /// of a backend (`type = cognito`), so the errors count as the backend's. An AWS service has special
  /// names for them, or the names that all services share ("Common error types").
  static let signature: [Row] = [
    expiredKeys("ExpiredTokenException"),
    expiredKeys("ExpiredToken"),
    wrongTime("InvalidSignatureException", saying: "Signature expired"),
    wrongTime("InvalidSignatureException", saying: "Signature not yet current"),
    wrongTime("SignatureDoesNotMatch", saying: "Signature expired"),
    wrongTime("SignatureDoesNotMatch", saying: "Signature not yet current"),
    wrongTime("RequestExpired"),
    refusedKeys(
      "InvalidSignatureException",
      ": the developer credentials are wrong; check the secret key"),
    refusedKeys(
      "SignatureDoesNotMatch", ": the developer credentials are wrong; check the secret key"),
    refusedKeys(
      "UnrecognizedClientException",
      ": AWS does not know the developer credentials; check the access key, and that the account has "
        + "this region switched on"),
    refusedKeys(
      "InvalidClientTokenId",
      ": AWS does not know the developer credentials; check the access key, and that the account has "
        + "this region switched on"),
    refusedKeys(
      "OptInRequired",
      ": the account of the developer credentials may not use Cognito here; activate the account, or "
        + "this region in it"),
    refusedKeys(
      "AccessDeniedException",
      ": the developer credentials may not call "
        + "cognito-identity:GetOpenIdTokenForDeveloperIdentity; allow it in IAM"),
    refusedKeys(
      "MissingAuthenticationTokenException",
      ": the signature is missing; configure developer credentials"),
    refusedKeys(
      "MissingAuthenticationToken",
      ": the signature is missing; configure developer credentials"),
    refusedKeys(
      "IncompleteSignatureException",
      ": the signature is not complete; check that the access key is one, without blanks"),
    refusedKeys(
      "IncompleteSignature",
      ": the signature is not complete; check that the access key is one, without blanks"),
  ]

  /// Another try by the same clock is of no use: a person must set the clock.
  private static func wrongTime(_ name: String, saying: String = "") -> Row {
    Row(
      name, saying: saying, .permanentConfiguration, nil, .operatorMustAct,
      ": the signature's time is wrong; set this host's clock"
    ).of(.time)
  }

  private static func expiredKeys(_ name: String) -> Row {
    Row(
      name, transient, nil, .operatorMustAct, ": the developer credentials have expired; renew them"
    ).of(.keys)
  }

  static func refusedKeys(_ name: String, saying: String = "", _ message: String) -> Row {
    Row(name, saying: saying, .permanentConfiguration, .backendRejected, .operatorMustAct, message)
      .of(.keys)
  }
}

/// Errors of Cognito user pools. Sources: the user pools API reference for names; public code and
/// threads of the SDKs for messages.
///
/// The first row that fits applies. Unless a row says otherwise, the error's own text follows. It
/// is omitted if it may quote a value (InvalidParameterException), or if it may show whether an
/// account exists.
extension FailureTable {
  static func userPool(_ purpose: UserPoolPurpose) -> [Row] {
    let own =
      switch purpose {
      case .signIn: poolSignIn
      case .renewal: poolRenewal
      case .signOut: poolSignOut
      case .newAccount: newPoolAccount
      case .codeRequest: poolCodeRequest
      case .accountCode: poolAccountCode
      case .ownAccount: ownPoolAccount
      case .ownSession: ownPoolAccount + [unknownSession]
      }
    // The error "too many attempts" would show that the user exists.
    let attempts = [.codeRequest, .accountCode].contains(purpose) ? [] : [tooManyAttempts]
    return poolSettings + attempts + own + [notEnabled(purpose)] + anyPoolCall
  }

  /// An error that no row knows.
  static func unknownUserPoolError(_ name: String, _ purpose: UserPoolPurpose) -> Row? {
    switch purpose {
    // An unknown error ends no session and refuses no password.
    case .signIn, .renewal, .signOut: nil
    case .codeRequest: noCode(name)
    case .newAccount, .accountCode, .ownAccount, .ownSession:
      refused(name, " refuses this for a reason that credd does not know").withoutText
    }
  }

  private static let unauthorised = "NotAuthorizedException"
  private static let parameter = "InvalidParameterException"
  private static let missing = "ResourceNotFoundException"
  private static let wrongCode = "CodeMismatchException"

  /// A failure that another answer to the challenge, or a new sign-in, may mend.
  private static func signInFails(
    _ name: String, saying: String = "", _ message: String,
    _ code: ProtocolErrorCode = .signInFailed
  ) -> Row {
    Row(name, saying: saying, .signInFailed, code, .expected, message)
  }

  private static func sessionEnds(
    _ name: String, saying: String = "", _ message: String,
    _ code: ProtocolErrorCode = .signInRequired
  ) -> Row {
    Row(name, saying: saying, .signInRequired, code, .expected, message)
  }

  private static func refused(_ name: String, saying: String = "", _ message: String) -> Row {
    Row(name, saying: saying, .refusedByBackend, .accountRefused, .expected, message)
  }

  private static func misconfigured(
    _ name: String, saying: String = "", _ message: String
  ) -> Row {
    Row(
      name, saying: saying, .permanentConfiguration, .poolMisconfigured, .operatorMustAct, message)
  }

  private static func tooMany(
    _ name: String, saying: String = "", _ message: String, _ pause: Duration
  )
    -> Row
  {
    // This is no evidence about the upstream endpoint, because it concerns one user.
    Row(name, saying: saying, .throttled(retryAfter: pause), .throttled, .expected, message)
  }

  /// A region or a setting of the pool may change at any time: no session ends, and no section of the
  /// configuration is wrong.
  private static func notEnabled(_ purpose: UserPoolPurpose) -> Row {
    let name = "OperationNotEnabledException"
    let message = " does not offer this in its region, or with the pool's present settings"
    switch purpose {
    case .signIn, .renewal, .signOut:
      return Row(
        name, .transient(retryAfter: .seconds(60)), nil, .operatorMustAct,
        message + "; it is tried again")
    case .newAccount, .codeRequest, .accountCode, .ownAccount, .ownSession:
      return refused(name, message)
    }
  }

  // MARK: The app client, in every call

  private static let poolSettings: [Row] = [
    misconfigured(
      unauthorised, saying: "secret",
      " does not accept the app client's secret: check client_secret_file"),
    misconfigured(
      parameter, saying: "not enabled for",
      " does not allow this sign-in flow for the app client: check auth_flow"),
    misconfigured(
      parameter, saying: "auth method not supported",
      " does not allow this sign-in flow for the app client: check auth_flow"),
    misconfigured(
      parameter, saying: "only custom auth",
      " does not allow this sign-in flow for the app client: check auth_flow"),
  ]

  private static let tooManyAttempts = tooMany(
    unauthorised, saying: "attempts exceeded",
    " has had too many wrong passwords for this user: wait, 15 minutes at most", .seconds(60))

  // MARK: Sign-in

  private static let wrongPassword = signInFails(
    unauthorised, " refuses the sign-in: check user name and password"
  ).withoutText

  private static let poolSignIn: [Row] =
    [
      signInFails(
        unauthorised, saying: "must be reset by an administrator",
        " wants an administrator to set a new password for this user"),
      Row(
        unauthorised, saying: "user is disabled", .refusedByBackend, .backendRejected, .expected,
        " has this user disabled: ask those who run it"),
      signInFails(
        unauthorised, saying: "invalid session", " has ended this sign-in: begin it again"),
      signInFails(unauthorised, saying: "device key", goneDevice).with(.withoutDevice),
      signInFails(parameter, saying: "device key", goneDevice).withoutText.with(.withoutDevice),
      signInFails(missing, saying: "device", goneDevice).with(.withoutDevice),
      wrongPassword,
      wrongPassword.alike("UserNotFoundException", reason: unauthorised),
      signInFails(wrongCode, " does not accept the code: check it and answer again")
        .with(.answerAgain),
      signInFails(
        "EnableSoftwareTokenMFAException", " does not accept the code: check it and answer again"
      ).with(.answerAgain),
      signInFails(
        "ExpiredCodeException", " says this code is too old or was used: answer with a new one"
      ).with(.answerAgain),
      signInFails("InvalidPasswordException", " does not take the new password").with(.answerAgain),
      signInFails("PasswordHistoryPolicyViolationException", " does not take the new password")
        .with(.answerAgain),
      signInFails("AliasExistsException", " has another user with one of these values"),
      signInFails("MFAMethodNotFoundException", goneFactor),
      signInFails("SoftwareTokenMFANotFoundException", goneFactor),
      signInFails(
        "UserNotConfirmedException", unconfirmed, .confirmationRequired),
      signInFails("PasswordResetRequiredException", resetRequired, .passwordResetRequired),
      signInFails("UserLambdaValidationException", " has a trigger that refuses the sign-in"),
    ]
    + values(" finds a value wrong: check it and answer again") { name, saying, message in
      signInFails(name, saying: saying, message).with(.answerAgain)
    }

  private static let goneDevice = " does not know this device any more: sign in again"
  private static let goneFactor = " has no such second factor for this user any more: sign in again"
  private static let unconfirmed = " waits for the code that confirms this account"
  private static let resetRequired = " requires a new password for this user"

  // MARK: Renewal

  private static let poolRenewal: [Row] = [
    sessionEnds(unauthorised, saying: "device key", goneDevice),
    sessionEnds(parameter, saying: "device key", goneDevice).withoutText,
    sessionEnds(missing, saying: "device", goneDevice),
    Row(
      "RefreshTokenReuseException", .signInRequired, .signInRequired, .operatorMustAct,
      " has seen this session's refresh token before: its answer was lost, or somebody else has the "
        + "token; sign in again"),
    // A pool that tracks sessions ends the session that was not used for longest, and does not say so.
    sessionEnds(
      unauthorised,
      " no longer accepts this session, which may have ended elsewhere, or by the pool's limit of "
        + "sessions: sign in again"),
    sessionEnds("UserNotFoundException", " does not know this user any more"),
    sessionEnds("PasswordResetRequiredException", resetRequired, .passwordResetRequired),
    sessionEnds("UserNotConfirmedException", unconfirmed, .confirmationRequired),
    Row(
      "UserLambdaValidationException", .refusedByBackend, .backendRejected, .expected,
      " has a trigger that refuses new tokens"),
  ]

  // MARK: The end of a session

  private static let poolSignOut: [Row] = [
    Row(
      unauthorised, saying: "revoked", .refusedByBackend, .backendRejected, .expected,
      " has ended this session before"
    ).with(.alreadyDone),
    sessionEnds(
      unauthorised, " no longer accepts the access token: sign in again to sign out everywhere"
    ).with(.newTokens),
    sessionEnds("UserNotFoundException", " does not know this user any more").with(.alreadyDone),
    sessionEnds("PasswordResetRequiredException", resetRequired, .passwordResetRequired),
    sessionEnds("UserNotConfirmedException", unconfirmed, .confirmationRequired),
  ]

  // MARK: Accounts before a sign-in

  private static let newPoolAccount: [Row] =
    [
      refused("UsernameExistsException", " has this user name already"),
      refused("AliasExistsException", " has another user with one of these values"),
      refused("InvalidPasswordException", " does not take the password"),
      refused("UserLambdaValidationException", " has a trigger that refuses the account"),
      refused(unauthorised, " does not allow sign-up: ask the pool's operator"),
    ] + values(" does not take this user name, password or attribute", refused)

  private static func noCode(_ name: String) -> Row {
    refused(name, " sends no code for this user name").withoutText.with(.sayDone)
  }

  /// An error may say unknown, already confirmed, not permitted or not sent. Then the client's answer
  /// is as if a code was sent, even if the app client does not prevent user existence errors. The same
  /// applies to errors that only an existing user can meet.
  private static let poolCodeRequest: [Row] =
    [
      unauthorised, "UserNotFoundException", "UserNotConfirmedException", parameter,
      "UserLambdaValidationException", "PasswordResetRequiredException",
      "CodeDeliveryFailureException", "LimitExceededException", "TooManyFailedAttemptsException",
      "ConcurrentModificationException",
    ].map(noCode) + brokenPool.map { $0.with(.sayDone) }

  /// An unknown user, a wrong code, and too many codes for an existing user have the same message:
  /// a guess must not show who has an account.
  private static let codeRefused = refused(
    wrongCode,
    " does not accept this code for this user name: check both, wait some minutes after many tries, "
      + "have a new code sent, or sign in if the account is confirmed")

  private static let poolAccountCode: [Row] =
    [
      refused("InvalidPasswordException", " does not take the password"),
      refused("PasswordHistoryPolicyViolationException", " does not take the password"),
      refused("AliasExistsException", " has another user with the confirmed address"),
      refused("UserLambdaValidationException", " has a trigger that refuses this"),
    ]
    + [
      wrongCode, "ExpiredCodeException", "UserNotFoundException", "UserNotConfirmedException",
      "LimitExceededException", "TooManyFailedAttemptsException", unauthorised, parameter,
    ].map { codeRefused.alike($0, reason: wrongCode) }

  // MARK: The own account

  private static let ownPoolAccount: [Row] =
    [
      misconfigured(
        unauthorised, saying: "scope",
        " gave a token that may not change the account: allow the scope aws.cognito.signin.user.admin"
      ),
      sessionEnds(
        unauthorised, saying: "access token", " no longer accepts the access token: sign in again"
      ).with(.newTokens),
      refused(unauthorised, saying: "device key", " does not know this device"),
      refused(parameter, saying: "device key", " does not know this device").withoutText,
      refused(missing, saying: "device", " does not know this device"),
      refused(
        unauthorised, saying: "incorrect username or password", " does not accept the old password"
      ).withoutText.judgingSecret,
      refused(unauthorised, " refuses this change").judgingSecret,
      refused(wrongCode, " does not accept the code: check it and try again").judgingSecret,
      refused(
        "EnableSoftwareTokenMFAException", " does not accept the code: check it and try again"
      ).judgingSecret,
      refused("ExpiredCodeException", " says this code is too old or was used: ask for a new one"),
      refused("InvalidPasswordException", " does not take the new password"),
      refused("PasswordHistoryPolicyViolationException", " does not take the new password"),
      refused("AliasExistsException", " has another user with one of these values"),
      refused("UsernameExistsException", " has another user with one of these values"),
      refused("DeviceKeyExistsException", " knows this device already").with(.alreadyDone),
      refused(
        "SoftwareTokenMFANotFoundException",
        " has no authenticator app for this user: set one up first"),
      refused("UserLambdaValidationException", " has a trigger that refuses this"),
      sessionEnds("UserNotFoundException", " does not know this user any more"),
      sessionEnds("PasswordResetRequiredException", resetRequired, .passwordResetRequired),
      sessionEnds("UserNotConfirmedException", unconfirmed, .confirmationRequired),
    ] + values(" does not take this value", refused)

  /// No client and no pool is named beside the access token, so it is the session that is not there.
  private static let unknownSession = refused(
    missing, " does not know this session, which may have ended: 'sessions' lists those there are")

  // MARK: Values, and what any call may meet

  /// The rows of InvalidParameterException for values that a person chose. Only these texts name an
  /// attribute or a format without quoting a value.
  private static func values(
    _ message: String, _ row: (String, String, String) -> Row
  ) -> [Row] {
    let plain = row(parameter, "validation error", message).withoutText
    let shown = [
      "did not conform to the schema", "invalid attributes given", "cannot modify",
      "address format", "number format", "username should be",
    ].map { row(parameter, $0, message) }
    return [plain] + shown + [row(parameter, "", message).withoutText]
  }

  private static let brokenPool: [Row] = [
    "UnexpectedLambdaException", "InvalidLambdaResponseException",
    "InvalidUserPoolConfigurationException", "InvalidSmsRoleAccessPolicyException",
    "InvalidSmsRoleTrustRelationshipException", "InvalidEmailRoleAccessPolicyException",
  ].map { misconfigured($0, " is broken: correct its triggers, or its roles for mail and SMS") }

  /// AWS says so to anyone who asks for the pool's public keys.
  static let noSuchPool = misconfigured(
    missing, " has no user pool of this id: check user_pool_id and its region")

  static let anyPoolCall: [Row] =
    [
      misconfigured(
        missing,
        " does not know this app client or user pool: check client_id, user_pool_id and its region"),
      misconfigured(parameter, " refuses a parameter: check the backend's section").withoutText,
      Row(
        "ForbiddenException", .transient(retryAfter: .seconds(60)), nil, .operatorMustAct,
        " has a web firewall that refuses the request; it is tried again: check its rules"),
      tooMany(
        "LimitExceededException", " has had too many attempts for this user: wait some minutes",
        .seconds(300)),
      tooMany(
        "TooManyFailedAttemptsException",
        " has had too many attempts for this user: wait some minutes", .seconds(300)),
      Row(
        "CodeDeliveryFailureException", .transient(retryAfter: nil), nil, .expected,
        " could not send the code: have it sent again"),
      Row(
        "ConcurrentModificationException", .transient(retryAfter: nil), nil, .expected,
        " changed this user at the same moment: try again"),
    ] + brokenPool
    + [
      "FeatureUnavailableInTierException", "UnsupportedOperationException",
      "UnsupportedTokenTypeException", "UnauthorizedException",
    ].map { misconfigured($0, " does not offer this: check the pool's plan and the app client") }
}

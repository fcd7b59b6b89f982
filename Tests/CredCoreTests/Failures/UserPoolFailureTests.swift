import Testing

@testable import CredCore

/// Every error of a user pool, by what the request was for.
struct UserPoolFailureTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let name: String
    let said: String
    let failureClass: FailureClass
    let code: ProtocolErrorCode
    var remedy: PoolRemedy?

    init(
      _ name: String, _ said: String, _ failureClass: FailureClass, _ code: ProtocolErrorCode,
      _ remedy: PoolRemedy? = nil
    ) {
      self.name = name
      self.said = said
      self.failureClass = failureClass
      self.code = code
      self.remedy = remedy
    }

    var testDescription: String { "\(name) \(said)" }
  }

  private static let refused = "NotAuthorizedException"
  private static let parameter = "InvalidParameterException"
  private static let missing = "ResourceNotFoundException"

  private func failure(
    _ purpose: UserPoolPurpose, _ name: String, _ said: String, status: Int = 400,
    hiding sent: [Secret] = []
  ) -> UpstreamFailure {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("__type", name)
    writer.field("message", said)
    writer.endObject()
    var reply = HTTPReply(status: status, body: Secret(writer.bytes))
    reply.sent = SentSecrets(sent)
    return .userPool(reply, from: .backend("staff"), purpose)
  }

  private func expect(
    _ row: Row, _ purpose: UserPoolPurpose, at place: SourceLocation = #_sourceLocation
  ) {
    let found = failure(purpose, row.name, row.said)
    #expect(found.failureClass == row.failureClass, sourceLocation: place)
    #expect(found.code == row.code, sourceLocation: place)
    #expect(found.remedy == row.remedy, sourceLocation: place)
    #expect(found.message.hasPrefix("backend 'staff' "), sourceLocation: place)
    #expect(found.reason != nil, sourceLocation: place)
    #expect(found.evidence == .none || row.said.isEmpty, sourceLocation: place)
  }

  // MARK: Sign-in

  @Test(arguments: [
    Row(refused, "Incorrect username or password.", .signInFailed, .signInFailed),
    Row(refused, "incorrect USERNAME or password", .signInFailed, .signInFailed),
    Row(refused, "Something new", .signInFailed, .signInFailed),
    Row("UserNotFoundException", "User does not exist.", .signInFailed, .signInFailed),
    Row(
      refused, "Password attempts exceeded", .throttled(retryAfter: .seconds(60)), .throttled),
    Row(
      refused, "Temporary password has expired and must be reset by an administrator.",
      .signInFailed, .signInFailed),
    Row(
      refused, "User account has expired, it must be reset by an administrator.", .signInFailed,
      .signInFailed),
    Row(refused, "User is disabled.", .refusedByBackend, .backendRejected),
    Row(
      refused, "Invalid session for the user, session is expired.", .signInFailed, .signInFailed,
      .startAgain),
    Row(
      refused, "Invalid session for the user, session can only be used once.", .signInFailed,
      .signInFailed, .startAgain),
    Row(
      refused, "SecretHash does not match for the client: 1example", .permanentConfiguration,
      .poolMisconfigured),
    Row(
      refused, "Unable to verify secret hash for client 1example", .permanentConfiguration,
      .poolMisconfigured),
    Row(
      refused, "Client 1example is configured with secret but SECRET_HASH was not received",
      .permanentConfiguration, .poolMisconfigured),
    Row(
      parameter, "USER_SRP_AUTH is not enabled for the client.", .permanentConfiguration,
      .poolMisconfigured),
    Row(
      parameter, "USER_PASSWORD_AUTH flow not enabled for this client", .permanentConfiguration,
      .poolMisconfigured),
    Row(
      parameter, "Initiate Auth method not supported.", .permanentConfiguration,
      .poolMisconfigured),
    Row(
      parameter, "Only custom auth (lambda driven) is enabled for this client.",
      .permanentConfiguration, .poolMisconfigured),
    Row(parameter, "Cannot modify an attribute", .signInFailed, .signInFailed, .answerAgain),
    Row(
      parameter, "1 validation error detected: Value 'x'", .signInFailed, .signInFailed,
      .answerAgain),
    Row(
      missing, "User pool client 1example does not exist.", .permanentConfiguration,
      .poolMisconfigured),
    Row(missing, "Device does not exist.", .signInFailed, .signInFailed, .withoutDevice),
    Row(refused, "Invalid device key given.", .signInFailed, .signInFailed, .withoutDevice),
    Row(parameter, "Invalid device key given.", .signInFailed, .signInFailed, .withoutDevice),
    Row(
      "UserNotConfirmedException", "User is not confirmed.", .signInFailed, .confirmationRequired),
    Row(
      "PasswordResetRequiredException", "Password reset required for the user", .signInFailed,
      .passwordResetRequired),
    Row(
      "CodeMismatchException", "Invalid code received for user", .signInFailed, .signInFailed,
      .answerAgain),
    Row(
      "EnableSoftwareTokenMFAException", "Code mismatch", .signInFailed, .signInFailed,
      .answerAgain),
    Row(
      "ExpiredCodeException", "Your software token has already been used once.", .signInFailed,
      .signInFailed, .answerAgain),
    Row(
      "InvalidPasswordException", "Password did not conform with policy", .signInFailed,
      .signInFailed, .answerAgain),
    Row(
      "PasswordHistoryPolicyViolationException", "", .signInFailed, .signInFailed, .answerAgain),
    Row("MFAMethodNotFoundException", "", .signInFailed, .signInFailed, .startAgain),
    Row("SoftwareTokenMFANotFoundException", "", .signInFailed, .signInFailed, .startAgain),
    Row("AliasExistsException", "", .signInFailed, .signInFailed),
    Row(
      "UserLambdaValidationException", "PreAuthentication failed with error no.", .signInFailed,
      .signInFailed),
    Row("SomethingNewException", "x", .permanentConfiguration, .poolMisconfigured),
  ])
  func signIn(row: Row) { expect(row, .signIn) }

  // MARK: Renewal

  @Test(arguments: [
    Row(refused, "Refresh Token has been revoked", .signInRequired, .signInRequired),
    Row(refused, "Refresh Token has expired", .signInRequired, .signInRequired),
    Row(refused, "Invalid Refresh Token.", .signInRequired, .signInRequired),
    Row(refused, "User is disabled.", .signInRequired, .signInRequired),
    Row("RefreshTokenReuseException", "", .signInRequired, .signInRequired),
    Row("UserNotFoundException", "", .signInRequired, .signInRequired),
    Row(missing, "Device does not exist.", .signInRequired, .signInRequired, .withoutDevice),
    Row("PasswordResetRequiredException", "", .signInRequired, .passwordResetRequired),
    Row("UserNotConfirmedException", "", .signInRequired, .confirmationRequired),
  ])
  func aRefusedRenewalEndsTheSession(row: Row) { expect(row, .renewal) }

  /// A mistake of the operator's, a trigger's refusal or a pool that is away signs nobody out.
  @Test(arguments: [
    Row(
      refused, "SecretHash does not match for the client: 1", .permanentConfiguration,
      .poolMisconfigured),
    Row(
      refused, "Unable to verify secret hash for client 1", .permanentConfiguration,
      .poolMisconfigured),
    Row(missing, "User pool client 1 does not exist.", .permanentConfiguration, .poolMisconfigured),
    Row(
      parameter, "REFRESH_TOKEN_AUTH is not enabled for the client.", .permanentConfiguration,
      .poolMisconfigured),
    Row(parameter, "anything else", .permanentConfiguration, .poolMisconfigured),
    Row("UserLambdaValidationException", "no", .refusedByBackend, .backendRejected),
    Row("UnexpectedLambdaException", "", .permanentConfiguration, .poolMisconfigured),
    Row("TooManyRequestsException", "", .throttled(retryAfter: nil), .throttled),
    Row("InternalErrorException", "", .transient(retryAfter: nil), .backendUnavailable),
    Row(
      "ForbiddenException", "Request not allowed due to WAF block.",
      .transient(retryAfter: .seconds(60)), .backendUnavailable),
    Row("SomethingNewException", "x", .permanentConfiguration, .poolMisconfigured),
  ])
  func otherFailuresOfARenewalDoNot(row: Row) { expect(row, .renewal) }

  @Test func aPoolThatIsAwaySignsNobodyOut() {
    for purpose in UserPoolPurpose.allCases {
      for (status, body) in [
        (500, ""), (502, "<html>"), (503, "{}"), (429, ""), (403, "<html>portal"), (302, ""),
        (407, ""), (200, "<html>portal"), (204, ""), (400, ""),
      ] {
        let failure = UpstreamFailure.userPool(
          Samples.reply(status, body), from: .backend("staff"), purpose)
        #expect(failure.failureClass.isTransient, "\(purpose) \(status)")
      }
    }
    let failure = UpstreamFailure.transport(.timeout, from: .backend("staff"))
    #expect(failure.failureClass == .transient(retryAfter: nil))
  }

  // MARK: Other purposes

  @Test(
    arguments: [
      (
        .signOut,
        Row(
          refused, "Access Token has been revoked", .refusedByBackend, .backendRejected,
          .alreadyDone)
      ),
      (
        .signOut,
        Row(refused, "Access Token has expired", .signInRequired, .signInRequired, .newTokens)
      ),
      (.signOut, Row("UserNotFoundException", "", .signInRequired, .signInRequired, .alreadyDone)),
      (
        .signOut,
        Row("UnsupportedTokenTypeException", "", .permanentConfiguration, .poolMisconfigured)
      ),
      (.signOut, Row("UnauthorizedException", "", .permanentConfiguration, .poolMisconfigured)),
      (
        .newAccount,
        Row("UsernameExistsException", "User already exists", .refusedByBackend, .accountRefused)
      ),
      (.newAccount, Row("InvalidPasswordException", "policy", .refusedByBackend, .accountRefused)),
      (
        .newAccount,
        Row(
          refused, "SignUp is not permitted for this user pool", .refusedByBackend, .accountRefused)
      ),
      (
        .newAccount,
        Row(
          parameter, "Attributes did not conform to the schema: email: The attribute is required",
          .refusedByBackend, .accountRefused)
      ),
      (.newAccount, Row("UserLambdaValidationException", "no", .refusedByBackend, .accountRefused)),
      (
        .newAccount,
        Row("CodeDeliveryFailureException", "x", .transient(retryAfter: nil), .backendUnavailable)
      ),
      (.newAccount, Row("SomethingNewException", "x", .refusedByBackend, .accountRefused)),
      (
        .codeRequest,
        Row(
          "LimitExceededException", "Attempt limit exceeded, please try after some time.",
          .throttled(retryAfter: .seconds(300)), .throttled)
      ),
      (
        .accountCode,
        Row(
          "TooManyFailedAttemptsException", "x", .throttled(retryAfter: .seconds(300)), .throttled)
      ),
      (.accountCode, Row("InvalidPasswordException", "policy", .refusedByBackend, .accountRefused)),
      (
        .ownAccount,
        Row(refused, "Access Token has been revoked", .signInRequired, .signInRequired, .newTokens)
      ),
      (
        .ownAccount,
        Row(refused, "Invalid Access Token", .signInRequired, .signInRequired, .newTokens)
      ),
      (
        .ownAccount,
        Row(
          refused, "Access Token does not have required scopes", .permanentConfiguration,
          .poolMisconfigured)
      ),
      (
        .ownAccount,
        Row(refused, "Incorrect username or password.", .refusedByBackend, .accountRefused)
      ),
      (
        .ownAccount,
        Row(
          refused, "A client attempted to write unauthorized attribute", .refusedByBackend,
          .accountRefused)
      ),
      (
        .ownAccount,
        Row("CodeMismatchException", "x", .refusedByBackend, .accountRefused, .answerAgain)
      ),
      (
        .ownAccount,
        Row(missing, "Device does not exist.", .refusedByBackend, .accountRefused, .withoutDevice)
      ),
      (
        .ownAccount,
        Row("DeviceKeyExistsException", "x", .refusedByBackend, .accountRefused, .alreadyDone)
      ),
      (
        .ownAccount,
        Row("SoftwareTokenMFANotFoundException", "x", .refusedByBackend, .accountRefused)
      ),
      (
        .ownAccount,
        Row("PasswordResetRequiredException", "x", .signInRequired, .passwordResetRequired)
      ),
      (
        .ownAccount,
        Row(
          "ConcurrentModificationException", "x", .transient(retryAfter: nil), .backendUnavailable)
      ),
      (
        .ownAccount,
        Row("FeatureUnavailableInTierException", "x", .permanentConfiguration, .poolMisconfigured)
      ),
    ] as [(UserPoolPurpose, Row)])
  func accountsAndTheEnd(purpose: UserPoolPurpose, row: Row) { expect(row, purpose) }

  // MARK: What nobody learns

  private func alike(_ purpose: UserPoolPurpose, _ errors: [(String, String)]) {
    let failures = errors.map { failure(purpose, $0, $1) }
    #expect(Set(failures.map(\.message)).count == 1, "\(failures.map(\.message))")
    #expect(Set(failures.map { $0.reason ?? "" }).count == 1)
    #expect(Set(failures.map(\.code)).count == 1)
    #expect(failures.allSatisfy { $0.protocolError == failures[0].protocolError })
  }

  @Test func anUnknownUserAndAWrongPasswordReadAlike() {
    alike(
      .signIn,
      [
        (Self.refused, "Incorrect username or password."),
        ("UserNotFoundException", "User does not exist."),
      ])
  }

  @Test func nobodyLearnsWhoMayGetACode() {
    alike(
      .codeRequest,
      [
        ("UserNotFoundException", "Username/client id combination not found."),
        (Self.refused, "User is disabled."), (Self.parameter, "User is already confirmed."),
        (
          Self.parameter,
          "Cannot reset password for the user as there is no registered/verified email"
        ), ("UserNotConfirmedException", "x"),
      ])
  }

  @Test func nobodyLearnsByAGuessedCodeWhoHasAnAccount() {
    alike(
      .accountCode,
      [
        ("CodeMismatchException", "Invalid verification code provided, please try again."),
        ("ExpiredCodeException", "Invalid code provided, please request a code again."),
        ("UserNotFoundException", "Username/client id combination not found."),
        (Self.refused, "User cannot be confirmed. Current status is CONFIRMED"),
        ("UserNotConfirmedException", "x"), (Self.parameter, "1 validation error detected"),
      ])
  }

  // MARK: Texts

  @Test func aTextThatMayQuoteAValueIsLeftOut() {
    let said = "1 validation error detected: Value 'hunter2' at 'password' failed to satisfy"
    for purpose in UserPoolPurpose.allCases {
      let failure = failure(purpose, Self.parameter, said)
      #expect(!failure.message.contains("hunter2"), "\(purpose)")
      #expect(!failure.message.contains("validation"), "\(purpose)")
    }
    #expect(!failure(.signIn, Self.refused, "hunter2").message.contains("hunter2"))
  }

  @Test func aTextThatHelpsIsShown() {
    let rows: [(UserPoolPurpose, String, String)] = [
      (.newAccount, "InvalidPasswordException", "Password must have symbol characters"),
      (.signIn, "UserLambdaValidationException", "PreAuthentication failed with error closed."),
      (
        .newAccount, Self.parameter,
        "Attributes did not conform to the schema: email: The attribute is required"
      ),
      (.signIn, Self.parameter, "Invalid attributes given, birthdate is missing"),
      (.ownAccount, Self.parameter, "Invalid phone number format."),
    ]
    for (purpose, name, said) in rows {
      #expect(failure(purpose, name, said).message.hasSuffix("(\(name): \(said))"), "\(said)")
    }
  }

  @Test func whatWasSentIsHiddenInATextThatIsShown() {
    let said = "Password did not conform with policy: Kq7vXw2n is too short"
    let failure = failure(
      .newAccount, "InvalidPasswordException", said, hiding: [Secret("Kq7vXw2n")])
    #expect(!failure.message.contains("Kq7v"))
    #expect(failure.message.contains("… is too short"))
  }

  @Test func allSpellingsOfAnErrorAreRead() {
    let headers = ["x-amzn-ErrorType": "NotAuthorizedException:http://internal.amazon.com/"]
    let replies = [
      Samples.reply(400, #"{"__type":"NotAuthorizedException","message":"User is disabled."}"#),
      Samples.reply(400, #"{"__type":"a.b#NotAuthorizedException","Message":"User is disabled"}"#),
      Samples.reply(400, #"{"message":"user is disabled"}"#, headers),
    ]
    for reply in replies {
      let failure = UpstreamFailure.userPool(reply, from: .backend("staff"), .signIn)
      #expect(failure.code == .backendRejected)
    }
  }

  @Test func onlyARealThrottleCountsAgainstThePool() {
    #expect(failure(.signIn, "LimitExceededException", "").evidence == .none)
    #expect(failure(.signIn, Self.refused, "Password attempts exceeded").evidence == .none)
    #expect(failure(.signIn, "TooManyRequestsException", "Rate exceeded").evidence == .likely)
    #expect(failure(.signIn, "InternalErrorException", "", status: 500).evidence == .likely)
  }

  @Test func theServersPauseIsLongerThanOurs() {
    let body = #"{"__type":"LimitExceededException"}"#
    let reply = Samples.reply(400, body, ["Retry-After": "900"])
    let failure = UpstreamFailure.userPool(reply, from: .backend("staff"), .signIn)
    #expect(failure.failureClass == .throttled(retryAfter: .seconds(900)))
    #expect(failure.protocolError.retryAfter == .seconds(900))
  }

  /// A row behind one that fits more would never apply. The last ones are for all purposes, of which
  /// some have their own.
  @Test func everyRowCanBeReached() {
    for purpose in UserPoolPurpose.allCases {
      let rows = FailureTable.userPool(purpose)
      for (index, row) in rows.enumerated() where !row.name.isEmpty {
        let before = rows[..<index].contains {
          $0.name == row.name && ($0.saying.isEmpty || $0.saying == row.saying)
        }
        let isFallback = index >= rows.count - FailureTable.anyPoolCall.count
        #expect(!before || isFallback, "\(purpose): \(row.name) \(row.saying)")
      }
    }
  }
}

import TestSupport
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

  private func expectFailure(
    _ row: Row, _ purpose: UserPoolPurpose, at place: SourceLocation = #_sourceLocation
  ) {
    let found = UpstreamFailure.ofPool(purpose, row.name, row.said)
    expect(found.failureClass, equals: row.failureClass, sourceLocation: place)
    expect(found.code, equals: row.code, sourceLocation: place)
    expect(found.remedy, equals: row.remedy, sourceLocation: place)
    expect(found.message.hasPrefix("backend 'staff' "), sourceLocation: place)
    expect(found.reason != nil, sourceLocation: place)
    expect(found.evidence == .none || row.said.isEmpty, sourceLocation: place)
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
      refused, "Invalid session for the user, session is expired.", .signInFailed, .signInFailed),
    Row(
      refused, "Invalid session for the user, session can only be used once.", .signInFailed,
      .signInFailed),
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
    Row("MFAMethodNotFoundException", "", .signInFailed, .signInFailed),
    Row("SoftwareTokenMFANotFoundException", "", .signInFailed, .signInFailed),
    Row("AliasExistsException", "", .signInFailed, .signInFailed),
    Row(
      "UserLambdaValidationException", "PreAuthentication failed with error no.", .signInFailed,
      .signInFailed),
    Row("SomethingNewException", "x", .permanentConfiguration, .poolMisconfigured),
  ])
  func signIn(row: Row) { expectFailure(row, .signIn) }

  // MARK: Renewal

  @Test(arguments: [
    Row(refused, "Refresh Token has been revoked", .signInRequired, .signInRequired),
    Row(refused, "Refresh Token has expired", .signInRequired, .signInRequired),
    Row(refused, "Invalid Refresh Token.", .signInRequired, .signInRequired),
    Row(refused, "User is disabled.", .signInRequired, .signInRequired),
    Row("RefreshTokenReuseException", "", .signInRequired, .signInRequired),
    Row("UserNotFoundException", "", .signInRequired, .signInRequired),
    Row(missing, "Device does not exist.", .signInRequired, .signInRequired),
    Row("PasswordResetRequiredException", "", .signInRequired, .passwordResetRequired),
    Row("UserNotConfirmedException", "", .signInRequired, .confirmationRequired),
  ])
  func aRefusedRenewalEndsTheSession(row: Row) { expectFailure(row, .renewal) }

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
  func otherFailuresOfARenewalDoNot(row: Row) { expectFailure(row, .renewal) }

  @Test func aPoolThatIsAwaySignsNobodyOut() {
    for purpose in UserPoolPurpose.allCases {
      for (status, body) in [
        (500, ""), (502, "<html>"), (503, "{}"), (429, ""), (403, "<html>portal"), (302, ""),
        (407, ""), (200, "<html>portal"), (204, ""), (400, ""),
      ] {
        let failure = UpstreamFailure.userPool(
          Samples.reply(status, body), from: .backend("staff"), purpose)
        expect(failure.failureClass.isTransient, "\(purpose) \(status)")
      }
    }
    let failure = UpstreamFailure.transport(.timeout, from: .backend("staff"))
    expect(failure.failureClass, equals: .transient(retryAfter: nil))
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
          .refusedByBackend, .accountRefused, .sayDone)
      ),
      (
        .accountCode,
        Row("TooManyFailedAttemptsException", "x", .refusedByBackend, .accountRefused)
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
        Row("CodeMismatchException", "x", .refusedByBackend, .accountRefused)
      ),
      (
        .ownAccount,
        Row(missing, "Device does not exist.", .refusedByBackend, .accountRefused)
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
  func accountsAndTheEnd(purpose: UserPoolPurpose, row: Row) { expectFailure(row, purpose) }

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
        expect(!before || isFallback, "\(purpose): \(row.name) \(row.saying)")
      }
    }
  }
}

extension UpstreamFailure {
  /// What an error of a user pool means.
  ///
  /// - Parameter sent: secrets of the request.
  static func ofPool(
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
}

import TestSupport
import Testing

@testable import CredCore

/// What an error of a user pool tells nobody: who has an account, and who may get a code.
struct UserPoolSilenceTests {
  private static let refused = "NotAuthorizedException"
  private static let parameter = "InvalidParameterException"

  private func alike(_ purpose: UserPoolPurpose, _ errors: [(String, String)]) {
    let failures = errors.map { UpstreamFailure.ofPool(purpose, $0, $1) }
    expect(Set(failures.map(\.message)).count, equals: 1, "\(failures.map(\.message))")
    expect(Set(failures.map { $0.reason ?? "" }).count, equals: 1)
    expect(Set(failures.map(\.code)).count, equals: 1)
    expect(failures.allSatisfy { $0.protocolError == failures[0].protocolError })
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
    for (name, message) in [
      ("UserNotFoundException", "Username/client id combination not found."),
      (Self.refused, "User is disabled."), (Self.refused, "Password attempts exceeded"),
      (Self.parameter, "User is already confirmed."),
      (
        Self.parameter,
        "Cannot reset password for the user as there is no registered/verified email"
      ), ("UserNotConfirmedException", "x"), ("CodeDeliveryFailureException", "x"),
      ("UserLambdaValidationException", "x"), ("InvalidLambdaResponseException", "x"),
      ("TooManyFailedAttemptsException", "x"), ("SomethingNewException", "x"),
    ] {
      let failure = UpstreamFailure.ofPool(.codeRequest, name, message)
      expect(failure.remedy == .sayDone && failure.reason == name, "\(name)")
    }
    // What is about no user is said.
    for (name, message) in [
      (Self.refused, "Unable to verify secret hash for client"),
      ("ResourceNotFoundException", "User pool client does not exist."),
      ("TooManyRequestsException", "x"), ("InternalErrorException", "x"),
    ] { expect(UpstreamFailure.ofPool(.codeRequest, name, message).remedy == nil, "\(name)") }
  }

  @Test func onlyAWrongSecretIsAGuess() {
    for (name, message) in [
      (Self.refused, "Incorrect username or password."), ("CodeMismatchException", "x"),
      ("EnableSoftwareTokenMFAException", "x"),
    ] { expect(UpstreamFailure.ofPool(.ownAccount, name, message).judgesSecret, "\(name)") }
    for (name, message) in [
      ("InvalidPasswordException", "x"), ("PasswordHistoryPolicyViolationException", "x"),
      ("LimitExceededException", "x"), ("AliasExistsException", "x"), (Self.parameter, "x"),
    ] { expect(!UpstreamFailure.ofPool(.ownAccount, name, message).judgesSecret, "\(name)") }
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
        ("LimitExceededException", "Attempt limit exceeded, please try after some time."),
        ("TooManyFailedAttemptsException", "x"), (Self.refused, "Password attempts exceeded"),
      ])
  }
}

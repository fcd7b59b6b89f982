/// The errors of a user pool, with Cognito's texts.
extension ServiceError {
  static func poolInvalid(_ message: String) -> ServiceError {
    ServiceError("InvalidParameterException", message)
  }

  static func missing(_ parameter: String) -> ServiceError {
    poolInvalid("Missing required parameter \(parameter)")
  }

  static func poolRefused(_ message: String) -> ServiceError {
    ServiceError("NotAuthorizedException", message)
  }

  static let wrongPassword = poolRefused("Incorrect username or password.")
  static let lockedOut = poolRefused("Password attempts exceeded")
  static let disabledUser = poolRefused("User is disabled.")
  static let temporaryPasswordExpired = poolRefused(
    "Temporary password has expired and must be reset by an administrator.")
  static let unknownUser = ServiceError("UserNotFoundException", "User does not exist.")
  static let unconfirmedUser = ServiceError(
    "UserNotConfirmedException", "User is not confirmed.")
  static let resetRequired = ServiceError(
    "PasswordResetRequiredException", "Password reset required for the user")

  static let foreignSession = poolRefused("Invalid session for the user.")
  static let usedSession = poolRefused(
    "Invalid session for the user, session can only be used once.")
  static let expiredSession = poolRefused("Invalid session for the user, session is expired.")

  static let wrongFactorCode = ServiceError(
    "CodeMismatchException", "Invalid code received for user")
  static let wrongCode = ServiceError(
    "CodeMismatchException", "Invalid verification code provided, please try again.")
  static let expiredCode = ServiceError(
    "ExpiredCodeException", "Invalid code provided, please request a code again.")
  static let usedSoftwareToken = ServiceError(
    "ExpiredCodeException", "Your software token has already been used once.")
  static let wrongSetupCode = ServiceError(
    "EnableSoftwareTokenMFAException", "Code mismatch and fail enable Software Token MFA")
  static let attemptLimit = ServiceError(
    "LimitExceededException", "Attempt limit exceeded, please try after some time.")
  static let failedAttempts = ServiceError(
    "TooManyFailedAttemptsException", "Attempt limit exceeded, please try after some time.")

  static let unknownDevice = ServiceError(
    "ResourceNotFoundException", "Device does not exist.")

  // Nobody has reported the texts of the next three.
  static let notEnabled = ServiceError(
    "OperationNotEnabledException",
    "The operation is not available in the current region or for the current user pool configuration."
  )
  static let unknownSession = ServiceError(
    "ResourceNotFoundException", "The session does not exist.")
  static let ownSession = poolInvalid(
    "The session that the access token belongs to can't be revoked.")

  static func unknownClient(_ id: String) -> ServiceError {
    ServiceError("ResourceNotFoundException", "User pool client \(id) does not exist.")
  }

  static func unknownUserPool(_ id: String) -> ServiceError {
    ServiceError("ResourceNotFoundException", "User pool \(id) does not exist.")
  }

  static let invalidAccessToken = poolRefused("Invalid Access Token")
  static let expiredAccessToken = poolRefused("Access Token has expired")
  static let revokedAccessToken = poolRefused("Access Token has been revoked")
  static let invalidRefreshToken = poolRefused("Invalid Refresh Token.")
  static let expiredRefreshToken = poolRefused("Refresh Token has expired")
  static let revokedRefreshToken = poolRefused("Refresh Token has been revoked")
  static let reusedRefreshToken = ServiceError(
    "RefreshTokenReuseException", "The refresh token has been invalidated by rotation.")

  /// A key or a signature failed in the sandbox itself.
  static let poolInternal = ServiceError(
    status: 500, "InternalErrorException", "the sandbox cannot sign a token")
}

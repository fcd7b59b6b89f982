/// Temporary AWS credentials.
public struct Credentials: Sendable, Equatable {
  public var accessKeyID: String
  public var secretAccessKey: Secret
  public var sessionToken: Secret
  public var expiration: WallTime
  /// Twelve digits; known only where STS named the role that was assumed.
  public var accountID: String?

  public init(
    accessKeyID: String, secretAccessKey: Secret, sessionToken: Secret, expiration: WallTime,
    accountID: String? = nil
  ) {
    self.accessKeyID = accessKeyID
    self.secretAccessKey = secretAccessKey
    self.sessionToken = sessionToken
    self.expiration = expiration
    self.accountID = accountID
  }
}
